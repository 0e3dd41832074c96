"""Offline repair of stopped directories: judge the surviving copies, and change a directory completely or not at all.

Decides: what each repair keeps and may lose, and which bytes it writes in which order.
Must not know: the network (a caller reports whether a leader is alive), clocks and command lines.

No other package edits a metadata log (DESIGN 6). It does so only in a stopped directory, after a backup. A log goes
on in an epoch above every epoch and vote that any copy shows.
"""
