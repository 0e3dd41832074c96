"""No advice empties a voter's directory without saying how the voter is replaced (KIP-853)."""

from __future__ import annotations

import re
from typing import Final

from metadata_log.tools.findings import advice
from metadata_log.tools.findings.advice import REPLACE, Advice
from metadata_log.tools.findings.kinds import KINDS

_FETCHES: Final = re.compile(r"let (it|this replica|the replica) fetch|[Ss]et the directory aside|aside, whole")


def test_what_empties_a_directory_says_how_a_voter_is_replaced() -> None:
    words = {name: str(text) for name, text in vars(advice).items() if isinstance(text, str | Advice)}
    words |= {kind.name: kind.advice for kind in KINDS.values()}
    emptying = {name: text for name, text in words.items() if _FETCHES.search(text)}

    assert {"corrupt_batch", "log_cut", "voter_set_back", "RESTORE_VOTES", "DISAGREES", "WRITER"} <= emptying.keys()
    assert [name for name, text in emptying.items() if REPLACE not in text] == []
    assert "kraft quorum remove-controller, then add-controller" in REPLACE
