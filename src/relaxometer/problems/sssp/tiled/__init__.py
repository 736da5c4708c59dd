"""Maps cut into tiles that fit in shared memory."""
