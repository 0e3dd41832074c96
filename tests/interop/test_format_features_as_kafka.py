"""`storage format` with features: Kafka 4.4.0's own tool takes and refuses the same, and sets the same levels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from metadata_log.format.batch import batch_values, iter_batches
from metadata_log.records import FeatureLevelRecord, decode_record
from quorum.cli.main import run
from tests.support.format_cases import CASES, FormatCase, properties_of, way_of
from tests.support.kafka.cluster import CLUSTER_ID
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

VERSION: Final = "4.4.0"


def test_features_are_taken_or_refused_by_both(tmp_path: Path) -> None:
    assert len(CASES) >= 40
    with KafkaTools(VERSION) as kafka:
        for number, case in enumerate(CASES):
            theirs, ours = tmp_path / f"{number}-kafka", tmp_path / f"{number}-ours"
            status, out, err = kafka.call("storage", *_words(case, theirs, is_ours=False))
            assert (status == 0) == case.is_taken, (str(case), out, err)
            assert (run(["storage", *_words(case, ours, is_ours=True)]) == 0) == case.is_taken, str(case)
            assert _levels_in(ours) == _levels_in(theirs), str(case)


def _words(case: FormatCase, directory: Path, *, is_ours: bool) -> Sequence[str]:
    directory.mkdir()
    config = directory / "node.properties"
    config.write_text(properties_of(case, str(directory / "data"), is_ours=is_ours))
    return ["format", "-t", CLUSTER_ID, "-c", str(config), *way_of(case), *case.arguments]


def _levels_in(directory: Path) -> list[tuple[str, int]]:
    """Return the levels in the checkpoints of a log directory, in order; none if it is not formatted."""
    return [
        (record.name, record.feature_level)
        for path in sorted(directory.rglob("*.checkpoint"))
        for record in _records_in(path.read_bytes())
    ]


def _records_in(data: bytes) -> list[FeatureLevelRecord]:
    records = [
        decode_record(value)
        for position, header in iter_batches(data)
        if not header.is_control
        for value in batch_values(data, header, position)
    ]
    return [record for record in records if isinstance(record, FeatureLevelRecord)]
