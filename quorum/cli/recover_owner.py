"""Whom the directories belong to that `kraft recover` makes and changes: the node must be able to write them.

Decides: the owner of a new log directory. Must not know: what a repair does.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.repair_record import AUDIT_COPY_FILE, AUDIT_FILE


class NewOwner(msgspec.Struct, frozen=True, kw_only=True):
    """The owner of a new log directory is that of `path`; its mode that of `mode_of`, with all rights for the owner."""

    log_dir: str
    path: str
    mode_of: str

    def told(self, proposal: Proposal) -> Proposal:
        """The proposal with a word about it."""
        if os.geteuid() != 0:
            name = _name_of(os.stat(self.log_dir).st_uid if os.path.isdir(self.log_dir) else os.geteuid())
            said = f"{self.log_dir} belongs to {name}: its node must run as the same user"
            return msgspec.structs.replace(proposal, says=(*proposal.says, said))
        name = _name_of(os.stat(self.path).st_uid)
        said = f"{self.log_dir} belongs to {name}, as {self.path} does"
        if os.stat(self.path).st_uid != 0:
            return msgspec.structs.replace(proposal, says=(*proposal.says, said))
        warning = f"{said}: if its node runs as another user, chown -R USER {self.log_dir} before it starts"
        return msgspec.structs.replace(proposal, warnings=(*proposal.warnings, warning))


def owner_of_new(log_dir: str, copy: str) -> NewOwner:
    """Who is to own a log directory that is made from `copy`: whoever else owns it already, or the nearest directory
    above it that is there; else whoever owns the copy. Root, which makes directories for others, only at last."""
    above = log_dir
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    parent = os.path.dirname(log_dir) if above == log_dir else above
    wished = [os.path.join(log_dir, META_PROPERTIES_FILE), log_dir, parent, copy]
    there = [path for path in wished if os.path.exists(path)]
    path = next((path for path in there if os.stat(path).st_uid != 0), parent)
    return NewOwner(log_dir=log_dir, path=path, mode_of=copy)


def _name_of(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"


def give_to_owner(log_dir: str, owner: os.stat_result) -> None:
    """Files that root has written belong to whom the directory belongs to: the node must be able to write them."""
    if os.geteuid() != 0 or (owner.st_uid, owner.st_gid) == (0, 0):
        return
    metadata = os.path.join(log_dir, METADATA_DIRECTORY)
    for directory in (log_dir, metadata):
        if os.path.isdir(directory):
            names = [os.path.join(directory, name) for name in os.listdir(directory)]
            for path in (directory, *(name for name in names if os.path.isfile(name))):
                if os.stat(path).st_uid == 0:
                    os.chown(path, owner.st_uid, owner.st_gid)


def give_audits(root: str, log_dir: str) -> None:
    """Audit files that root has written belong to the owner of the log directory."""
    if not os.path.isdir(log_dir):  # taken back to where it was not there
        return
    owner = os.stat(log_dir)
    if os.geteuid() != 0 or (owner.st_uid, owner.st_gid) == (0, 0):
        return
    for path in (path for name in (AUDIT_FILE, AUDIT_COPY_FILE) for path in Path(root).glob(f"*/{name}")):
        if path.stat().st_uid == 0 and path.parent.stat().st_uid == owner.st_uid:
            os.chown(path, owner.st_uid, owner.st_gid)
