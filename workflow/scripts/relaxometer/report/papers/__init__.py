"""One module per paper: its figures and tables."""
