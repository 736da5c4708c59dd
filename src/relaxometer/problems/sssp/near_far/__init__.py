"""Near and far piles: one search over the whole GPU, or many, one per block."""
