"""`quorum.client.Admin` through the real door, with a real controller machine behind it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from metadata_log.ids import ZERO_TOPIC_ID, InvalidIdError, TopicId
from quorum.api.error_codes import Error
from quorum.client import (
    Admin,
    Client,
    ClosedError,
    Cluster,
    Config,
    CreatableTopic,
    DescribeConfigsResult,
    InvalidTopicError,
    Outcome,
    TopicCollection,
    TopicExistsError,
    UnavailableError,
    UnknownTopicError,
)
from tests.support.controlled_door import controlled
from tests.support.loop import run

PAGE = Path(__file__).parents[2] / "docs" / "admin.md"
UNKNOWN = TopicId(b"\7" * 16)


def _new(name: str, partitions: int = 1, factor: int = 1) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor)


def _block(after: str) -> str:
    """The indented block of the page behind a line."""
    found: list[str] = []
    for line in PAGE.read_text().split(f"{after}\n", 1)[1].strip("\n").split("\n"):
        if line and not line.startswith("    "):
            break
        found.append(line[4:])
    return "\n".join(found).strip() + "\n"


def test_the_pages_example_prints_what_stands_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, Any] = {}
    exec(compile(_block("have led to the wrong topic:"), str(PAGE), "exec"), scope)

    async def main() -> None:
        async with controlled() as (_, address):
            await scope["main"](address)

    run(main())
    said, shown = capsys.readouterr().out, _block("prints")
    assert _with_ids_numbered(said) == _with_ids_numbered(shown), said


def _with_ids_numbered(text: str) -> str:
    """Each id as the number of its first appearance: the same ones are the same, whatever they are."""
    seen: dict[str, str] = {}
    return re.sub(r"(?<![\w-])[\w-]{22}(?![\w-])", lambda found: seen.setdefault(found[0], f"id {len(seen)}"), text)


def test_every_accessor_that_the_page_names_is_there() -> None:
    table = PAGE.read_text().split("\n\n")[2]
    for name in re.findall(r"[`.](\w+)\(", table):
        kinds = [Admin, TopicCollection, *map(type, _empty_results())]
        assert any(hasattr(kind, name) for kind in kinds), name


def _empty_results() -> list[object]:
    async def main() -> list[object]:
        async with Admin("127.0.0.1:9") as admin:
            none = TopicCollection.of_topic_names([])
            return [
                await admin.create_topics([]),
                await admin.delete_topics(none),
                await admin.describe_topics(none),
                Outcome(),
            ]

    return [*run(main()), Cluster([]), DescribeConfigsResult({}), Config(())]


class TestAskedByNames:
    def test_what_belongs_to_ids_is_none(self) -> None:
        async def main() -> None:
            async with controlled() as (machine, address), Admin(address) as admin:
                names = TopicCollection.of_topic_names(["t"])
                created = await admin.create_topics([_new("t", partitions=2, factor=2)])
                described = await admin.describe_topics(names)
                deleted = await admin.delete_topics(names)
                topic_id = machine.cluster.log[-1].topic_id  # type: ignore[union-attr]
                for result in (created, described, deleted):
                    result.all()
                    assert result.topic_id("t") == topic_id
                    assert list(result.topic_name_values() or ()) == ["t"]
                    assert [told.topic_id for told in (result.all_topic_names() or {}).values()] == [topic_id]
                    assert result.topic_id_values() is None
                    assert result.all_topic_ids() is None
                assert (created.num_partitions("t"), created.replication_factor("t")) == (2, 2)

        run(main())

    def test_a_name_that_was_not_asked_for(self) -> None:
        async def main() -> None:
            async with controlled() as (_, address), Admin(address) as admin:
                created = await admin.create_topics([_new("t")])
                with pytest.raises(KeyError, match="'u'"):
                    created.topic_id("u")

        run(main())


class TestAskedByIds:
    def test_what_belongs_to_names_is_none(self) -> None:
        async def main() -> None:
            async with controlled() as (_, address), Admin(address) as admin:
                topic_id = (await admin.create_topics([_new("t")])).topic_id("t")
                ids = TopicCollection.of_topic_ids([topic_id])
                described = await admin.describe_topics(ids)
                deleted = await admin.delete_topics(ids)
                for result in (described, deleted):
                    result.all()
                    assert list(result.topic_id_values() or ()) == [topic_id]
                    assert [told.name for told in (result.all_topic_ids() or {}).values()] == ["t"]
                    assert result.topic_name_values() is None
                    assert result.all_topic_names() is None
                    assert result.topic_id("t") is None

        run(main())


class TestErrors:
    def test_of_one_topic_are_raised_by_who_asks_for_it_or_for_all(self) -> None:
        async def main() -> None:
            async with controlled() as (_, address), Admin(address) as admin:
                await admin.create_topics([_new("there")])
                created = await admin.create_topics([_new("new"), _new("there")])
                assert created.topic_id("new") != ZERO_TOPIC_ID
                with pytest.raises(TopicExistsError, match="there"):
                    created.topic_id("there")
                for all_of in (created.all, created.all_topic_names):
                    with pytest.raises(TopicExistsError):
                        all_of()
                outcomes = created.topic_name_values()
                assert outcomes is not None
                assert (outcomes["new"].exception(), outcomes["new"].result().name) == (None, "new")
                assert isinstance(outcomes["there"].exception(), TopicExistsError)

                deleted = await admin.delete_topics(TopicCollection.of_topic_ids([UNKNOWN]))
                with pytest.raises(UnknownTopicError, match="BwcHBwcHBwcHBwcHBwcHBw") as raised:
                    deleted.all_topic_ids()
                assert raised.value.error is Error.UNKNOWN_TOPIC_ID
                with pytest.raises(UnknownTopicError):
                    deleted.all()

        run(main())

    def test_what_stands_for_none_in_a_request_is_refused_without_being_asked(self) -> None:
        async def main() -> None:
            async with controlled() as (machine, address), Admin(address) as admin:
                topic_id = (await admin.create_topics([_new("t"), _new("")])).topic_id("t")
                ids = TopicCollection.of_topic_ids([ZERO_TOPIC_ID, topic_id])
                by_id = (await admin.describe_topics(ids)).topic_id_values() or {}
                assert isinstance(by_id[ZERO_TOPIC_ID].error, InvalidTopicError)
                assert by_id[topic_id].result().name == "t"
                names = TopicCollection.of_topic_names(["", "t"])
                by_name = (await admin.delete_topics(names)).topic_name_values() or {}
                assert isinstance(by_name[""].error, InvalidTopicError)
                assert by_name["t"].result().topic_id == topic_id
                before = len(machine.asked)
                await admin.describe_topics(TopicCollection.of_topic_ids([ZERO_TOPIC_ID]))
                assert len(machine.asked) == before

        run(main())

    def test_of_the_request_as_a_whole_are_raised_at_once(self) -> None:
        async def main() -> None:
            async with controlled() as (_, address):
                client = Client(address)
                async with Admin(client) as admin:
                    await admin.cluster()
                with pytest.raises(ClosedError):
                    await admin.cluster()
            async with Admin(address, timeout_s=0.2) as admin:
                with pytest.raises(UnavailableError):
                    await admin.create_topics([_new("t")])

        run(main())


class TestCollections:
    def test_each_is_meant_once_in_order(self) -> None:
        other = TopicId(b"\6" * 16)
        assert TopicCollection.of_topic_names(iter(["b", "a", "b"])).topic_names == ("b", "a")
        assert TopicCollection.of_topic_ids([UNKNOWN, other, UNKNOWN]).topic_ids == (UNKNOWN, other)

    def test_what_is_no_collection(self) -> None:
        with pytest.raises(TypeError, match=r"\['orders'\]"):
            TopicCollection.of_topic_names("orders")
        with pytest.raises(TypeError, match="of_topic_ids"):
            TopicCollection.of_topic_names([UNKNOWN])  # type: ignore[list-item]
        with pytest.raises(InvalidIdError, match="parse_topic_id"):
            TopicCollection.of_topic_ids(["B" * 22])  # type: ignore[list-item]
        with pytest.raises(InvalidIdError, match="16 bytes"):
            TopicCollection.of_topic_ids([TopicId(b"short")])

        async def main() -> None:
            async with Admin("127.0.0.1:9") as admin:
                with pytest.raises(TypeError, match="is not a TopicCollection"):
                    await admin.delete_topics(["t"])  # type: ignore[arg-type]
                with pytest.raises(ValueError, match="'t' is listed twice"):
                    await admin.create_topics([_new("t"), _new("t")])

        run(main())


class TestCluster:
    def test_names_and_ids(self) -> None:
        async def main() -> None:
            async with controlled() as (_, address), Admin(address) as admin:
                created = await admin.create_topics([_new("t"), _new("u")])
                ids = {created.topic_id("t"), created.topic_id("u")}
                cluster = await admin.cluster()
                assert cluster.topics() == {"t", "u"}, "the metadata topic is left out"
                assert cluster.topic_ids() == ids
                assert cluster.topic_id("t") == created.topic_id("t")
                assert cluster.topic_name(cluster.topic_id("u")) == "u"
                assert (cluster.topic_id("v"), cluster.topic_name(UNKNOWN)) == (ZERO_TOPIC_ID, None)
                found = cluster.topic("t")
                assert found is not None
                assert (found.topic_id, cluster.topic("v")) == (created.topic_id("t"), None)
                await admin.delete_topics(TopicCollection.of_topic_names(["t"]))
                assert cluster.topics() == {"t", "u"}, "it is a snapshot of its time"
                assert (await admin.cluster()).topics() == {"u"}

        run(main())

    def test_only_checked_has_no_id(self) -> None:
        async def main() -> None:
            async with controlled() as (_, address), Admin(address) as admin:
                checked = await admin.create_topics([_new("t")], validate_only=True)
                assert checked.topic_id("t") == ZERO_TOPIC_ID
                assert (await admin.cluster()).topics() == frozenset()

        run(main())
