"""Timed runs: variants, throughput, all pairs, updates, ExtractMin."""
