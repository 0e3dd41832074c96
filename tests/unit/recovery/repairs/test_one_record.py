"""Sentences on what a repair would lose name one record by one offset."""

from __future__ import annotations

import pytest

from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.repair_facts import kept_words
from quorum.recovery.repairs.truncate import propose_truncate
from tests.support.repairs import load_nodes, request


def test_one_committed_record_is_one() -> None:
    files = load_nodes("basic", 1, 2, 3)
    with pytest.raises(RefusedError) as error:
        propose_truncate(files, "/n1", ["/n2", "/n3"], 94, request())
    said = str(error.value)
    assert "this would lose offset 94 on node 1" in said
    assert "Offset 94 is committed (voters 1, 2, 3 hold it;" in said
    assert "cutting it would lose it here" in said


def test_an_empty_log_keeps_nothing() -> None:
    assert kept_words(OffsetAndEpoch(offset=Offset(0), epoch=Epoch(-1))) == "nothing: the log has no record"
    assert kept_words(OffsetAndEpoch(offset=Offset(3), epoch=Epoch(1))) == "everything up to offset 3 of epoch 1"
