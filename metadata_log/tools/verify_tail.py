"""What bad bytes at the end of a log are called: a torn tail, or destroyed records.

Decides: exactly that. Must not know: how the bytes tell (`metadata_log.storage.torn_write` does), and findings.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.files.port import FileHandle
from metadata_log.storage.torn_write import may_be_one_write
from metadata_log.tools.scan import Damage, Fault

DESTROYED: Final = "this is no write that a crash interrupted: what stood there is lost"


def judged_tail(handle: FileHandle, damage: Damage, offset: int, epoch: int, *, may_be_torn: bool) -> Damage:
    """`damage`, as corrupt where it was taken for torn and cannot be: the file's last bytes, `offset` being due."""
    if damage.fault is not Fault.TORN:
        return damage
    size = handle.size() - damage.position
    if may_be_torn and may_be_one_write(handle, damage.position, size, offset=offset, epoch=epoch):
        return damage
    return msgspec.structs.replace(damage, fault=Fault.CORRUPT, what=f"{damage.what}; {DESTROYED}")
