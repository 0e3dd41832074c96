"""The options of `kraft log dump`, and the selection that they name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from metadata_log.errors import CorruptBatchError
from metadata_log.tools.dump.lines import Style
from quorum.cli.errors import wrong_use
from quorum.cli.log.dump_output import DumpFormat

if TYPE_CHECKING:
    from metadata_log.ids import TopicId
    from metadata_log.tools.dump.selection import BrokerPartitions, Selection

_TIME: Final = "UTC time as 2026-01-31T12:00:00, or milliseconds since 1970"

Paths: TypeAlias = Annotated[
    list[Path],
    typer.Argument(help="Segments and checkpoints, or directories that hold them; a node's data directory too."),
]
Form: TypeAlias = Annotated[
    DumpFormat,
    typer.Option(
        "-o",
        "--output",
        help="text: as kafka-dump-log prints it; table for people; json (one object), jsonl (a line a record), csv, "
        "parquet, arrow (a stream) for programs.",
    ),
]
As: TypeAlias = Annotated[Style, typer.Option("--as", help="Print text as this version of Kafka does.")]
From: TypeAlias = Annotated[int | None, typer.Option("--from", help="First offset.", min=0)]
To: TypeAlias = Annotated[int | None, typer.Option("--to", help="End offset, exclusive.", min=0)]
Since: TypeAlias = Annotated[str | None, typer.Option("--since", help=f"First time: {_TIME}.")]
Until: TypeAlias = Annotated[str | None, typer.Option("--until", help="End time, exclusive.")]
Epochs: TypeAlias = Annotated[list[int] | None, typer.Option("--epoch", help="Leader epoch; may be repeated.")]
Types: TypeAlias = Annotated[
    list[str] | None, typer.Option("--type", help="Record type, as TOPIC_RECORD or topic; may be repeated.")
]
Topics: TypeAlias = Annotated[list[str] | None, typer.Option("--topic", help="Topic name or id; may be repeated.")]
Broker: TypeAlias = Annotated[
    int | None, typer.Option("--broker", help="Records of this broker or controller, and its partitions.")
]
Follow: TypeAlias = Annotated[
    bool, typer.Option("--follow", "-f", help="Print what is added to the log, too, until Ctrl-C.")
]


def selection_of(
    files: list[Path],
    first: int | None,
    end: int | None,
    since: str | None,
    until: str | None,
    epochs: list[int] | None,
    kinds: list[str] | None,
    topics: list[str] | None,
    broker: int | None,
) -> Selection:
    """Return the selection that the options name.

    Raises:
        CliError: a type, a topic or a time is unknown, or a range ends before it begins.
    """
    from metadata_log.tools.dump.selection import Selection, known_types, plain_type  # noqa: PLC0415

    known = known_types()
    for kind in kinds or ():
        if plain_type(kind) not in known:
            raise wrong_use(
                f"--type {kind}: there is no such record type; there are {', '.join(sorted(known.values()))}"
            )
    since_ms = None if since is None else _milliseconds("--since", since)
    until_ms = None if until is None else _milliseconds("--until", until)
    _require_order("--from", first, "--to", end)
    _require_order("--since", since_ms, "--until", until_ms)
    ids, names = _topics(files, topics or [])
    return Selection(
        from_offset=first,
        to_offset=end,
        since_ms=since_ms,
        until_ms=until_ms,
        epochs=frozenset(epochs or ()),
        types=frozenset(map(plain_type, kinds or ())),
        topic_ids=ids,
        topic_names=names,
        broker_id=broker,
        broker_partitions=None if broker is None else _partitions(files, broker),
    )


def _partitions(files: list[Path], broker: int) -> BrokerPartitions:
    """Return the partitions of the broker, by the records in these files."""
    from metadata_log.tools.dump.selection import BrokerPartitions  # noqa: PLC0415

    found = BrokerPartitions(broker)
    found.take(_values(files))
    return found


def _topics(files: list[Path], topics: list[str]) -> tuple[frozenset[TopicId], frozenset[str]]:
    """Return the ids and names of the requested topics. A text that looks like an id may also be a name."""
    from metadata_log.ids import InvalidIdError, parse_topic_id  # noqa: PLC0415
    from metadata_log.tools.dump.selection import ids_of  # noqa: PLC0415

    if not topics:
        return frozenset(), frozenset()
    ids = set()
    for topic in topics:
        try:
            ids.add(parse_topic_id(topic))
        except InvalidIdError:
            continue
    names = frozenset(topics)
    ids |= ids_of(names, _values(files))
    if not ids:
        raise wrong_use(f"--topic {', '.join(topics)}: no topic of this name was ever created in these files")
    return frozenset(ids), names


def _values(files: list[Path]) -> Iterator[list[bytes]]:
    """Yield the record values of every data batch that can be read."""
    from metadata_log.files.os_files import OsFiles  # noqa: PLC0415
    from metadata_log.format.batch import batch_values  # noqa: PLC0415
    from metadata_log.tools.read.scan import Damage, scan  # noqa: PLC0415

    for file in files:
        try:
            handle = OsFiles().open(str(file), read_only=True)
        except FileNotFoundError:
            continue  # removed by a running node since it was listed
        try:
            for found in scan(handle):
                if isinstance(found, Damage) or found.header.is_control:
                    continue
                try:
                    yield batch_values(found.buffer, found.header, found.at)
                except CorruptBatchError:
                    continue
        finally:
            handle.close()


def _require_order(start: str, first: int | None, stop: str, end: int | None) -> None:
    if first is not None and end is not None and end < first:
        raise wrong_use(f"{stop} ({end}) is before {start} ({first}): nothing can be between them")


def _milliseconds(option: str, text: str) -> int:
    from metadata_log.tools.times import parse_time_ms  # noqa: PLC0415

    try:
        return parse_time_ms(text)
    except ValueError as error:
        raise wrong_use(f"{option} {text!r} is not a {_TIME}") from error
