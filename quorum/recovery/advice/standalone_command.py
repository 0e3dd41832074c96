"""The command that makes one controller the only voter."""

from __future__ import annotations

from quorum.recovery.advice.clones import own_address
from quorum.recovery.advice.commands import absent_words, asked_words, copy_words, vote_words
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Command, command


def alone_line(known: RepairEvidence, own: Copy, *more: str) -> Command:
    """Return the command, with all copies that are here, and --missing for the others.

    A clone gets new addresses.
    """
    name = "standalone" if own.kraft_version > 0 else "static-voters"
    named = own_address(known, own) if name == "standalone" else ["--set", f"{own.node_id}@HOST:PORT"]
    words = (
        "--dir",
        own.place.log_dir,
        *named,
        *copy_words(known, [own]),
        *absent_words(known),
        *asked_words(known),
        *vote_words(known),
        *more,
    )
    return command("kraft", "recover", name, *words)
