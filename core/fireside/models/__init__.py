"""The models: one protocol, and who speaks it."""
