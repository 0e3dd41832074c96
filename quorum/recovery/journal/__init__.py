"""Carry out a repair durably, and keep the record of it."""
