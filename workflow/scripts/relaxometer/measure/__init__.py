"""Timed runs: variants, throughput, updates, ExtractMin."""
