"""The shared style of all figures, and the figures and tables that belong to no paper."""
