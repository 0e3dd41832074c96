"""Conditions under which every repair is refused."""
