"""An option that takes one value, given twice, is wrong use: only the last would count, and nothing would say so."""

from __future__ import annotations

import pytest

from quorum.cli.main import run


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("topics create --bootstrap-controller h:1 --topic aa1 --topic aa2", "--topic is given 2 times"),
        ("topics create --bootstrap-controller h:1 --topic=aa1 --topic aa1", "--topic is given 2 times"),
        ("quorum describe --bootstrap-controller h:1 --bootstrap-controller h:2", "--bootstrap-controller is given"),
        ("quorum remove-controller -i 1 --controller-id 2 -i 3", "--controller-id is given 3 times"),
        ("quorum unregister-controller -i 1 --id 2", "--controller-id is given 2 times"),
        ("features upgrade --release-version 4.3 --release-version 4.4", "--release-version is given 2 times"),
    ],
)
def test_it_is_refused(words: str, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words.split()) == 2
    said = capsys.readouterr().err
    assert named in said
    assert "and takes one value" in said


@pytest.mark.parametrize(
    "words", ["topics delete --topic a --topic b", "topics create --topic a --config x=1 --config y=2"]
)
def test_one_that_takes_several_may_be_repeated(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), "--bootstrap-controller", "127.0.0.1:1", "--timeout", "0.2"]) == 1
    assert "takes one value" not in capsys.readouterr().err


def test_a_flag_may_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "describe", "--status", "--status", "--bootstrap-controller", "127.0.0.1:1"]) == 1
    assert "takes one value" not in capsys.readouterr().err
