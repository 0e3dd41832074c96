"""The advice and the table below `kraft analyze` say which replica and file they mean."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.analysis import Verdict
from metadata_log.analysis.report.terminal import render_verdict
from metadata_log.tools.findings.finding import Finding, finding
from quorum.cli.analyze import advice_lines
from quorum.cli.output import plain_lines

_META = "meta.properties"


def _verdict(*findings: Finding) -> Verdict:
    return Verdict(
        cluster_id="c", paths=(), replicas=(), voters=(1, 2, 3), lower=9, upper=9, because="it is so", epochs=(),
        records_by_type=(), findings=findings, not_judged=(), elapsed_s=1.0, java="",
    )  # fmt: skip


def _twin(directory: str, advice: str) -> Finding:
    return finding("duplicate_directory_id", "m", node_id=1, file=f"/{directory}/{_META}", advice=advice)


def test_each_advice_of_a_kind_that_has_several_names_whom_it_is_for() -> None:
    verdict = _verdict(_twin("a", "keep it"), _twin("b", "move it away"), _twin("c", "move it away"))
    assert advice_lines(verdict) == [
        f"What to do about duplicate_directory_id (node 1, /a/{_META}): keep it.",
        f"What to do about duplicate_directory_id (node 1, /b/{_META}; node 1, /c/{_META}): move it away.",
    ]


def test_one_advice_for_all_names_no_place() -> None:
    verdict = _verdict(_twin("a", "keep it"), _twin("b", "keep it"))
    assert advice_lines(verdict) == ["What to do about duplicate_directory_id: keep it."]


def test_of_many_places_some_are_named() -> None:
    first, last = advice_lines(_verdict(_twin("z", "keep it"), *(_twin(str(number), "move") for number in range(7))))
    assert first.endswith("(node 1, /z/meta.properties): keep it.")
    assert f"/4/{_META}; and 2 more): move." in last


@pytest.mark.parametrize(
    ("file", "offset", "said"),
    [("7.checkpoint", 3, "7.checkpoint: m"), ("7.log", 3, "  m"), ("7.log", None, "7.log: m")],
)
def test_the_table_names_a_file_that_is_no_segment(file: str, offset: int | None, said: str) -> None:
    found = finding("corrupt_batch", "m", node_id=1, file=f"/a/{file}", offset=offset)
    lines = plain_lines(render_verdict(msgspec.structs.replace(_verdict(), findings=(found,))))
    assert next(line for line in lines if "corrupt_batch" in line).endswith(said)


def test_the_table_names_no_log_directory_before_the_sentence() -> None:
    found = finding("not_formatted", "/n/data has no meta.properties", file="/n/data")
    verdict = msgspec.structs.replace(_verdict(), findings=(found,), paths=("/n", "/n/data"))
    [line] = [line for line in plain_lines(render_verdict(verdict)) if "not_formatted" in line]
    assert line.endswith("  /n/data has no meta.properties")
