"""The file system: a port, the operating system's implementation, and a simulated one."""
