"""What runs measured, gathered, judged and compared."""
