"""`kraft storage format --feature`: takes and refuses what Kafka's own tool takes and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.format_cases import CASES, FormatCase, properties_of, way_of

CLUSTER = "TmV3bHlNYWRlQ2x1c3Rlcg"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_feature_is_taken_or_refused_as_by_kafka(
    case: FormatCase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, config = tmp_path / "data", tmp_path / "node.properties"
    config.write_text(properties_of(case, str(data), is_ours=True))
    status = run(["storage", "format", "-c", str(config), "-t", CLUSTER, *way_of(case), *case.arguments])
    said = capsys.readouterr()
    assert (status, data.exists()) == ((0, True) if case.is_taken else (2, False)), said.err
    assert said.err.startswith("kraft: ") != case.is_taken


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-f", "foo=0"), "--feature foo=0: Kafka 4.4 has no such feature, only eligible.leader.replicas.version, "),
        (("-f", "group.version=99"), "--feature group.version=99: there is no such level, only 0 to 1"),
        (
            ("-r", "4.0-IV0", "-f", "eligible.leader.replicas.version=1"),
            "--feature eligible.leader.replicas.version=1: it needs metadata.version 4.0-IV1, and 4.0-IV0 is lower",
        ),
        (
            ("-r", "4.4", "-f", "metadata.version=30"),
            "--release-version 4.4 and --feature metadata.version=30: give one of them",
        ),
        (("-f", "group.version"), "--feature 'group.version' is not NAME=LEVEL: LEVEL is a number up to 32767"),
    ],
)
def test_a_refusal_says_why(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = FormatCase("standalone", arguments, is_taken=False)
    config = tmp_path / "node.properties"
    config.write_text(properties_of(case, str(tmp_path / "data"), is_ours=True))
    assert run(["storage", "format", "-c", str(config), "-t", CLUSTER, *way_of(case), *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"kraft: {sentence}")
