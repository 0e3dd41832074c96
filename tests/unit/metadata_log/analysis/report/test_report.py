"""The page and the tables: they say the verdict in words, need nothing else, and trust no text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import msgspec
import pytest
from rich.console import Console

from metadata_log.analysis import CHECKS, KINDS, Finding, Severity, Verdict, finding_rows, replica_rows
from metadata_log.analysis.findings import NOT_JUDGED
from metadata_log.analysis.report.page import render
from metadata_log.analysis.report.terminal import render_verdict
from metadata_log.analysis.report.verdict import LeaderEpoch, Progress, ReplicaSummary

EVIL = "<script>alert('x')</script>"
VOID = {"meta"}


def epoch(number: int, start: int, end: int) -> LeaderEpoch:
    return LeaderEpoch(
        epoch=number,
        leader_id=number % 3 + 1,
        start_offset=start,
        end_offset=end,
        first_ms=1_795_000_000_000 + start * 1000,
        last_ms=1_795_000_000_000 + end * 1000,
    )


def summary(node_id: int) -> ReplicaSummary:
    epochs = (epoch(1, 0, 60), epoch(3, 60, 100))
    return ReplicaSummary(
        label=f"node {node_id}",
        node_id=node_id,
        directory_id="",
        path=f"/data/{EVIL}/{node_id}",
        is_voter=node_id < 4,
        start_offset=0,
        end_offset=100,
        last_epoch=3,
        snapshot_end=40,
        high_watermark=None,
        batches=50,
        records=100,
        size_in_bytes=7000,
        epochs=epochs,
        progress=tuple(
            Progress(at_ms=1_795_000_000_000 + offset * 1000, end_offset=offset, epoch=1) for offset in range(1, 101, 9)
        ),
    )


def finding(kind: str, severity: Severity, offset: int | None) -> Finding:
    return Finding(
        kind=kind,
        severity=severity,
        node_id=2,
        replica="node 2",
        file="00000000000000000000.log",
        offset=offset,
        epoch=1,
        meaning=f"topic {EVIL!r} is given an id",
        advice=KINDS[kind].advice,
    )


@pytest.fixture
def clean() -> Verdict:
    epochs = (epoch(1, 0, 60), epoch(3, 60, 100))
    return Verdict(
        cluster_id="cluster-a",
        replicas=tuple(summary(node_id) for node_id in (1, 2, 3, 4, 5, 6, 7)),
        voters=(1, 2, 3),
        lower=95,
        upper=98,
        because="a majority holds it",
        epochs=epochs,
        records_by_type=(("Partition", 60), ("Topic", 40)),
        findings=(),
        elapsed_s=9.5,
        java="Java 17",
    )


@pytest.fixture
def dirty(clean: Verdict) -> Verdict:
    findings = (finding("log_mismatch", Severity.ERROR, 42), finding("file_changed", Severity.WARNING, None))
    return msgspec.structs.replace(clean, findings=findings)


class Balanced(HTMLParser):
    """Fails where an element is closed that is not the one that is open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def text_of(page: str) -> str:
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return " ".join(parser.text)


def test_a_clean_page_says_so_in_words(clean: Verdict) -> None:
    text = text_of(render(clean))
    assert "No errors, no warnings" in text
    assert "Clean" not in text
    assert f"None of the {CHECKS} checks found anything wrong" in text
    assert "Every record below offset 95 was committed: a majority holds it" in text
    assert "Up to 98, records may have been" in text


def test_a_note_and_the_verdict_do_not_contradict_each_other(clean: Verdict) -> None:
    verdict = msgspec.structs.replace(clean, findings=(finding("voter_absent", Severity.NOTE, None),))

    assert "nothing found" not in verdict.sentence
    assert verdict.sentence.startswith("No errors, no warnings, 1 note: ")
    assert verdict.exit_status == 0


def test_kinds_that_only_check_judges_are_named_so_that_nothing_is_called_clean(clean: Verdict) -> None:
    page = text_of(render(clean))

    assert {"isr_outside_replicas", "quorum_state_behind", "partition_missing"} <= set(NOT_JUDGED)
    assert not {"voter_absent", "corrupt_batch", "topic_id_null", "newer_release"} & set(NOT_JUDGED)
    for text in (clean.not_judged, page):
        assert f"not judged: {', '.join(NOT_JUDGED)}" in text.replace("Not judged", "not judged")
        assert "Clean" not in text


