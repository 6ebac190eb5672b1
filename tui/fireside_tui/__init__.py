"""The terminal app, on the public names of the library alone."""
