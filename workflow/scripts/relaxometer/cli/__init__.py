"""Programs of the command line."""
