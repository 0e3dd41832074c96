"""The directories of real Kafka clusters under tests/fixtures: their files and records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metadata_log.format.batch import BatchHeader, Record, batch_records, iter_batches

FIXTURES = Path(__file__).parents[1] / "fixtures"

METADATA_FILES = sorted(
    path
    for path in FIXTURES.glob("*/node-*/**/*")
    if path.suffix == ".checkpoint" or (path.suffix == ".log" and path.parent.name == "__cluster_metadata-0")
)
"""Every segment and checkpoint of the metadata log."""

DUMPS = sorted(FIXTURES.glob("*/oracle/dump/**/*.txt.gz"))
"""The output of kafka-dump-log for these files, gzipped."""


def file_id(path: Path) -> str:
    """Return the name of a file's test case."""
    return str(path.relative_to(FIXTURES))


def records_in(path: Path) -> Iterator[tuple[BatchHeader, Record]]:
    """Yield every record of a segment or checkpoint with the header of its batch."""
    buffer = path.read_bytes()
    for position, header in iter_batches(buffer):
        for record in batch_records(buffer, header, position):
            yield header, record
