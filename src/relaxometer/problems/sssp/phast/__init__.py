"""Maps through a customizable contraction hierarchy."""
