"""This project's tables as facts: the one list of the tables that follow Kafka's releases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

import msgspec

from metadata_log.directory.quorum_state import QuorumState, format_quorum_state
from metadata_log.ids import id_text
from metadata_log.offsets import Epoch
from metadata_log.records import CONTROL_RECORDS, METADATA_RECORDS, levels
from metadata_log.records.declarations.nodes import RegisterBrokerRecord, RegisterControllerRecord
from metadata_log.records.declarations.topics import PartitionChangeRecord, PartitionRecord
from metadata_log.records.feature_levels import FEATURE_LEVELS, highest_feature_level
from metadata_log.records.registry import MetadataRecord
from metadata_log.records.wire import Field, schema_of
from quorum.api.error_codes import Error
from quorum.controller.configs.defaults import (
    BOOLEAN,
    DOUBLE,
    GROUP_DEFAULTS,
    INT,
    LIST,
    LONG,
    METRICS_DEFAULTS,
    PASSWORD,
    STRING,
    Described,
    kind_of_topic_config,
)
from quorum.controller.configs.effective_topics import TOPIC_CONFIGS
from quorum.controller.configs.resources import BROKER_LISTS, GROUP_CHECKS, METRICS_CHECKS
from quorum.controller.configs.topics import TOPIC_CHECKS
from quorum.node.config.node_config import KEYS
from quorum.server.kafka.offered_versions import OFFERED
from tests.kafka_releases import facts as areas
from tests.kafka_releases.schemas import (
    CONTROL_RECORD,
    CONTROLLER_API,
    DEFAULT_OF,
    METADATA_RECORD,
    QUORUM_STATE,
    Attributes,
    Facts,
    zero_of,
)
from tests.support.kafka.tools import MAINS

_KINDS: Final = {
    BOOLEAN: "BOOLEAN", STRING: "STRING", INT: "INT", LONG: "LONG", DOUBLE: "DOUBLE", LIST: "LIST",
    PASSWORD: "PASSWORD",
}  # fmt: skip
_PREDICATES: Final[Mapping[str, int]] = {
    "isCidrAclSupported": levels.ACL_RANGES_LEVEL,
    "isControllerRegistrationSupported": levels.CONTROLLER_REGISTRATION_LEVEL,
    "isControllerUnregistrationSupported": levels.UNREGISTER_CONTROLLER_LEVEL,
    "isCordonedLogDirsSupported": levels.CORDONED_DIRECTORIES_LEVEL,
    "isDelegationTokenSupported": levels.DELEGATION_TOKENS_LEVEL,
    "isDirectoryAssignmentSupported": levels.DIRECTORIES_LEVEL,
    "isElrSupported": levels.ELR_LEVEL,
    "isMetadataTransactionSupported": levels.TRANSACTIONS_LEVEL,
    "isMigrationSupported": levels.ZK_MIGRATION_LEVEL,
    "isScramSupported": levels.SCRAM_LEVEL,
}
"""Kafka's question, and our constant for the level at which the answer becomes yes."""
_UNTIL: Final[Mapping[str, int]] = {"isLeaderEpochBumpRequiredOnIsrShrink": levels.NO_EPOCH_BUMP_LEVEL}
"""Likewise, for the level at which the answer becomes no."""
_RECORDS_AT_LEVELS: Final[Mapping[str, type[MetadataRecord]]] = {
    "partitionChangeRecordVersion": PartitionChangeRecord,
    "partitionRecordVersion": PartitionRecord,
    "registerBrokerRecordVersion": RegisterBrokerRecord,
    "registerControllerRecordVersion": RegisterControllerRecord,
}


def our_tables(kafka: Facts) -> Facts:
    """Return this project's tables. Of a tool with several main classes the one that this release has counts."""
    return {
        METADATA_RECORD: {record.__name__: _record(record) for record in METADATA_RECORDS.values()},
        CONTROL_RECORD: {record.__name__: _message(record) for record in CONTROL_RECORDS.values()},
        areas.CONTROL_TYPE: {str(number): {} for number in CONTROL_RECORDS},
        QUORUM_STATE: {"QuorumStateData": _quorum_state()},
        areas.LEVEL: _levels(),
        areas.LEVEL_PREDICATE: _predicates(),
        areas.RECORD_AT_LEVEL: {name: _at_levels(record) for name, record in _RECORDS_AT_LEVELS.items()},
        areas.FEATURE_LEVEL: _features(),
        CONTROLLER_API: _apis(),
        areas.ERROR_CODE: {error.name: {"code": str(error.value)} for error in Error},
        areas.TOPIC_CONFIG: _topic_configs(kafka.get(areas.TOPIC_CONFIG, {})),
        areas.GROUP_CONFIG: _described(GROUP_CHECKS, GROUP_DEFAULTS),
        areas.METRICS_CONFIG: _described(METRICS_CHECKS, METRICS_DEFAULTS),
        areas.BROKER_CONFIG: _broker_configs(),
        areas.MAIN_CLASS: _main_classes(kafka.get(areas.MAIN_CLASS, {})),
    }


def _record(record: type[MetadataRecord]) -> Attributes:
    return {"key": str(record.API_KEY), **_message(record)}


def _message(record: type[msgspec.Struct]) -> Attributes:
    versions: range = cast(Any, record).VERSIONS
    last = versions.stop - 1
    found = {
        "versions": str(versions.start) if versions.start == last else f"{versions.start}-{last}",
        "flexible versions": "0+",
    }
    for path, form, default in _walk(record, "", 0):
        found[f"field {path}"] = form
        if default is not None:
            found[f"{DEFAULT_OF}field {path}"] = default
    return found


