"""Each kind of difference between a release and this project's tables is found, and deliberate ones are left out."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest

from tests.kafka_releases.__main__ import main
from tests.kafka_releases.comparison import Difference, lacking
from tests.kafka_releases.facts import NotReadError
from tests.kafka_releases.left_out import LeftOut, without_left_out
from tests.kafka_releases.ours import our_tables
from tests.kafka_releases.schemas import SchemaError
from tests.unit.kafka_releases.made_up_jars import field, record, release

OURS = our_tables({})


def planted(area: str, name: str, attribute: str, value: str | None) -> list[Difference]:
    """Return what the tables lack of a release that is as they are, but for one value; None: without that name."""
    kafka = deepcopy(OURS)
    if value is None:
        del kafka[area][name]
    else:
        kafka[area].setdefault(name, {})[attribute] = value
    return lacking(OURS, kafka, OURS)


def test_a_release_that_is_as_the_tables_are() -> None:
    assert lacking(OURS, deepcopy(OURS), OURS) == []


@pytest.mark.parametrize(
    ("area", "name", "attribute", "value"),
    [
        ("metadata record", "TopicRecord", "key", "3"),
        ("metadata record", "TopicRecord", "versions", "0-1"),
        ("metadata record", "TopicRecord", "field rank", "int32, versions 0+"),
        ("metadata record", "TopicRecord", "field name", "string, versions 0+, nullable"),
        ("metadata record", "PartitionRecord", "field directories", "[]uuid, versions 1+, tag 7"),
        ("metadata record", "RegisterBrokerRecord", "default of field fenced", "false"),
        ("metadata record", "RegisterBrokerRecord", "field endPoints.port", "int32, versions 0+"),
        ("metadata record", "RegisterBrokerRecord", "flexible versions", "1+"),
        ("control record or data of clients", "VotersRecord", "field voters.voterId", "int64, versions 0+"),
        ("quorum-state", "QuorumStateData", "fields of version 2", "leaderId"),
        ("quorum-state", "QuorumStateData", "fields of version 1", "leaderId"),
        ("metadata.version", "30", "name", "4.3-IV1"),
        ("metadata.version", "30", "changes records", "false"),
        ("metadata.version", "34", "production", "true"),
        ("what a metadata.version allows", "isElrSupported", "levels", "false from 7, true from 24"),
        ("version of a record at each metadata.version", "partitionRecordVersion", "versions", "0 from 7"),
        ("feature level", "share.version 2", "default since", "32"),
        ("feature level", "share.version 2", "needs", "{metadata.version=31}"),
        ("feature level", "share.version 2", "supported since", "32"),
        ("API of controllers", "Vote", "key", "53"),
        ("API of controllers", "Vote", "last version", "3"),
        ("API of controllers", "Vote", "first version", "1"),
        ("error code", "NONE", "code", "1"),
        ("topic config", "retention.ms", "default", "1"),
        ("topic config", "retention.ms", "type", "INT"),
        ("topic config", "retention.ms", "synonyms", "log.retention.ms"),
        ("topic config", "internal.segment.bytes", "internal", "false"),
        ("group config", "consumer.session.timeout.ms", "default", "1"),
        ("client metrics config", "interval.ms", "type", "LONG"),
        ("broker config", "num.partitions", "default", "2"),
        ("broker config", "log.cleanup.policy", "default", "compact"),
        ("broker config", "log.cleanup.policy", "type", "STRING"),
    ],
)
def test_a_value_that_the_tables_have_otherwise(area: str, name: str, attribute: str, value: str) -> None:
    (difference,) = planted(area, name, attribute, value)
    assert difference == Difference(area, name, attribute, OURS[area][name].get(attribute), value)


@pytest.mark.parametrize("area", [area for area in OURS if area != "quorum-state"])
def test_a_name_that_the_tables_lack(area: str) -> None:
    (difference,) = planted(area, "New", "key", "7")
    assert (difference.area, difference.name, difference.before) == (area, "New", None)


@pytest.mark.parametrize("area", list(OURS))
def test_a_name_that_only_the_tables_have(area: str) -> None:
    name = next(iter(OURS[area]))
    (difference,) = planted(area, name, "", None)
    assert (difference.area, difference.name, difference.after) == (area, name, None)


def test_a_broker_s_config_is_looked_at_when_it_is_new() -> None:
    kafka = deepcopy(OURS)
    kafka["broker config"]["num.io.threads"] = {"type": "INT"}
    assert lacking(kafka, kafka, OURS) == []
    assert [each.name for each in lacking(OURS, kafka, OURS)] == ["num.io.threads"]


@pytest.mark.parametrize(
    ("values", "is_as_ours"), [("[-1,...]", True), ("[0,...]", False), ("[-2,...]", False), ("[-1,...,9]", False)]
)
def test_the_values_that_a_topic_s_config_takes(values: str, is_as_ours: bool) -> None:
    kafka = deepcopy(OURS)
    kafka["topic config"]["retention.ms"]["values"] = values
    found = lacking(OURS, kafka, our_tables(kafka))
    assert [each.attribute for each in found] == ([] if is_as_ours else ["values"])


def test_a_tool_that_has_moved_where_the_tables_know_it(tmp_path: Path) -> None:
    known = release(tmp_path / "old", classes="main class|kafka.admin.AclCommand|jar|kafka_2.13\n")
    moved = release(tmp_path / "new", classes="main class|org.Moved|jar|kafka-tools\n")
    assert "kafka.admin.AclCommand" in our_tables(known)["main class"]
    names = {each.name for each in lacking(known, moved, our_tables(moved)) if each.area == "main class"}
    assert {"org.Moved", "org.apache.kafka.tools.AclCommand"} <= names


def test_a_record_s_schema_in_a_jar_against_its_declaration(tmp_path: Path) -> None:
    name, key = "UnregisterControllerRecord", 29
    kafka = release(tmp_path, record(field("ControllerId", "int32", entityType="brokerId"), name=name, key=key))
    ours = {"metadata record": {name: OURS["metadata record"][name]}}
    assert lacking({}, kafka, ours) == []
    longer = release(tmp_path, record(field("ControllerId", "int32"), field("Why", "string"), name=name, key=key))
    (difference,) = lacking({}, longer, ours)
    assert (difference.attribute, difference.before, difference.after) == ("field why", None, "string, versions 0+")


def test_what_is_left_out_on_purpose() -> None:
    differences = planted("topic config", "new.ms", "type", "INT") + planted("topic config", "flush.ms", "type", "INT")
    rows = (
        LeftOut("topic config", r"new\..*", "because"),
        LeftOut("topic config", "flush.ms", "only its default", attribute="default"),
        LeftOut("group config", ".*", "another area"),
    )
    rest, explained = without_left_out(differences, rows)
    assert [each.name for each in rest] == ["flush.ms"]
    assert [len(found) for found in explained.values()] == [1, 0, 0]


class TestCommand:
    """Its output, and its exit status."""

    def test_nothing_is_lacking(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["4.3.0", "4.4.0"], lambda _: deepcopy(OURS)) == 0
        out = capsys.readouterr().out
        assert "What Kafka 4.4.0 changes since 4.3.0:\n  nothing\n" in out
        assert "Our tables lack: nothing." in out

    def test_something_is_lacking(self, capsys: pytest.CaptureFixture[str]) -> None:
        newer = deepcopy(OURS)
        newer["error code"]["NEW_ERROR"] = {"code": "137"}
        newer["metadata.version"]["34"]["production"] = "true"
        assert main(["4.4.0", "4.5.0"], {"4.4.0": deepcopy(OURS), "4.5.0": newer}.__getitem__) == 1
        out = capsys.readouterr().out
        assert "    NEW_ERROR: new: code '137'\n" in out
        assert "    NEW_ERROR: lacking: code '137'\n" in out
        assert out.count("    34, production: false -> true\n") == 2

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        newer = deepcopy(OURS)
        newer["error code"]["NEW_ERROR"] = {"code": "137"}
        assert main(["4.4.0", "4.5.0", "-o", "json"], {"4.4.0": deepcopy(OURS), "4.5.0": newer}.__getitem__) == 1
        found = json.loads(capsys.readouterr().out)
        expected = {"area": "error code", "name": "NEW_ERROR", "attribute": None, "before": None, "after": "code '137'"}
        assert found["changes"] == found["lacking"] == [expected]
        assert {row["area"] for row in found["left_out"]} >= {"API of brokers", "main class"}

    @pytest.mark.parametrize("error", [NotReadError("no Maven"), SchemaError("no schema")])
    def test_a_release_that_cannot_be_read(self, error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
        def refuse(_: str) -> dict[str, dict[str, dict[str, str]]]:
            raise error

        assert main(["4.3.0", "4.4.0"], refuse) == 2
        assert capsys.readouterr().err == f"kafka_releases: {error}\n"

    @pytest.mark.parametrize("arguments", [["4.3", "4.4.0"], ["3.9.2", "4.4.0"], ["4.4.0"], []])
    def test_arguments_that_mean_nothing(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            main(arguments, lambda _: {})
        assert ended.value.code == 2
        assert "usage: python -m tests.kafka_releases" in capsys.readouterr().err
