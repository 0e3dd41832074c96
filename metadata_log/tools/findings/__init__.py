"""Findings: their kinds, severity, facts and advice."""
