"""Writes `codec.py`, the functions that read and write every version of every record, and `printers.py`, those that
print it as JSON, from the declarations.

    python -m metadata_log.records.generate            rewrites them
    python -m metadata_log.records.generate --check    says whether they are fresh: exit code 1 if they are not

Both import the record classes by name: who renames one renames it there too, then generates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.records.generate_decoders import record_reader, struct_reader, structs_reader
from metadata_log.records.generate_encoders import record_writer, struct_writer
from metadata_log.records.generate_json import printers_text
from metadata_log.records.generate_text import Lines, element_name, fixed_runs, is_fixed, struct_format, struct_name
from metadata_log.records.registry import CONTROL_RECORDS, METADATA_RECORDS
from metadata_log.records.wire import Field, schema_of

CODEC_PATH: Final = Path(__file__).with_name("codec.py")
PRINTERS_PATH: Final = Path(__file__).with_name("printers.py")
FRAME_VERSION: Final = 1
_FRAME_BYTES: Final = 3

_HEAD = '''"""Reads and writes every version of every record.

Generated from the declarations by `python -m metadata_log.records.generate`: change those, not this.
"""

# fmt: off
# ruff: noqa
# mypy: disable-error-code="arg-type,assignment"

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from metadata_log.records.primitives import (
    ONE,
    PACK_INT32S,
    PACK_TAGGED_INT32S,
    READ_INT32S,
    READ_UUIDS,
    TAGGED,
    array_length,
    long_string_length,
    newer_field,
    read_bytes,
    read_count,
    read_int32s,
    read_nullable_int32s,
    read_nullable_string,
    read_nullable_uuids,
    read_string,
    read_strings,
    read_tag_head,
    read_uuids,
    read_uvarint,
    skip_tags,
    tag_of_newer_version,
    tagged,
    write_bytes,
    write_int32s,
    write_string,
    write_strings,
    write_uuids,
    wrong_end,
    wrong_id,
    wrong_tag,
)'''


def codec_text() -> str:
    """The whole module as the declarations ask for it."""
    parts = [_HEAD + "\n" + "\n".join(_imports()), "\n".join(_structs())]
    parts += ["\n".join(function.text) for function in _functions()]
    parts += ["\n".join(_tables())]
    return "\n\n".join(parts) + "\n"


def printers_module() -> str:
    """The whole module of printers as the declarations ask for it."""
    shapes = list(_shapes())
    names = {record.__name__ for record, _, _, _ in _records()}
    return printers_text(shapes, _imports(registry=()), lambda shape: shape.__name__ in names)


def _records() -> Iterator[tuple[type[msgspec.Struct], range, int, list[bytes]]]:
    for key, metadata in sorted(METADATA_RECORDS.items()):
        frames = [bytes((FRAME_VERSION, key, version)) for version in metadata.VERSIONS]
        yield metadata, metadata.VERSIONS, _FRAME_BYTES, frames
    for _, control in sorted(CONTROL_RECORDS.items()):
        yield control, control.VERSIONS, 0, [b"" for _ in control.VERSIONS]


def _shapes() -> Iterator[tuple[type[msgspec.Struct], int]]:
    """Every class and version that needs functions, what is inside of others first."""
    for record, versions, _, _ in _records():
        for version in versions:
            yield from _inside(record, version)
            yield record, version


def _inside(record: type[msgspec.Struct], version: int) -> Iterator[tuple[type[msgspec.Struct], int]]:
    for field in schema_of(record).fields:
        if field.element is not None and field.since <= version:
            yield from _inside(field.element, version)
            yield field.element, version


def _imports(registry: Iterable[str] = ("ControlRecord", "MetadataRecord")) -> Iterator[str]:
    by_module: dict[str, set[str]] = {"metadata_log.records.registry": set(registry)} if registry else {}
    for record, _ in _shapes():
        by_module.setdefault(record.__module__, set()).add(record.__name__)
    for module, names in sorted(by_module.items()):
        yield f"from {module} import ("
        yield from (f"    {name}," for name in sorted(names))
        yield ")"


def _structs() -> list[str]:
    formats: dict[str, str] = {}
    for record, version in _shapes():
        schema = schema_of(record)
        runs = [run for run in fixed_runs(schema.untagged(version)) if _needs_struct(run)]
        runs += [[field] for field in schema.tagged(version) if _needs_struct([field])]
        formats.update((struct_name(run), struct_format(run)) for run in runs)
    return [f"{name}: Final = Struct({text!r})" for name, text in sorted(formats.items())]


def _needs_struct(run: list[Field]) -> bool:
    return is_fixed(run[0]) and [field.wire_type for field in run] != ["uuid"]


def _functions() -> Iterator[Lines]:
    written: set[str] = set()
    for record, versions, start, frames in _records():
        for version, frame in zip(versions, frames, strict=True):
            for element, shape in _inside(record, version):
                if (name := element_name(element, shape)) not in written:
                    written.add(name)
                    yield from _struct_functions(element, shape)
            yield record_reader(record, version, start)
            yield record_writer(record, version, frame)


def _struct_functions(element: type[msgspec.Struct], version: int) -> Iterable[Lines]:
    uses = [field for record, _ in set(_shapes()) for field in schema_of(record).fields if field.element is element]
    if any(field.is_array for field in uses):
        yield structs_reader(element, version)
    if any(not field.is_array for field in uses):
        yield struct_reader(element, version)
    yield struct_writer(element, version)


def _tables() -> Iterator[str]:
    yield "READERS: Final[dict[bytes, Callable[[bytes], MetadataRecord]]] = {"
    for record in (METADATA_RECORDS[key] for key in sorted(METADATA_RECORDS)):
        for version in record.VERSIONS:
            frame = bytes((FRAME_VERSION, record.API_KEY, version))
            yield f"    {frame!r}: _read_{record.__name__}_{version},"
    yield "}"
    yield '"""Reader of a value that begins with these three bytes: frame version, api key, version."""'
    yield ""
    yield "WRITERS: Final[dict[type, dict[int, Callable[[Any], bytes]]]] = {"
    for any_record, versions, _, _ in _records():
        writers = ", ".join(f"{version}: _write_{any_record.__name__}_{version}" for version in versions)
        yield f"    {any_record.__name__}: {{{writers}}},"
    yield "}"
    yield '"""Writers of a class, by version."""'
    yield ""
    yield "CONTROL_READERS: Final[dict[int, tuple[Callable[[bytes], ControlRecord], ...]]] = {"
    for control in (CONTROL_RECORDS[key] for key in sorted(CONTROL_RECORDS)):
        readers = " ".join(f"_read_{control.__name__}_{version}," for version in control.VERSIONS)
        yield f"    {control.CONTROL_TYPE}: ({readers}),"
    yield "}"
    yield '"""Readers of a control record type, by version."""'


def is_fresh(path: Path = CODEC_PATH) -> bool:
    """Return True if the codec in `path` and the printers match the declarations."""
    return (
        path.read_text(encoding="utf-8") == codec_text()
        and PRINTERS_PATH.read_text(encoding="utf-8") == printers_module()
    )


def main(arguments: list[str] | None = None) -> int:
    """Write or check both modules; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m metadata_log.records.generate", description="Write codec.py and printers.py."
    )
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 if one of them is stale")
    if not parser.parse_args(arguments).check:
        CODEC_PATH.write_text(codec_text(), encoding="utf-8")
        PRINTERS_PATH.write_text(printers_module(), encoding="utf-8")
        return 0
    if not is_fresh():
        names = f"{CODEC_PATH.name} or {PRINTERS_PATH.name}"
        print(f"{names} is stale: run python -m metadata_log.records.generate", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
