"""What is done with metadata logs offline, as library functions: dump, export, compare. The command line shows them."""
