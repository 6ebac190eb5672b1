"""What the project promises about cost and survival, measured."""
