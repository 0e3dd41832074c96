"""The proof, in the audit files beside a log directory, that a repair cut what a majority held.

Decides: which audit files prove that. Must not know: how a repair is done, and what else its audit file says. An audit
file that cannot be read proves nothing; `kraft recover inspect` names it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.directory.meta_properties import MetaProperties
from metadata_log.errors import CorruptFileError
from metadata_log.files.json_files import decode_json
from metadata_log.files.port import Files, read_small_file
from metadata_log.ids import id_text

WORK_SUFFIX: Final = ".recovery"
"""Of the directory beside a log directory that holds its repairs' audit files."""
AUDIT_FILE: Final = "audit.json"
AUDIT_COPY_FILE: Final = "audit-copy.json"
_DONE: Final = "done"
_HELD: Final = "held"


class _Cut(msgspec.Struct):
    reason: str
    end: int
    epoch: int | None = None


class _Facts(msgspec.Struct):
    cluster_id: str | None = None
    directory_id: str | None = None
    proven: _Cut | None = None


class _Audit(msgspec.Struct):
    state: str
    undoes: str | None = None
    facts: _Facts = msgspec.field(default_factory=_Facts)


def work_root(log_dir: str) -> str:
    """Return where the repairs of a log directory leave their audit files, unless they were given another place.

    It is beside the directory itself, not beside a symbolic link to it: any path to it finds them.
    """
    return os.path.realpath(log_dir) + WORK_SUFFIX


def held_when_cut(files: Files, log_dir: str, identity: MetaProperties | None, last_epoch: int) -> int:
    """Return the offset before which all was committed, as was proven when a repair cut the log there; 0 if none did.

    Once the log has gone on in a later epoch, its end says more than the cut does.
    """
    if identity is None or identity.directory_id is None:
        return 0
    own = (identity.cluster_id, id_text(identity.directory_id))
    done = {name: audit for name, audit in _audits(files, work_root(log_dir)) if audit.state == _DONE}
    undone = {os.path.basename(audit.undoes) for audit in done.values() if audit.undoes is not None}
    cuts = [
        audit.facts.proven
        for name, audit in done.items()
        if name not in undone and (audit.facts.cluster_id, audit.facts.directory_id) == own
    ]
    ends = [cut.end for cut in cuts if cut is not None and cut.reason == _HELD and (cut.epoch or -1) >= last_epoch]
    return max(ends, default=0)


def _audits(files: Files, root: str) -> Iterator[tuple[str, _Audit]]:
    """Yield the audit files that can be read, by the names of the directories that hold them."""
    for name in _names(files, root):
        for file in (AUDIT_FILE, AUDIT_COPY_FILE):
            try:
                yield name, decode_json(read_small_file(files, f"{root}/{name}/{file}"), _Audit)
            except (OSError, CorruptFileError, msgspec.DecodeError):
                continue
            break


def _names(files: Files, root: str) -> list[str]:
    try:
        return sorted(files.listdir(root))
    except OSError:
        return []