def test_a_clean_verdict_names_what_was_not_judged(clean: Verdict) -> None:
    meaning = "written by a release after 4.4; not judged: metadata.version 35"
    note = Finding(
        kind="newer_release",
        severity=Severity.NOTE,
        node_id=1,
        replica="node 1",
        file=None,
        offset=7,
        epoch=1,
        meaning=meaning,
        advice=KINDS["newer_release"].advice,
    )
    verdict = msgspec.structs.replace(clean, findings=(note,))

    assert verdict.exit_status == 0
    assert verdict.sentence.endswith(f"{CHECKS} checks; {meaning}.")
    assert meaning in text_of(render(verdict))


def test_findings_stand_with_replica_offset_and_advice(dirty: Verdict) -> None:
    text = text_of(render(dirty))
    assert "Not clean" in text
    assert "1 error and 1 warning in 7 logs of cluster cluster-a" in text
    assert "offset 42" in text
    assert KINDS["log_mismatch"].advice in text


def test_nothing_from_a_log_becomes_markup(dirty: Verdict) -> None:
    page = render(dirty)
    assert EVIL not in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_page_loads_nothing(dirty: Verdict) -> None:
    page = render(dirty)
    assert not re.search(r"https?://|\bsrc=|<link|@import|url\(", page)
    assert page.count("<!doctype html>") == 1


def test_every_plot_has_a_name_for_those_who_do_not_see_it(dirty: Verdict) -> None:
    page = render(dirty)
    plots = re.findall(r'<svg [^>]*role="img"[^>]*>', page)
    assert len(plots) > 10
    assert all('aria-label="' in plot for plot in plots)


def test_an_epoch_that_lasted_a_millisecond_is_seen(clean: Verdict) -> None:
    brief = msgspec.structs.replace(
        epoch(2, 60, 61), first_ms=1_795_000_000_000 + 60_000, last_ms=1_795_000_000_000 + 60_001
    )
    last = msgspec.structs.replace(epoch(3, 61, 100), first_ms=brief.first_ms + 1)
    page = render(msgspec.structs.replace(clean, epochs=(epoch(1, 0, 60), brief, last)))
    bands = re.findall(r'<rect class="band[^"]*" x="[\d.]+%" y="0" width="([\d.]+)%"[^>]*><title>epoch 2', page)
    assert len(bands) == 2  # in the plot of offsets and in that of epochs
    assert all(float(width) >= 0.5 for width in bands)


def test_neighbouring_epochs_are_told_apart_also_with_a_brief_one_between(clean: Verdict) -> None:
    start = 1_795_000_000_000
    epochs = tuple(
        msgspec.structs.replace(epoch(number, 0, 1), first_ms=start + at_ms, last_ms=start + at_ms)
        for number, at_ms in ((1, 0), (2, 50_000), (3, 50_001))
    )
    page = render(msgspec.structs.replace(clean, epochs=epochs))
    shades = dict(re.findall(r'<rect class="(band[^"]*)"[^>]*><title>epoch (\d)', page)[::-1])
    assert shades == {"band": "1", "band brief": "2", "band clear": "3"}


def test_an_empty_log_makes_a_page(clean: Verdict) -> None:
    empty = msgspec.structs.replace(
        clean.replicas[0], start_offset=0, end_offset=0, last_epoch=-1, snapshot_end=0, epochs=(), progress=()
    )
    page = render(msgspec.structs.replace(clean, replicas=(empty,), epochs=(), records_by_type=(), lower=0, upper=None))
    assert "holds no batch that could be drawn" not in page
    assert "hold no batch that could be drawn" in text_of(page)


def test_exit_status_and_rows(clean: Verdict, dirty: Verdict) -> None:
    note = msgspec.structs.replace(clean, findings=(finding("uncommitted_tail", Severity.NOTE, 99),))
    assert [verdict.exit_status for verdict in (clean, note, dirty)] == [0, 0, 1]
    assert [row["kind"] for row in finding_rows(dirty)] == ["log_mismatch", "file_changed"]
    assert [row["role"] for row in replica_rows(clean)] == ["voter"] * 3 + ["observer"] * 4


def test_the_terminal_shows_text_as_text(dirty: Verdict) -> None:
    console = Console(width=140, record=True, file=None, force_terminal=False, quiet=False)
    with console.capture() as captured:
        console.print(render_verdict(msgspec.structs.replace(dirty, cluster_id="[red]x[/red]")))
    shown = captured.get()
    assert "[red]x[/red]" in shown
    assert "log_mismatch" in shown
    assert "42" in shown
