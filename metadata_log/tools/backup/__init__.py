"""Exports and backups of a metadata log."""
