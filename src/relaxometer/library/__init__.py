"""The kernels as a library: graphs from the caller's arrays, prepared solvers, proven answers."""
