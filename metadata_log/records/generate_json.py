"""Text of the module that prints records as Kafka's tools do: one function for each class and version.

Decides: which text is constant and which depends on the record. Must not know: the types' names in front of it, nor
what a string or a number looks like (`json_values` does). The form itself is that of `json_form.data_of`; a test holds
the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from metadata_log.records.generate_text import Lines, default_text, element_name
from metadata_log.records.wire import Field, schema_of

_NUMBERS: Final = frozenset({"int8", "int16", "int32", "int64", "uint16"})
_PRINTER_OF: Final = {"string": "string_text", "bytes": "bytes_text", "uuid": "uuid_text", "float64": "double_text"}
_PRINTER_OF_ARRAY: Final = {"string": "strings_text", "uuid": "uuids_text"}

_HEAD: Final = '''"""Prints every version of every record as Kafka's JSON.

Generated from the declarations by `python -m metadata_log.records.generate`: change those, not this.
"""

# fmt: off
# ruff: noqa

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from metadata_log.records.json_values import (
    bytes_text,
    double_text,
    ints_text,
    string_text,
    strings_text,
    uuid_text,
    uuids_text,
)'''

_Shapes = Iterable[tuple[type[msgspec.Struct], int]]


def printers_text(shapes: _Shapes, imports: Iterable[str], is_record: Callable[[type], bool]) -> str:
    """The whole module; `shapes` are the classes and versions, what is inside of others first."""
    parts = [_HEAD + "\n" + "\n".join(imports)]
    written: set[str] = set()
    records: dict[str, list[int]] = {}
    for shape, version in shapes:
        name = f"{shape.__name__}_{version}" if is_record(shape) else element_name(shape, version)
        if is_record(shape):
            records.setdefault(shape.__name__, []).append(version)
        if name not in written:
            written.add(name)
            parts.append("\n".join(_printer(name, shape, version)))
    table = ["PRINTERS: Final[dict[type, dict[int, Callable[[Any], str]]]] = {"]
    for record, versions in records.items():
        by_version = ", ".join(f"{version}: _print_{record}_{version}" for version in versions)
        table.append(f"    {record}: {{{by_version}}},")
    table += ["}", '"""Printers of a class, by version: the record\'s fields as one JSON object."""']
    return "\n\n".join([*parts, "\n".join(table)]) + "\n"


def _printer(name: str, shape: type[msgspec.Struct], version: int) -> list[str]:
    lines = Lines()
    fields = [field for field in schema_of(shape).fields if field.since <= version]
    with lines.block(f"def _print_{name}(r: {shape.__name__}) -> str:"):
        if not fields:
            lines.add("return '{}'")
        elif fields[0].tag is None:
            _statements(lines, fields, version)
        else:
            lines.add("t = ''")
            for field in fields:
                _tagged(lines, field, version)
            lines.add("return '{' + t[1:] + '}'")
    return lines.text


def _statements(lines: Lines, fields: list[Field], version: int) -> None:
    """Neighbours that always stand become one string; a tagged field is added where it is not at its default."""
    assign, run = "t =", "{{"
    for field in fields:
        if field.tag is None:
            run += ("" if run == "{{" else ",") + _pair(field, version)
            continue
        if run:
            lines.add(f"{assign} f'{run}'")
        assign, run = "t +=", ""
        _tagged(lines, field, version)
    if assign == "t =":
        lines.add(f"return f'{run}}}}}'")
    else:
        lines.add(f"return t + f'{run}}}}}'" if run else "return t + '}'")


def _tagged(lines: Lines, field: Field, version: int) -> None:
    compare = "is not None" if field.default is None else f"!= {default_text(field)}"
    with lines.block(f"if r.{field.name} {compare}:"):
        lines.add(f"t += f',{_pair(field, version)}'")


def _pair(field: Field, version: int) -> str:
    return f'"{field.json_name}":' + "{" + _expression(field, version) + "}"


def _expression(field: Field, version: int) -> str:
    value = f"r.{field.name}"
    text = _array(field, value, version) if field.is_array else _one(field, value, version)
    return f'"null" if {value} is None else {text}' if field.nullable else text


def _array(field: Field, value: str, version: int) -> str:
    if field.wire_type in _NUMBERS:
        return f"ints_text({value})"
    if field.element is not None:
        return f'"[" + ",".join([{_element(field.element, version)}(e) for e in {value}]) + "]"'
    return f"{_PRINTER_OF_ARRAY[field.wire_type]}({value})"


def _one(field: Field, value: str, version: int) -> str:
    if field.wire_type in _NUMBERS:
        return value
    if field.wire_type == "bool":
        return f'"true" if {value} else "false"'
    if field.element is not None:
        return f"{_element(field.element, version)}({value})"
    return f"{_PRINTER_OF[field.wire_type]}({value})"


def _element(element: type[msgspec.Struct], version: int) -> str:
    return f"_print_{element_name(element, version)}"
