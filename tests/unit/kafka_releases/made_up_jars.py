"""Made-up jars of a release: zip files that hold schemas, and what the program that asks classes would print."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from tests.kafka_releases.facts import class_facts
from tests.kafka_releases.schemas import Facts, read_schemas, schema_facts

_LICENCE = "// Licensed to the one who reads: // twice\n"


def jar(path: Path, *schemas: dict[str, Any], folder: str = "message") -> Path:
    """Write a jar that holds these schemas, with comments as in Kafka's, beside other files."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        archive.writestr("org/apache/kafka/Some.class", b"\xca\xfe\xba\xbe")
        for schema in schemas:
            text = json.dumps(schema, indent=2).replace(": [", ": [ // a list\n")
            archive.writestr(f"common/{folder}/{schema['name']}.json", _LICENCE + text)
    return path


def release(directory: Path, *schemas: dict[str, Any], classes: str = "") -> Facts:
    """Return the facts of a release whose only jar holds these schemas; in `classes` a `|` is a tab."""
    directory.mkdir(exist_ok=True)
    found = schema_facts(read_schemas([jar(directory / "kafka-clients-1.0.0.jar", *schemas)]))
    return {**found, **class_facts(classes.replace("|", "\t"))}


def field(name: str, kind: str, versions: str = "0+", **more: Any) -> dict[str, Any]:
    """Return a field of a schema."""
    return {"name": name, "type": kind, "versions": versions, "about": "See https://kafka.apache.org", **more}


def record(*fields: dict[str, Any], name: str = "ThingRecord", versions: str = "0", key: int = 90) -> dict[str, Any]:
    """Return the schema of a metadata record."""
    return {
        "apiKey": key, "type": "metadata", "name": name, "validVersions": versions, "flexibleVersions": "0+",
        "fields": list(fields),
    }  # fmt: skip


def api(
    kind: str, *fields: dict[str, Any], versions: str = "0", listeners: tuple[str, ...] = ("controller",), **more: Any
) -> dict[str, Any]:
    """Return the schema of a request or a response of the API `Thing`."""
    name = f"Thing{kind.capitalize()}"
    found = {"apiKey": 190, "type": kind, "name": name, "validVersions": versions, "flexibleVersions": "0+"}
    return {**found, "fields": list(fields), **({"listeners": listeners} if kind == "request" else {}), **more}
