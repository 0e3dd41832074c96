"""Kinds of findings, their severity and advice."""
