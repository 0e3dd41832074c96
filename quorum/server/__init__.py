"""The controller process: its listeners and services, and its composition (`main`)."""
