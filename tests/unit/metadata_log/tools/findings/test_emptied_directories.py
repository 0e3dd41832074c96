"""Advice to empty a directory says how a voter is replaced (KIP-853), unless the directory is a broker's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from metadata_log.tools.findings import advice
from metadata_log.tools.findings.advice import EMPTIED, REPLACE
from metadata_log.tools.findings.finding import finding
from metadata_log.tools.findings.kinds import KINDS
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.verify.broker_advice import advised
from metadata_log.tools.verify.verify_log import verify_log
from tests.support.advice_texts import named_advice
from tests.support.clusters import unpack_clusters

_FETCHES: Final = re.compile(r"let (it|this replica|the replica) fetch|[Ss]et the directory aside|aside, whole")


def test_what_empties_a_directory_says_how_a_voter_is_replaced() -> None:
    words = {name: text for name, text in vars(advice).items() if isinstance(text, str)}
    words |= {name: str(text) for name, text in named_advice().items()}
    words |= {kind.name: kind.advice for kind in KINDS.values()}
    parts = {"_WRITER"}
    emptying = {name: text for name, text in words.items() if _FETCHES.search(text) and name not in parts}

    assert {"corrupt_batch", "log_cut", "voter_set_back", "RESTORE_VOTES", "DISAGREES", "WRITER"} <= emptying.keys()
    assert [name for name, text in emptying.items() if REPLACE not in text] == []
    assert "kraft quorum remove-controller, then add-controller" in REPLACE


def test_a_broker_is_not_told_how_a_voter_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "clusters"
    unpack_clusters(place)
    advices = {}
    for name in ("node-1", "node-11"):
        [source] = find_sources([place / "basic" / name]).nodes
        wrong = finding("checkpoint_disagrees", "m", node_id=source.node_id)
        [one] = advised([wrong], source, verify_log(source))
        advices[name] = one.advice
    assert advices["node-1"].endswith(str(EMPTIED))
    assert REPLACE not in advices["node-11"]
    assert advices["node-11"].endswith("into an empty directory")
