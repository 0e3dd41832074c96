"""`kraft storage version-mapping` and `feature-dependencies` print what kafka-storage of Kafka 4.4.0 prints."""

from __future__ import annotations

import pytest

from metadata_log.records.feature_levels import FEATURE_LEVELS, IN_KAFKAS_ORDER, mapped_features
from metadata_log.records.levels import METADATA_VERSIONS
from quorum.cli.main import run
from tests.support.command_json import document

KRAFT, TRANSACTION, GROUP, ELR, SHARE, STREAMS = range(6)
FROM: dict[int, tuple[int, ...]] = {
    7: (0, 0, 0, 0, 0, 0),
    21: (1, 0, 0, 0, 0, 0),
    22: (1, 0, 1, 0, 0, 0),
    24: (1, 2, 1, 0, 0, 0),
    26: (1, 2, 1, 1, 0, 0),
    28: (1, 2, 1, 1, 1, 0),
    29: (1, 2, 1, 1, 1, 1),
    31: (1, 2, 1, 1, 2, 1),
}
"""Feature.defaultLevel of Kafka 4.4.0 by metadata.version, printed by its jars: each row holds until the next one."""


def test_every_level_is_mapped_as_kafka_maps_it() -> None:
    for version in METADATA_VERSIONS:
        row = FROM[max(level for level in FROM if level <= version.level)]
        assert tuple(mapped_features(version.level).values()) == (version.level, *row)
    assert {each.name for each in FEATURE_LEVELS} == {*IN_KAFKAS_ORDER} - {"metadata.version"}


LINES_OF_4_2 = """\
metadata.version=29 (4.2)
kraft.version=1
transaction.version=2
group.version=1
eligible.leader.replicas.version=1
share.version=1
streams.version=1
"""


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ((), "metadata.version=33 (4.4-IV2)"),
        (("--release-version", "3.9-IV0"), "metadata.version=21 (3.9-IV0)"),
        (("-r", "3.3"), "metadata.version=7 (3.3)"),
        (("-r", "4.5-IV0"), "metadata.version=34 (4.5-IV0)"),
    ],
)
def test_the_first_line_has_the_release_as_it_was_given(
    words: tuple[str, ...], first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["storage", "version-mapping", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], len(lines)) == (first, len(IN_KAFKAS_ORDER))


def test_the_lines_of_a_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["storage", "version-mapping", "--release-version", "4.2"]) == 0
    assert capsys.readouterr().out == LINES_OF_4_2
    assert run(["storage", "version-mapping", "--release-version", "4.2", "-o", "json"]) == 0
    told = document(capsys.readouterr().out)
    assert told["release_version"] == "4.2"
    assert told["features"][0] == {"feature": "metadata.version", "level": 29, "metadata_version": "4.2-IV1"}
    assert told["features"][1] == {"feature": "kraft.version", "level": 1, "metadata_version": None}


@pytest.mark.parametrize(
    ("features", "lines"),
    [
        (["transaction.version=2"], ["transaction.version=2 has no dependencies."]),
        (
            ["eligible.leader.replicas.version=1", "metadata.version=23"],
            [
                "eligible.leader.replicas.version=1 requires:",
                "    metadata.version=23 (4.0-IV1)",
                "metadata.version=23 (4.0-IV1) has no dependencies.",
            ],
        ),
        (["share.version=0"], ["share.version=0 has no dependencies."]),
    ],
)
def test_dependencies(features: list[str], lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for feature in features for word in ("--feature", feature)]
    assert run(["storage", "feature-dependencies", *words]) == 0
    assert capsys.readouterr().out.splitlines() == lines
    assert run(["storage", "feature-dependencies", *words, "-o", "json"]) == 0
    told = document(capsys.readouterr().out)["features"]
    assert [f"{each['feature']}={each['level']}" for each in told] == features
    assert [len(each["requires"]) for each in told] == [1 if "eligible" in feature else 0 for feature in features]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("version-mapping --release-version 9.9", "--release-version: "),
        ("feature-dependencies --feature foo=1", "unknown feature foo"),
        ("feature-dependencies --feature share.version=9", "share.version has no level 9, only 0 to 2"),
        ("feature-dependencies --feature share.version", "write name=level"),
        ("feature-dependencies --feature share.version=-1", "write name=level"),
        ("feature-dependencies --feature metadata.version=99", "metadata.version has no level 99"),
        ("feature-dependencies", "--feature"),
    ],
)
def test_wrong_words(words: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["storage", *words.split()]) == 2
    assert says in capsys.readouterr().err
