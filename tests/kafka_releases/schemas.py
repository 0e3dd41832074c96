"""Kafka's JSON schemas of records and requests, read from jars, as facts.

A schema is JSON with `//` comments. Versions are ranges: "3", "0-5", "2+", "none".
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

Attributes = dict[str, str]
Facts = dict[str, dict[str, Attributes]]

METADATA_RECORD: Final = "metadata record"
CONTROL_RECORD: Final = "control record or data of clients"
QUORUM_STATE: Final = "quorum-state"
CONTROLLER_API: Final = "API of controllers"
BROKER_API: Final = "API of brokers"
DEFAULT_OF: Final = "default of "

_FOLDERS: Final = re.compile(r"common/(message|metadata)/\w+\.json")
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*')
_PRIMITIVES: Final = frozenset({
    "bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "string", "uuid", "bytes", "records",
})  # fmt: skip
_ZERO: Final = {"bool": "false", "string": "", "bytes": "", "uuid": "AAAAAAAAAAAAAAAAAAAAAA", "float64": "0.0"}
_NO_END: Final = 1 << 15


class SchemaError(ValueError):
    """A schema in a jar that cannot be read; the text names the file."""


def read_schemas(jars: Iterable[Path]) -> list[dict[str, Any]]:
    """Return all schemas in these jars.

    Raises:
        SchemaError: a file is no schema.
        zipfile.BadZipFile: a jar is not whole.
    """
    found = []
    for jar in sorted(jars):
        with zipfile.ZipFile(jar) as archive:
            for name in sorted(archive.namelist()):
                if _FOLDERS.fullmatch(name):
                    found.append(_parse(f"{jar.name}: {name}", archive.read(name).decode()))
    return found


def _parse(where: str, text: str) -> dict[str, Any]:
    try:
        schema = json.loads(_COMMENT.sub(lambda found: found[1] or "", text))
        return {**schema, "type": schema["type"], "name": schema["name"], "validVersions": schema["validVersions"]}
    except (ValueError, KeyError, TypeError) as error:
        raise SchemaError(f"{where} is no schema that this command can read: {error}") from None


def schema_facts(schemas: Iterable[dict[str, Any]]) -> Facts:
    """Return metadata records, control records, quorum-state and APIs, as facts."""
    facts: Facts = {area: {} for area in (METADATA_RECORD, CONTROL_RECORD, QUORUM_STATE, CONTROLLER_API, BROKER_API)}
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for schema in schemas:
        if schema["validVersions"] != "none":
            by_kind.setdefault(schema["type"], []).append(schema)
    for schema in by_kind.get("metadata", ()):
        facts[METADATA_RECORD][schema["name"]] = {"key": str(schema["apiKey"]), **_message(schema)}
    for schema in by_kind.get("data", ()):
        area = QUORUM_STATE if schema["name"] == "QuorumStateData" else CONTROL_RECORD
        facts[area][schema["name"]] = _fields_by_version(schema) if area == QUORUM_STATE else _message(schema)
    responses = {schema["apiKey"]: schema for schema in by_kind.get("response", ())}
    for schema in by_kind.get("request", ()):
        area = CONTROLLER_API if "controller" in schema.get("listeners", ()) else BROKER_API
        facts[area][schema["name"].removesuffix("Request")] = _api(schema, responses.get(schema["apiKey"]))
    return facts


def _api(request: dict[str, Any], response: dict[str, Any] | None) -> Attributes:
    first, last = _range(request["validVersions"])
    unstable = bool(request.get("latestVersionUnstable"))
    found = {
        "key": str(request["apiKey"]),
        "listeners": ",".join(request.get("listeners", ())),
        "first version": str(first),
        "last version": str(last - unstable),
    }
    if unstable:
        found["unstable version"] = str(last)
    found.update(_field_facts(request, "request field "))
    found.update(_field_facts(response, "response field ") if response is not None else {})
    return found


def _message(schema: dict[str, Any]) -> Attributes:
    return {
        "versions": schema["validVersions"],
        "flexible versions": schema.get("flexibleVersions", "none"),
        **_field_facts(schema, "field "),
    }


def _fields_by_version(schema: dict[str, Any]) -> Attributes:
    """Return the names of the fields in each version: a file in JSON has no other form."""
    first, last = _range(schema["validVersions"])
    return {
        f"fields of version {version}": ",".join(
            sorted(
                json_name(field["name"])
                for field in schema["fields"]
                if _range(field["versions"])[0] <= version <= _range(field["versions"])[1]
            )
        )
        for version in range(first, last + 1)
    }


def _field_facts(schema: dict[str, Any], prefix: str) -> Attributes:
    structs = {struct["name"]: struct["fields"] for struct in schema.get("commonStructs", ())}
    first, last = _range(schema["validVersions"])
    found: Attributes = {}
    for path, form, default in _walk(schema["fields"], structs, "", (first, last), (first, last)):
        found[f"{prefix}{path}"] = form
        if default is not None:
            found[f"{DEFAULT_OF}{prefix}{path}"] = default
    return found


def _walk(
    fields: Iterable[dict[str, Any]],
    structs: dict[str, Any],
    parent: str,
    within: tuple[int, int],
    valid: tuple[int, int],
) -> Iterator[tuple[str, str, str | None]]:
    """Yield path, form and default of each field; `within` are the versions of the field around it."""
    for field in fields:
        versions = _common(_range(field["versions"]), within)
        if versions[0] > versions[1]:
            continue
        path = parent + json_name(field["name"])
        kind = field["type"].removeprefix("[]")
        is_array = kind != field["type"]
        yield path, _form(field, kind, versions, valid), _default(field, kind, is_array)
        inner = field.get("fields") or structs.get(kind, ())
        if kind not in _PRIMITIVES and parent.count(".") < 8:
            yield from _walk(inner, structs, f"{path}.", versions, valid)


def _form(field: dict[str, Any], kind: str, versions: tuple[int, int], valid: tuple[int, int]) -> str:
    array = "[]" if field["type"].startswith("[]") else ""
    parts = [array + (kind if kind in _PRIMITIVES else "struct"), f"versions {range_text(versions, valid)}"]
    if "tag" in field:
        tagged = _common(_range(field["taggedVersions"]), versions)
        parts.append(f"tag {field['tag']}" + ("" if tagged == versions else f" in {range_text(tagged, valid)}"))
    if field.get("nullableVersions", "none") != "none":
        nullable = _common(_range(field["nullableVersions"]), versions)
        parts.append("nullable" + ("" if nullable == versions else f" in {range_text(nullable, valid)}"))
    return ", ".join(parts)


def _default(field: dict[str, Any], kind: str, is_array: bool) -> str | None:
    given = field.get("default")
    if given is None:
        return None
    text = str(given).lower() if isinstance(given, bool) else str(given)
    return None if text == zero_of(kind, is_array) else text


def zero_of(kind: str, is_array: bool) -> str:
    """Return the default of a field that states none, as the schemas write it."""
    return "" if is_array else _ZERO.get(kind, "0")


def json_name(name: str) -> str:
    """Return a field's name as Kafka's JSON has it: `LeaderEpoch` as `leaderEpoch`."""
    return name[:1].lower() + name[1:]


def _range(text: str) -> tuple[int, int]:
    if text == "none":
        return 1, 0
    first, _, last = text.rstrip("+").partition("-")
    return int(first), _NO_END if text.endswith("+") else int(last or first)


def _common(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return max(one[0], other[0]), min(one[1], other[1])


def range_text(versions: tuple[int, int], valid: tuple[int, int]) -> str:
    """Return "2+" for a range up to the last valid version, else "2-4"."""
    if versions[1] >= valid[1]:
        return f"{versions[0]}+"
    return str(versions[0]) if versions[0] == versions[1] else f"{versions[0]}-{versions[1]}"
