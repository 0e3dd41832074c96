"""The controller process: its doors, and how it is put together."""
