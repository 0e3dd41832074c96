"""The controller: a request and an image make records and an answer.

Pure: no clock, no randomness, no I/O, no logging, no asyncio. Knows nothing of Raft, of doors or of wire formats.
"""
