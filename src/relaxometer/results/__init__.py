"""The measurements of all runs: gathered, judged and compared."""
