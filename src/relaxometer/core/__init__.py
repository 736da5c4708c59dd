"""Shared by all rooms: errors, files, progress, the frame of scripts, the hash of code."""
