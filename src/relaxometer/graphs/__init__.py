"""Graphs and batches of graphs: in memory, in Parquet, on a device, described."""
