"""Configs: the known names, their valid values, and the values in force."""
