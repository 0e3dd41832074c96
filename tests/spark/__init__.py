"""Spark's analysis: nothing is found in logs of real clusters, and every planted fault is."""
