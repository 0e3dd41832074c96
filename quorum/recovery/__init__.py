"""Offline repair of stopped directories: what can be brought back from the copies that are left, and doing it safely.

Decides: what each repair keeps and may lose, which bytes it writes, and how they come to be there whole or not at all.
Must not know: the network (whether a leader lives is told to it), clocks and command lines.

It is the one place that edits a metadata log (DESIGN 16): on a stopped directory, after a backup, in an epoch above
every epoch and vote found in any copy.
"""
