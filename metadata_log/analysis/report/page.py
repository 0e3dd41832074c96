"""The verdict as one self-contained HTML page: text, tables and SVG in one file.

Decides: the order of the page, and which parts are folded. Must not know: how findings are made. Everything from logs,
paths or names is escaped: a topic may have any name.
"""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Final

from metadata_log.analysis.report.charts import bars, draw_offsets, draw_times, legend
from metadata_log.analysis.report.difference import differences_section, first_change
from metadata_log.analysis.report.groups import groups_of
from metadata_log.analysis.report.headline import headline
from metadata_log.analysis.report.verdict import Verdict, for_other_readers
from metadata_log.tools.findings.finding import KINDS, Finding
from metadata_log.tools.new_files import naming, new_file, writing_to
from metadata_log.tools.pictures.page import Column, html_page, made_line, table
from metadata_log.tools.replicas.committed_bounds import UPPER_UNKNOWN
from metadata_log.tools.times import time_text
from metadata_log.tools.words import capital, count_of

_FINDINGS_SHOWN: Final = 200
_EVENTS_SHOWN: Final = 200
_REPLICA_COLUMNS: Final = (
    Column(name="Replica"),
    Column(name="Role"),
    *(
        Column(name=name, is_number=True)
        for name in ("LogStartOffset", "LogEndOffset", "LastEpoch", "Checkpoint", "HighWatermark", "Records", "Bytes")
    ),
    Column(name="Files", is_text=True),
)
_EVENT_COLUMNS: Final = (Column(name="Time"), Column(name="Offset", is_number=True), Column(name="What", is_text=True))


def write_report(verdict: Verdict, path: Path) -> None:
    """Write the page, and replace an existing one.

    Raises:
        TargetError: this user may not write there.
        OSError: it cannot be written.
    """
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    with naming(path, hidden=beside, is_target=True), new_file(beside, named=path) as file:
        file.write(render(verdict).encode(errors="replace"))  #   # a directory's name may not be UTF-8
    beside.replace(path)


def render(verdict: Verdict) -> str:
    """Return the whole page, without this machine's paths."""
    shown = for_other_readers(verdict)
    news = headline(shown)
    cluster = (
        f"Metadata log of cluster {shown.cluster_id}" if shown.cluster_id else "Metadata log of an unnamed cluster"
    )
    body = (
        made_line(cluster, shown.made_ms, shown.made_by),
        _banner(shown, news),
        differences_section(shown),
        _findings(shown),
        _over_time(shown),
        _by_offset(shown),
        "<section>",
        _folded("Replicas", "replicas", _replicas(shown)),
        _events(shown),
        _folded("Records by type", "types", _by_type(shown)),
        _checks(shown),
        "</section>",
        _footer(shown),
    )
    return html_page(f"{news}: {cluster}", "".join(body))


def _banner(verdict: Verdict, news: str) -> str:
    kind = "clean" if verdict.is_clean else "dirty"
    bounds = f"Every record below offset {verdict.lower:,} was committed: {verdict.because}."
    if verdict.upper is None:
        bounds += f" How far it may reach is not known: {UPPER_UNKNOWN}."
    elif verdict.upper > verdict.lower:
        bounds += f" Up to {verdict.upper:,}, records may have been."
    return (
        f'<div class="verdict {kind}" role="status"><h1>{escape(news)}</h1><p>{escape(verdict.sentence)} '
        f"{escape(bounds)}</p>{first_change(verdict)}</div>"
    )


def _findings(verdict: Verdict) -> str:
    shown = verdict.findings[:_FINDINGS_SHOWN]
    if not shown:
        return ""
    more = len(verdict.findings) - len(shown)
    intro = (
        "Notes: none of them is an error."
        if verdict.is_clean
        else "The gravest first. Look at a replica's files before you restart or repair anything."
    )
    rest = f'<p class="lead">… and {more:,} more.</p>' if more > 0 else ""
    found = "".join(_finding(verdict, finding) for finding in shown)
    return f'<section><h2>Findings</h2><p class="lead">{intro}</p>{found}{rest}</section>'


def _finding(verdict: Verdict, finding: Finding) -> str:
    where = [escape(verdict.label_of(finding))]
    if finding.file is not None and finding.file not in (verdict.label_of(finding), *verdict.paths):
        where.append(f"<code>{escape(Path(finding.file).name)}</code>")
    if finding.offset is not None:
        where.append(f"offset {finding.offset:,}")
    if finding.epoch is not None:
        where.append(f"epoch {finding.epoch}")
    also = "".join(f"<p>So also: {escape(each)}.</p>" for each in finding.consequences or ())
    return (
        f'<article class="finding"><span class="pill {finding.severity}">{finding.severity}</span><div>'
        f'<h3>{escape(capital(KINDS[finding.kind].title))}</h3><div class="where">{" · ".join(where)}</div>'
        f"<p>{escape(_sentence(finding.meaning))}</p>{also}"
        f'<p class="lead">What to do: {escape(finding.advice)}.</p></div></article>'
    )


