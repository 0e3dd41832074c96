"""Drawings of times and logs, alike in every picture and page: palette, axis, labels that fit, and the frame of a page.

Must not know: where the drawn facts come from.
"""
