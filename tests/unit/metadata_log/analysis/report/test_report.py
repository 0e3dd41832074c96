"""The page and the tables: they say the verdict in words, need nothing else, and trust no text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import msgspec
import pytest
from rich.console import Console

from metadata_log.analysis import Verdict
from metadata_log.analysis.log_course import Progress
from metadata_log.analysis.report.page import render
from metadata_log.analysis.report.terminal import render_verdict
from metadata_log.analysis.report.verdict import (
    Difference,
    Event,
    EventKind,
    LeaderEpoch,
    ReplicaSummary,
    Side,
    with_marks,
)
from metadata_log.tools.check.scope import NotJudged
from metadata_log.tools.findings.finding import KINDS, Finding, Severity
from metadata_log.tools.replicas.record_differences import FieldDifference, RecordDifference

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
        file=f"/data/{EVIL}/2/00000000000000000000.log",
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
        paths=(),
        replicas=tuple(summary(node_id) for node_id in (1, 2, 3, 4, 5, 6, 7)),
        voters=(1, 2, 3),
        lower=95,
        upper=98,
        because="a majority holds it",
        epochs=epochs,
        records_by_type=(("Partition", 60), ("Topic", 40)),
        findings=(),
        not_judged=(),
        elapsed_s=9.5,
        java="Java 17 (/opt/java/bin/java on the PATH)",
        made_ms=1_795_800_000_000,
        made_by="kraft 9.8.7",
    )


@pytest.fixture
def dirty(clean: Verdict) -> Verdict:
    findings = (finding("log_mismatch", Severity.ERROR, 42), finding("file_changed", Severity.WARNING, None))
    return msgspec.structs.replace(clean, findings=findings)


@pytest.fixture
def planted(clean: Verdict) -> Verdict:
    """Node 1 of five has another name in one record."""
    name = FieldDifference(name="name", values=('"paymants"', '"payments"'))
    difference = Difference(
        offset=23,
        batches=1,
        at_ms=1_795_000_023_000,
        sides=(
            Side(replicas=("node 1",), epoch=1, is_majority=False),
            Side(replicas=("node 2", "node 3", "node 4", "node 5"), epoch=1, is_majority=True),
        ),
        records=(RecordDifference(offset=23, type="TopicRecord", fields=(name,)),),
    )
    found = msgspec.structs.replace(finding("log_mismatch", Severity.ERROR, 23), node_id=1, file=None)
    return msgspec.structs.replace(
        clean, replicas=clean.replicas[:5], findings=(found,), differences=(difference,), voters=(1, 2, 3)
    )


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
    assert "Seven replicas agree up to offset 100" in text
    assert "No errors, no warnings" in text
    assert f"{len(KINDS)} of {len(KINDS)} kinds of findings were judged and not found" in text
    assert f"{len(KINDS)} kinds of findings, offsets 0 to 100, committed up to 95" in text
    assert "Every record below offset 95 was committed: a majority holds it" in text
    assert "Up to 98, records may have been" in text


def test_the_headline_is_the_news_and_the_page_shows_what_differs(planted: Verdict) -> None:
    page = render(planted)

    assert "<h1>Node 1 differs from the other four at offset 23</h1>" in page
    assert "<title>Node 1 differs from the other four at offset 23: " in page
    change = re.search(r'<p class="change">(.*?)</p>', page)
    assert change is not None
    assert text_of(change[1]).replace(" ", "") == "TopicRecord,name:payments→paymants"
    assert "<mark>e</mark>" in change[1]
    assert "<mark>a</mark>" in change[1]
    section = page[page.index('<section id="differences">') : page.index("<section><h2>Findings</h2>")]
    assert text_of(section).index("nodes 2 to 5 (majority)") < text_of(section).index("node 1")


def test_the_field_in_the_banner_is_of_the_difference_in_the_headline(planted: Verdict) -> None:
    (mismatch,) = planted.differences
    name = FieldDifference(name="name", values=('"lost"', '"kept"'))
    record = RecordDifference(offset=7, type="TopicRecord", fields=(name,))
    tail = msgspec.structs.replace(mismatch, offset=7, records=(record,))
    note = msgspec.structs.replace(finding("uncommitted_tail", Severity.NOTE, 7), node_id=1, file=None)
    both = msgspec.structs.replace(planted, differences=(tail, mismatch), findings=(*planted.findings, note))
    only_tail = msgspec.structs.replace(planted, differences=(tail,), findings=(note,))

    assert "paym<mark>e</mark>nts" in render(both).split("</div>")[0]
    assert 'class="change"' not in render(only_tail)
    assert "kept" in render(only_tail)


def test_equal_replicas_share_a_line_and_one_that_differs_has_its_own(planted: Verdict, clean: Verdict) -> None:
    def lines(verdict: Verdict) -> list[str]:
        return re.findall(r'<g data-group="\d+"><title>(.*?): up to offset', render(verdict))

    assert lines(clean) == ["nodes 1 to 7"]
    assert lines(planted) == ["nodes 2 to 5", "node 1: differs at offset 23"]
    behind = msgspec.structs.replace(clean.replicas[6], end_offset=90)
    assert lines(msgspec.structs.replace(clean, replicas=(*clean.replicas[:6], behind))) == ["nodes 1 to 6", "node 7"]


def test_passed_checks_are_folded(planted: Verdict) -> None:
    page = render(planted)
    passed = page[page.index('<details id="passed">') : page.index("<footer>")]
    assert f"{len(KINDS) - 1} of {len(KINDS)} kinds of findings were judged and not found" in passed
    assert "Bytes that are no sound batch" in passed
    assert "Other bytes at the same offset" not in passed
    assert "<details open" not in page
    assert "Bytes that are no sound batch" not in page.replace(passed, "")


def test_the_page_names_no_absolute_path(planted: Verdict) -> None:
    copies = [
        msgspec.structs.replace(
            replica, path=f"/srv/secret/exports/copy-{number}", label=f"node 1 (/srv/secret/exports/copy-{number})"
        )
        for number, replica in enumerate(planted.replicas)
    ]
    meaning = "/srv/secret/exports/copy-1 holds a metadata log and no manifest.json, /srv/secret/exports nothing"
    file = "/srv/secret/exports/copy-1/00000000000000000000.log"
    found = msgspec.structs.replace(planted.findings[0], file=file, meaning=meaning)
    paths = ("/srv/secret/exports", *(copy.path for copy in copies))
    verdict = msgspec.structs.replace(planted, replicas=tuple(copies), paths=paths, findings=(found,), differences=())
    page = render(verdict)

    assert "/srv" not in page
    assert "/opt/java" not in page
    assert "node 1 (copy-1)" in page
    assert "Copy-1 holds a metadata log and no manifest.json, exports nothing" in page


def test_the_page_says_when_and_by_which_version_it_was_made(clean: Verdict) -> None:
    assert "Metadata log of cluster cluster-a, made 27 Nov 2026, 17:20 UTC by kraft 9.8.7" in text_of(render(clean))


def test_events_are_on_the_axis_with_the_date(clean: Verdict) -> None:
    created = Event(at_ms=1_795_000_005_000, kind=EventKind.CREATED, text=f"topic {EVIL} is created", count=3, offset=5)
    verdict = with_marks(msgspec.structs.replace(clean, events=(created,)), [(1_795_000_050_000, f"SIGKILL {EVIL}")])
    page = render(verdict)

    text = text_of(page)
    assert "3 created" in text
    assert f"SIGKILL {EVIL}"[:20] in text
    assert "node 2 leads, epoch 1" in text
    assert "18 Nov 2026" in text
    assert EVIL not in page
    assert page.index('class="flag"') > page.index('class="leads"')


def test_a_mark_outside_of_the_log_is_not_put_on_its_axis(clean: Verdict) -> None:
    page = render(with_marks(clean, [(1, "the year 1970"), (1_900_000_000_000, "much later")]))
    assert 'class="flag"' not in page
    assert "Marked before the first batch, 1970-01-01T00:00:00.001Z: the year 1970." in text_of(page)
    assert "Marked after the last batch, 2030-03-17T17:46:40.000Z: much later." in text_of(page)


def test_a_log_without_times_is_shown_by_offset(clean: Verdict) -> None:
    epochs = tuple(msgspec.structs.replace(each, first_ms=-1, last_ms=-1) for each in clean.epochs)
    replicas = tuple(msgspec.structs.replace(each, progress=(), epochs=epochs) for each in clean.replicas)
    text = text_of(render(msgspec.structs.replace(clean, replicas=replicas, epochs=epochs)))
    assert "no batch with a time" in text
    assert "1969" not in text
    assert "1970" not in text


def test_a_note_and_the_verdict_do_not_contradict_each_other(clean: Verdict) -> None:
    verdict = msgspec.structs.replace(clean, findings=(finding("voter_absent", Severity.NOTE, None),))

    assert "nothing found" not in verdict.sentence
    assert verdict.sentence.startswith("No errors, no warnings, 1 note: ")
    assert verdict.exit_status == 0


def test_kinds_that_could_not_be_judged_are_named_with_the_reason(clean: Verdict) -> None:
    left = NotJudged(kinds=("quorum_state_behind", "two_votes"), reason="the export of node 1 is without quorum-state")
    verdict = msgspec.structs.replace(clean, not_judged=(left,))
    page = text_of(render(verdict))

    assert f"{len(KINDS) - 2} of {len(KINDS)} kinds of findings, offsets 0 to 100" in verdict.sentence
    assert verdict.not_judged_lines == (
        "Not judged: 2 kinds of findings (the export of node 1 is without quorum-state). -o json lists them.",
    )
    assert "2 kinds of findings could not be judged" in page
    assert "The export of node 1 is without quorum-state." in page
    assert "two_votes" in page
    assert "could not be judged" not in text_of(render(clean))


def test_a_clean_verdict_names_what_was_not_judged(clean: Verdict) -> None:
    meaning = "written by a release after 4.4; not judged: metadata.version 35"
    note = Finding(
        kind="newer_release",
        severity=Severity.NOTE,
        node_id=1,
        offset=7,
        epoch=1,
        meaning=meaning,
        advice=KINDS["newer_release"].advice,
    )
    verdict = msgspec.structs.replace(clean, findings=(note,))

    assert verdict.exit_status == 0
    assert verdict.sentence.endswith(f"committed up to 95; {meaning}.")
    assert meaning in text_of(render(verdict))


def test_findings_stand_with_replica_offset_and_advice(dirty: Verdict) -> None:
    text = text_of(render(dirty))
    assert "Node 2: other bytes at the same offset and epoch, at offset 42, and 1 more finding" in text
    assert "Not clean" in text
    assert "1 error and 1 warning in 7 logs of cluster cluster-a" in text
    assert "offset 42" in text
    assert KINDS["log_mismatch"].advice in text


def test_nothing_from_a_log_becomes_markup(dirty: Verdict) -> None:
    page = render(dirty)
    assert EVIL not in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_name_cannot_turn_or_break_the_text_around_it(clean: Verdict) -> None:
    event = Event(at_ms=1_795_000_005_000, kind=EventKind.CREATED, text="topic a\u202eb\x00c\ud800", offset=5)
    page = render(msgspec.structs.replace(clean, events=(event,)))
    assert "\u202e" not in page
    assert "topic a\\u202eb\\x00c\\ud800" in page


def test_the_page_loads_nothing(dirty: Verdict) -> None:
    page = render(dirty)
    assert not re.search(r"https?://|\bsrc=|<link|@import|url\(", page)
    assert page.count("<!doctype html>") == 1


def test_every_plot_has_a_name_for_those_who_do_not_see_it(dirty: Verdict) -> None:
    page = render(dirty)
    plots = re.findall(r'<svg [^>]*role="img"[^>]*>', page)
    assert len(plots) > 5
    assert all('aria-label="' in plot for plot in plots)


def test_an_epoch_that_lasted_a_millisecond_is_seen(clean: Verdict) -> None:
    brief = msgspec.structs.replace(
        epoch(2, 60, 61), first_ms=1_795_000_000_000 + 60_000, last_ms=1_795_000_000_000 + 60_001
    )
    last = msgspec.structs.replace(epoch(3, 61, 100), first_ms=brief.first_ms + 1)
    page = render(msgspec.structs.replace(clean, epochs=(epoch(1, 0, 60), brief, last)))
    bar = re.search(
        r'<title>epoch 2, [^<]*</title><rect class="leads[^"]*" x="[\d.]+%" y="2.0" width="([\d.]+)%"', page
    )
    assert bar is not None
    assert float(bar[1]) >= 0.5


def test_neighbouring_epochs_have_different_shades(clean: Verdict) -> None:
    page = render(clean)
    shades = re.findall(r'<title>epoch (\d)[^<]*</title><rect class="(leads[^"]*)"', page)
    assert shades == [("1", "leads"), ("3", "leads-b")]


def test_an_empty_log_makes_a_page(clean: Verdict) -> None:
    empty = msgspec.structs.replace(
        clean.replicas[0], start_offset=0, end_offset=0, last_epoch=-1, snapshot_end=0, epochs=(), progress=()
    )
    page = render(msgspec.structs.replace(clean, replicas=(empty,), epochs=(), records_by_type=(), lower=0, upper=None))
    assert "The logs hold no batch with a time that could be drawn" in text_of(page)
    assert "The logs are empty" in text_of(page)


def test_exit_status_and_labels(clean: Verdict, dirty: Verdict) -> None:
    note = msgspec.structs.replace(clean, findings=(finding("uncommitted_tail", Severity.NOTE, 99),))
    assert [verdict.exit_status for verdict in (clean, note, dirty)] == [0, 0, 1]
    assert [dirty.label_of(found) for found in dirty.findings] == ["node 2", "node 2"]


def test_the_terminal_shows_text_as_text(dirty: Verdict) -> None:
    console = Console(width=140, record=True, file=None, force_terminal=False, quiet=False)
    with console.capture() as captured:
        console.print(render_verdict(msgspec.structs.replace(dirty, cluster_id="[red]x[/red]")))
    shown = captured.get()
    assert "[red]x[/red]" in shown
    assert "log_mismatch" in shown
    assert "42" in shown


def test_a_file_and_what_follows_from_a_fault_are_named(clean: Verdict) -> None:
    fault = msgspec.structs.replace(
        finding("unreadable_file", Severity.ERROR, None),
        meaning="it cannot be read",
        consequences=("offsets 3 to 5 are missing",),
    )
    verdict = msgspec.structs.replace(clean, findings=(fault,))
    console = Console(width=140, no_color=True)
    with console.capture() as captured:
        console.print(render_verdict(verdict))
    assert "00000000000000000000.log: it cannot be read" in captured.get()
    assert "So also: offsets 3 to 5 are missing" in captured.get()
    assert "So also: offsets 3 to 5 are missing." in text_of(render(verdict))


def test_no_heading_is_cut_on_a_terminal_of_eighty_columns(clean: Verdict) -> None:
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        console.print(render_verdict(clean))
    shown = captured.get()
    assert "…" not in shown
    assert {"Offset", "Checkpoint", "Records", "Bytes"} <= set(shown.split())


def test_a_terminal_says_how_far_is_committed_and_whether_more_may_be(clean: Verdict) -> None:
    def shown(upper: int | None) -> str:
        console = Console(width=140, no_color=True)
        with console.capture() as captured:
            console.print(render_verdict(msgspec.structs.replace(clean, lower=95, upper=upper)))
        return captured.get()

    assert "Committed up to offset 95, and no record from there on:" in shown(95)
    assert "Committed at least up to offset 95, at most up to 97:" in shown(97)
    assert f"Committed at least up to offset 95: {clean.because}. More may be committed." in shown(None)