def _sentence(text: str) -> str:
    return f"{capital(text)}."


def _over_time(verdict: Verdict) -> str:
    groups = groups_of(verdict)
    return (
        '<section><h2>Over time</h2><p class="lead">By the times in the batches, in UTC. '
        "Replicas with equal logs share a line. Topics: green are created, red deleted.</p>"
        f"{legend(groups)}{draw_times(verdict, groups)}</section>"
    )


def _by_offset(verdict: Verdict) -> str:
    bounds = f"Green line: committed up to offset {verdict.lower:,}."
    if verdict.upper is not None and verdict.upper > verdict.lower:
        bounds += f" Dashed line: no record from offset {verdict.upper:,} on was."
    return (
        '<section><h2>By offset</h2><p class="lead">Shades change with the epoch. '
        f"{escape(bounds)} Triangles above are checkpoints, triangles below are findings.</p>"
        f"{draw_offsets(verdict, groups_of(verdict))}</section>"
    )


def _checks(verdict: Verdict) -> str:
    """Return the kinds that were judged and not found, folded, and those that were not judged, with the reasons."""
    passed = [KINDS[name] for name in verdict.judged_kinds if not verdict.count_of(name)]
    items = "".join(f"<li>{escape(capital(kind.title))}{_outcome(verdict, kind.name)}</li>" for kind in passed)
    found = _folded(
        f"{len(passed)} of {len(verdict.judged_kinds)} kinds of findings were judged and not found",
        "passed",
        f'<ul class="checks">{items}</ul>',
    )
    if not verdict.not_judged:
        return found
    reasons = "".join(
        f'<p class="lead">{escape(_sentence(one.reason))}</p>'
        f'<ul class="checks">{"".join(f"<li><code>{escape(kind)}</code></li>" for kind in one.kinds)}</ul>'
        for one in verdict.not_judged
    )
    count = len(KINDS) - len(verdict.judged_kinds)
    return found + _folded(f"{count_of(count, 'kind')} of findings could not be judged", "not-judged", reasons)


def _outcome(verdict: Verdict, kind: str) -> str:
    notes = sum(finding.kind == kind for finding in verdict.findings)
    return (
        f'<span class="pill note">{count_of(notes, "note")}</span>' if notes else '<span class="pill ok">nothing</span>'
    )


def _replicas(verdict: Verdict) -> str:
    rows = (
        [
            escape(replica.label),
            "voter" if replica.is_voter else "observer",
            *(
                _number(value)
                for value in (
                    replica.start_offset,
                    replica.end_offset,
                    replica.last_epoch,
                    replica.snapshot_end or None,
                    replica.high_watermark,
                    replica.records,
                    replica.size_in_bytes,
                )
            ),
            f"<code>{escape(replica.path)}</code>",
        ]
        for replica in verdict.replicas
    )
    return table(_REPLICA_COLUMNS, rows)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _by_type(verdict: Verdict) -> str:
    content = bars(verdict.records_by_type) if verdict.records_by_type else '<p class="lead">No records.</p>'
    return f'<p class="lead">In the segments of the most advanced log.</p>{content}'


def _events(verdict: Verdict) -> str:
    elections = [
        (epoch.first_ms, epoch.start_offset, f"node {epoch.leader_id} leads in epoch {epoch.epoch}")
        for epoch in verdict.epochs
        if epoch.leader_id >= 0
    ]
    others = [(event.at_ms, event.offset, event.text) for event in verdict.events]
    every = sorted([*elections, *others], key=lambda event: event[0])
    rows = ([escape(time_text(at_ms)), _number(offset), escape(text)] for at_ms, offset, text in every[:_EVENTS_SHOWN])
    more = len(every) - _EVENTS_SHOWN
    rest = f'<p class="lead">… and {more:,} more.</p>' if more > 0 else ""
    return _folded(count_of(len(every), "event"), "events", table(_EVENT_COLUMNS, rows) + rest) if every else ""


def _folded(title: str, name: str, content: str) -> str:
    return f'<details id="{name}"><summary><h2>{escape(title)}</h2></summary>{content}</details>'


def _footer(verdict: Verdict) -> str:
    voters = ", ".join(map(str, verdict.voters)) or "not named in any log"
    took = f"The analysis took {verdict.elapsed_s:.1f} s."
    return f"<footer>Voters: {voters}. {escape(took)} Offsets are exclusive at their end; times are UTC.</footer>"
