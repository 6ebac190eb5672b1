"""Pictures of the app, drawn from the running app."""
