"""The texts of advice on brokers' partition directories that depend on more than the kind of the finding.

Must not know: which finding has which advice. The texts of whole kinds are in `findings.advice`.
"""

from __future__ import annotations

from typing import Final

from metadata_log.tools.findings.advice import AUDIT
from metadata_log.tools.findings.remedy import Advice, no_start

ASIDE_ID: Final = no_start(
    "do not start the broker with it: it reads this file though the directory was set aside, and takes the whole disk "
    "for a failed one. Move the file elsewhere while the broker is stopped: without it the directory is left aside, or "
    "deleted, as before"
)
PARTITION_EPOCHS: Final = no_start(
    "do not start the broker with it: it takes the whole disk for a failed one, or uses wrong epochs. Restore the "
    "file from a backup of this directory; without one, where other replicas are in sync, move the whole directory out "
    "of log.dirs while the broker is stopped, and it fetches the partition again. Without this file alone it starts, "
    "too, and no longer knows at which epochs its data diverges from a leader's"
)
STRAY_BEYOND: Final = Advice(
    "keep it until its data is certainly not needed: a broker that started, or a person, set it aside. It may be of a "
    "topic that a repair discarded, or of another cluster; if neither is known, look for more copies of the log (kraft "
    "recover inspect says which reaches furthest)"
)
BROUGHT: Final = Advice(
    "keep its data until it is known where it comes from: most likely it was copied or renamed. If so, give it "
    "its own name back or move it out of the log directory while the broker is stopped, which would set it aside "
    "(-stray) as it starts. Else name all controllers and brokers: other copies of the log may go further"
)
BROUGHT_AND_GONE: Final = no_start(
    "do not start the broker: it would set this directory aside (-stray), and make an empty one for what is gone. If "
    "it was renamed, give it its own name back while the broker is stopped. Else name all controllers and "
    "brokers, for other copies of the log may go further, and look for what is gone (another disk, a backup)"
)
QUARANTINED: Final = Advice(
    "nothing is lost: where other replicas are in sync, start the broker, which makes the directory again and fetches "
    "what is in it. Where none is, or what was moved is wanted again, move it back first, while the broker is "
    "stopped: ",
    (*AUDIT, "--undo"),
)
JOURNAL: Final = (
    "nothing for the broker, which does not read it, and may start. But kraft storage audit --undo cannot use it: "
    "restore it from a backup of this directory before that; without one look for what was set aside (-stray) yourself"
)
OFFSETS: Final = (
    "do not start the broker with it: it takes the whole disk for a failed one, or goes on from wrong offsets. Restore "
    "the file from a backup of this directory; without one move it aside while the broker is stopped, and it "
    "makes a new one: {lost}"
)
CLEAN_SHUTDOWN: Final = (
    "remove it while the broker is stopped: it then reads its partitions through as after a crash, and its controller "
    "lets it lead only what it has caught up with. Ask who changed it: a broker writes it whole, with its own epoch"
)
