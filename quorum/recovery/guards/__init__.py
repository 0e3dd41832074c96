"""Conditions that forbid a repair."""
