"""The offline tools for metadata logs, as library functions: dump, export, compare. The command line shows their
results."""