def _walk(record: type[msgspec.Struct], parent: str, since: int) -> Iterator[tuple[str, str, str | None]]:
    """Yield path, form and default of each field; `since` is the first version of the field around it."""
    for field in schema_of(record).fields:
        first = max(field.since, since)
        path = f"{parent}{field.json_name}"
        parts = [("[]" if field.is_array else "") + field.wire_type, f"versions {first}+"]
        parts += [f"tag {field.tag}"] if field.tag is not None else []
        parts += ["nullable"] if field.nullable else []
        yield path, ", ".join(parts), _default(field)
        if field.element is not None:
            yield from _walk(field.element, f"{path}.", first)


def _default(field: Field) -> str | None:
    """Return the default as Kafka's schemas write it, or None if the class has none or states that of the type."""
    if not field.has_default:
        return None
    value: object = field.default
    if value is None:
        return "null"
    if value in {(), b""}:
        text = ""
    elif field.wire_type == "uuid":
        text = id_text(cast(bytes, value))
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    return None if text == zero_of(field.wire_type, field.is_array) else text


def _quorum_state() -> Attributes:
    found = {}
    for version in (0, 1):
        written = json.loads(format_quorum_state(QuorumState(leader_epoch=Epoch(0), data_version=version)))
        written.pop("data_version")
        found[f"fields of version {version}"] = ",".join(sorted(written))
    return found


def _levels() -> dict[str, Attributes]:
    return {
        str(version.level): {
            "name": version.name,
            "changes records": str(version.changes_records).lower(),
            "production": str(version.level <= levels.LATEST_PRODUCTION).lower(),
        }
        for version in levels.METADATA_VERSIONS
    }


def _predicates() -> dict[str, Attributes]:
    lowest = levels.MINIMUM_LEVEL
    found = {name: {"levels": f"false from {lowest}, true from {level}"} for name, level in _PREDICATES.items()}
    found.update({name: {"levels": f"true from {lowest}, false from {level}"} for name, level in _UNTIL.items()})
    return found


def _at_levels(record: type[MetadataRecord]) -> Attributes:
    changes: list[str] = []
    before = ""
    for version in levels.METADATA_VERSIONS:
        writable = levels.is_writable(record, version.level)
        now = str(levels.write_version(record, version.level)) if writable else "none"
        if now != before:
            changes.append(f"{now} from {version.level}")
        before = now
    return {"versions": ", ".join(changes)}


def _features() -> dict[str, Attributes]:
    return {
        f"{row.name} {row.level}": {
            "production": str(highest_feature_level(row.name, levels.LATEST_PRODUCTION) >= row.level).lower(),
            "default since": str(row.default_since),
            "needs": f"{{{levels.FEATURE_NAME}={row.needs_metadata_version}}}" if row.needs_metadata_version else "{}",
            "supported since": str(row.supported_since),
        }
        for row in FEATURE_LEVELS
    }


def _apis() -> dict[str, Attributes]:
    return {
        "".join(part.capitalize() for part in offered.name.split("_")): {
            "key": str(key),
            "first version": str(offered.first),
            "last version": str(offered.last),
        }
        for key, offered in OFFERED.items()
    }


def _topic_configs(kafka: Mapping[str, Attributes]) -> dict[str, Attributes]:
    described = {
        each.name: {
            "type": _KINDS[kind_of_topic_config(each.name)],
            "default": each.default,
            **({"synonyms": ",".join(name for name, _ in each.synonyms)} if each.synonyms else {}),
        }
        for each in TOPIC_CONFIGS
    }
    found = {}
    for name, check in TOPIC_CHECKS.items():
        found[name] = {"internal": str(name not in described).lower(), **described.get(name, {})}
        bounds = kafka.get(name, {}).get("values", "")
        probes = _probes(bounds)
        if probes:
            fits = all(check(text) == is_allowed for text, is_allowed in probes)
            found[name]["values"] = bounds if fits else f"not {bounds}"
    return found


def _probes(bounds: str) -> list[tuple[str, bool]]:
    """Return values at and beyond the ends of a range such as `[0,...,9]` or `[1,...]`; none of another form."""
    first, _, last = bounds.removeprefix("[").removesuffix("]").partition(",...")
    found: list[tuple[str, bool]] = []
    for text, step in ((first, -1), (last.removeprefix(","), 1)):
        if text.lstrip("-").isdigit():
            found += [(text, True), (str(int(text) + step), False)]
    return found


def _described(names: Iterable[str], defaults: Mapping[str, Described]) -> dict[str, Attributes]:
    found: dict[str, Attributes] = {}
    for name in names:
        found[name] = {"internal": str(name not in defaults).lower()}
        if name in defaults:
            row = defaults[name]
            found[name] |= {"type": _KINDS[row.kind], "default": row.default, "synonyms": row.synonym or ""}
    return found


def _broker_configs() -> dict[str, Attributes]:
    found: dict[str, Attributes] = {}
    for name, key in KEYS.items():
        found[name] = {} if key.default in {None, ""} else {"default": key.default}
    for name, default in BROKER_LISTS.items():
        found.setdefault(name, {}).update({"type": "LIST", "default": default})
    return found


def _main_classes(kafka: Mapping[str, Attributes]) -> dict[str, Attributes]:
    return {next((name for name in names if name in kafka), names[0]): {} for names in MAINS.values()}
