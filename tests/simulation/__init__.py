"""Whole clusters in one process and in virtual time: everything that happens follows from one number, the seed.

`python -m tests.simulation` (or `make sim`) runs seeds; `docs/simulation.md` describes what is simulated and what is
proven.
"""
