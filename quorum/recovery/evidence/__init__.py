"""Conclusions from several copies."""
