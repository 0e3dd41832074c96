"""Each kind of difference between two releases is found in made-up jars."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.kafka_releases.comparison import Difference, differences
from tests.kafka_releases.facts import NotReadError, add_first_support, class_facts
from tests.kafka_releases.schemas import SchemaError, read_schemas
from tests.unit.kafka_releases.made_up_jars import api, field, jar, record, release

ID = field("ThingId", "int32")


def found(tmp_path: Path, before: tuple[dict[str, Any], ...], after: tuple[dict[str, Any], ...]) -> list[Difference]:
    return differences(release(tmp_path / "old", *before), release(tmp_path / "new", *after))


def test_equal_releases(tmp_path: Path) -> None:
    schemas = (record(ID), api("request", ID), api("response", ID))
    assert found(tmp_path, schemas, schemas) == []


def test_a_new_record(tmp_path: Path) -> None:
    (new,) = found(tmp_path, (record(ID),), (record(ID), record(ID, name="OtherRecord", key=91)))
    assert (new.area, new.name, new.attribute, new.before) == ("metadata record", "OtherRecord", None, None)
    assert new.after == "key '91', versions '0', flexible versions '0+'"


def test_a_record_that_is_gone(tmp_path: Path) -> None:
    (gone,) = found(tmp_path, (record(ID), record(ID, name="OtherRecord", key=91)), (record(ID),))
    assert (gone.name, gone.after) == ("OtherRecord", None)


def test_a_schema_without_valid_versions_is_gone(tmp_path: Path) -> None:
    (gone,) = found(tmp_path, (api("request", ID),), (api("request", versions="none"),))
    assert (gone.area, gone.name, gone.after) == ("API of controllers", "Thing", None)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (record(ID), record(ID, key=91), ("key", "90", "91")),
        (record(ID), record(ID, versions="0-1"), ("versions", "0", "0-1")),
        (record(ID), record(ID, field("Rack", "string")), ("field rack", None, "string, versions 0+")),
        (record(ID, field("Rack", "string")), record(ID), ("field rack", "string, versions 0+", None)),
        (record(ID), record(field("ThingId", "int64")), ("field thingId", "int32, versions 0+", "int64, versions 0+")),
        (
            record(field("Rack", "string")),
            record(field("Rack", "string", nullableVersions="0+")),
            ("field rack", "string, versions 0+", "string, versions 0+, nullable"),
        ),
        (
            record(field("Dirs", "[]uuid", "0+", taggedVersions="0+", tag=0)),
            record(field("Dirs", "[]uuid", "0+", taggedVersions="0+", tag=1)),
            ("field dirs", "[]uuid, versions 0+, tag 0", "[]uuid, versions 0+, tag 1"),
        ),
        (
            record(field("Epoch", "int32", default="-1")),
            record(field("Epoch", "int32")),
            ("default of field epoch", "-1", None),
        ),
        (
            record(ID, field("Old", "int32"), versions="0-2"),
            record(ID, field("Old", "int32", "0-1"), versions="0-2"),
            ("field old", "int32, versions 0+", "int32, versions 0-1"),
        ),
    ],
)  # fmt: skip
def test_a_record_that_changes(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], expected: tuple[str, str | None, str | None]
) -> None:
    (changed,) = found(tmp_path, (before,), (after,))
    assert (changed.name, changed.attribute, changed.before, changed.after) == ("ThingRecord", *expected)


def test_a_default_that_the_type_has_anyway_is_none(tmp_path: Path) -> None:
    plain = record(field("Epoch", "int32"), field("On", "bool"), field("Name", "string"))
    stated = record(field("Epoch", "int32", default="0"), field("On", "bool", default=False), field("Name", "string"))
    assert found(tmp_path, (plain,), (stated,)) == []


def test_a_field_within_a_struct(tmp_path: Path) -> None:
    before = record(field("Ends", "[]End", "1+", fields=[field("Port", "uint16")]), versions="0-1")
    after = record(field("Ends", "[]End", "1+", fields=[field("Port", "int32")]), versions="0-1")
    (changed,) = found(tmp_path, (before,), (after,))
    assert (changed.attribute, changed.before) == ("field ends.port", "uint16, versions 1+")


def test_a_field_of_a_common_struct(tmp_path: Path) -> None:
    common: dict[str, Any] = {"commonStructs": [{"name": "End", "versions": "0+", "fields": [field("Host", "string")]}]}
    (changed,) = found(
        tmp_path, (api("request", field("End", "End")),), (api("request", field("End", "End"), **common),)
    )
    assert (changed.attribute, changed.after) == ("request field end.host", "string, versions 0+")


@pytest.mark.parametrize(
    ("after", "attribute", "value"),
    [
        ((api("request", ID, versions="0-1"), api("response")), "last version", "1"),
        ((api("request", ID, versions="0-1", latestVersionUnstable=True), api("response")), "unstable version", "1"),
        ((api("request", ID, listeners=("broker", "controller")), api("response")), "listeners", "broker,controller"),
        ((api("request", ID), api("response", ID)), "response field thingId", "int32, versions 0+"),
    ],
)
def test_an_api_that_changes(tmp_path: Path, after: tuple[dict[str, Any], ...], attribute: str, value: str) -> None:
    (changed,) = found(tmp_path, (api("request", ID), api("response")), after)
    assert (changed.area, changed.name) == ("API of controllers", "Thing")
    assert (changed.attribute, changed.after) == (attribute, value)


def test_an_api_that_controllers_begin_to_answer(tmp_path: Path) -> None:
    before, after = api("request", ID, listeners=("broker",)), api("request", ID)
    new, gone = found(tmp_path, (before,), (after,))
    assert (new.area, new.before) == ("API of controllers", None)
    assert (gone.area, gone.after) == ("API of brokers", None)


def test_control_records_and_quorum_state(tmp_path: Path) -> None:
    state = {"type": "data", "name": "QuorumStateData", "validVersions": "0", "fields": [ID]}
    newer = {**state, "validVersions": "0-1", "fields": [field("ThingId", "int32", "0"), field("New", "int32", "1+")]}
    voters = {"type": "data", "name": "VotersRecord", "validVersions": "0", "flexibleVersions": "0+", "fields": [ID]}
    changes = found(tmp_path, (state, voters), (newer, {**voters, "validVersions": "0-1"}))
    assert [(each.name, each.attribute, each.after) for each in changes] == [
        ("VotersRecord", "versions", "0-1"),
        ("QuorumStateData", "fields of version 1", "new"),
    ]


@pytest.mark.parametrize(
    ("line", "area", "attribute"),
    [
        ("metadata.version|31|name|4.4-IV0", "metadata.version", None),
        ("metadata.version|30|production|false", "metadata.version", "production"),
        ("metadata.version|30|changes records|false", "metadata.version", "changes records"),
        ("what a metadata.version allows|isNewSupported|levels|true from 31", "what a metadata.version allows", None),
        ("feature level|share.version 1|default since|29", "feature level", "default since"),
        ("feature level|share.version 1|needs|{metadata.version=5}", "feature level", "needs"),
        ("error code|NEW|code|134", "error code", None),
        ("error code|OLD|code|2", "error code", "code"),
        ("topic config|old.ms|default|2", "topic config", "default"),
        ("topic config|old.ms|type|LONG", "topic config", "type"),
        ("group config|new.ms|default|1", "group config", None),
        ("broker config|old.size|default|2", "broker config", "default"),
        ("client metrics config|new|default|2", "client metrics config", None),
        ("control record type|7|name|NEW", "control record type", None),
        ("main class|org.New|jar|kafka-tools", "main class", None),
    ],
)
def test_what_classes_know(tmp_path: Path, line: str, area: str, attribute: str | None) -> None:
    before = (
        "metadata.version|30|name|4.3-IV0\nmetadata.version|30|production|true\n"
        "metadata.version|30|changes records|true\n"
        "feature level|share.version 1|production|true\nfeature level|share.version 1|default since|28\n"
        "feature level|share.version 1|needs|{}\nerror code|OLD|code|1\ntopic config|old.ms|type|INT\n"
        "topic config|old.ms|default|1\nbroker config|old.size|default|1\n"
    )
    (change,) = differences(
        release(tmp_path / "old", classes=before), release(tmp_path / "new", classes=f"{before}{line}\n")
    )
    assert (change.area, change.attribute) == (area, attribute)


def test_a_feature_level_moves_into_production(tmp_path: Path) -> None:
    before = release(tmp_path / "old", classes="feature level|share.version 2|production|false\n")
    after = release(tmp_path / "new", classes="feature level|share.version 2|production|true\n")
    new, gone = differences(before, after)
    assert (new.area, new.name, gone.area) == (
        "feature level", "share.version 2", "feature level that is not in production",
    )  # fmt: skip


def test_since_when_a_new_feature_level_is_supported() -> None:
    before = class_facts("metadata.version\t30\tproduction\ttrue\nmetadata.version\t31\tproduction\tfalse\n")
    after = class_facts("feature level\tshare.version 2\tproduction\ttrue\n")
    add_first_support(before, after)
    assert after["feature level"]["share.version 2"]["supported since"] == "31"


def test_a_value_with_a_tab_in_it() -> None:
    assert class_facts("topic config\tx\tdefault\ta\\tb\n")["topic config"]["x"]["default"] == "a\tb"


def test_a_line_that_is_none() -> None:
    with pytest.raises(NotReadError, match="four columns"):
        class_facts("WARNING: sun.misc.Unsafe\n")


@pytest.mark.parametrize("text", ["{", "[]", '{"type": "data"}'])
def test_a_schema_that_is_none(tmp_path: Path, text: str) -> None:
    path = jar(tmp_path / "kafka-metadata-1.0.0.jar")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("common/metadata/OddRecord.json", text)
    with pytest.raises(SchemaError, match=r"kafka-metadata-1\.0\.0\.jar: common/metadata/OddRecord\.json"):
        read_schemas([path])
