"""What the screens are made of, one widget a file. A widget shows and tells; it decides nothing."""
