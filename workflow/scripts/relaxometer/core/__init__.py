"""What every room may use: errors, files, progress, the frame of scripts, the hash of code."""
