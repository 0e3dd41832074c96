"""The verdict as one HTML page that needs nothing else: text, tables and SVG in one file.

Decides: what stands where on the page. Must not know: how anything was found. Everything that comes from logs, paths
or names is escaped: a topic may be called anything.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from metadata_log.analysis.findings import CHECKS, KINDS, Finding
from metadata_log.analysis.report.charts import bars, lanes, legend, progress_chart
from metadata_log.analysis.report.verdict import Verdict
from metadata_log.tools.new_files import naming, new_file, writing_to

_STYLE: Final = Path(__file__).with_name("report.css")
_FINDINGS_SHOWN: Final = 200
_TICK: Final = (
    '<path d="M12 23l8 8 13-16" fill="none" stroke="currentColor" stroke-width="4.5" stroke-linecap="round"/>'
)
_CROSS: Final = '<path d="M15 15l15 15M30 15l-15 15" fill="none" stroke="currentColor" stroke-width="4.5"/>'


def write_report(verdict: Verdict, path: Path) -> None:
    """Write the page, replacing one that is there.

    Raises:
        TargetError: this user may not write there.
        OSError: it cannot be written.
    """
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    with naming(path, hidden=beside, is_target=True), new_file(beside, named=path) as file:
        file.write(render(verdict).encode())
    beside.replace(path)


def render(verdict: Verdict) -> str:
    """The whole page."""
    word = "no errors" if verdict.is_clean else "not clean"
    body = "".join(
        (
            "<h1>Metadata log analysis</h1>",
            _banner(verdict),
            _tiles(verdict),
            _findings(verdict),
            _by_offset(verdict),
            _over_time(verdict),
            _by_type(verdict),
            _checks(verdict),
            _replicas(verdict),
            _footer(verdict),
        )
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(verdict.cluster_id)}: {word}, metadata log analysis</title>"
        f"<style>{_STYLE.read_text(encoding='utf-8')}</style></head><body><main>{body}</main></body></html>\n"
    )


def _banner(verdict: Verdict) -> str:
    kind, icon = ("clean", _TICK) if verdict.is_clean else ("dirty", _CROSS)
    head, _, rest = verdict.sentence.partition(": ")
    colour = "var(--good)" if verdict.is_clean else "var(--bad)"
    return (
        f'<div class="verdict {kind}" role="status"><svg aria-hidden="true" viewBox="0 0 45 45" style="color:{colour}">'
        f'<circle cx="22.5" cy="22.5" r="20.5" fill="none" stroke="currentColor" stroke-width="3"/>{icon}</svg>'
        f"<strong>{escape(head)}</strong><span>{escape(rest[:1].upper() + rest[1:])}</span></div>"
    )


def _tiles(verdict: Verdict) -> str:
    leading = max(verdict.replicas, key=lambda replica: (replica.last_epoch, replica.end_offset))
    committed = f"{verdict.lower:,}"
    if verdict.upper != verdict.lower:
        committed += f"&ndash;{verdict.upper:,}" if verdict.upper is not None else " or more"
    tiles = (
        ("replicas", f"{len(verdict.replicas)}"),
        ("log end offset", f"{leading.end_offset:,}"),
        ("committed to offset", committed),
        ("epochs in the log", f"{len(verdict.epochs):,}"),
        ("records read", f"{sum(replica.records for replica in verdict.replicas):,}"),
        ("took", f"{verdict.elapsed_s:.1f} s"),
    )
    return f'<dl class="tiles">{"".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in tiles)}</dl>'


def _findings(verdict: Verdict) -> str:
    shown = verdict.findings[:_FINDINGS_SHOWN]
    more = len(verdict.findings) - len(shown)
    if verdict.is_clean:
        intro = f"None of the {CHECKS} checks found anything wrong, in any of the logs or between them." + (
            " What follows are notes." if shown else ""
        )
    else:
        intro = "The gravest first. Look at a replica's files before anything is restarted or repaired."
    intro += f" {escape(_sentence(verdict.not_judged))}"
    rest = f'<p class="lead">… and {more:,} more.</p>' if more > 0 else ""
    return f'<section><h2>Findings</h2><p class="lead">{intro}</p>{"".join(map(_finding, shown))}{rest}</section>'


def _finding(finding: Finding) -> str:
    where = [escape(finding.replica)]
    if finding.file is not None:
        where.append(f"<code>{escape(finding.file)}</code>")
    if finding.offset is not None:
        where.append(f"offset {finding.offset:,}")
    if finding.epoch is not None:
        where.append(f"epoch {finding.epoch}")
    return (
        f'<article class="finding"><span class="pill {finding.severity}">{finding.severity}</span><div>'
        f'<h3>{escape(finding.title)}</h3><div class="where">{" · ".join(where)}</div>'
        f"<p>{escape(_sentence(finding.meaning))}</p>"
        f'<p class="lead">What to do: {escape(finding.advice)}.</p></div></article>'
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _by_offset(verdict: Verdict) -> str:
    bounds = f"Every record below offset {verdict.lower:,} was committed: {verdict.because} (green line)."
    if verdict.upper is None:
        bounds += " Too few voters' logs are here to say how far it may reach."
    elif verdict.upper > verdict.lower:
        bounds += f" Up to {verdict.upper:,}, records may have been (dashed line)."
    return (
        "<section><h2>Each replica's log</h2>"
        f'<p class="lead">By offset. Shades change with the epoch. {escape(bounds)} '
        "Triangles above are checkpoints, coloured ones below are findings.</p>"
        f"{lanes(verdict)}</section>"
    )


def _over_time(verdict: Verdict) -> str:
    offsets = progress_chart(
        verdict, lambda point: point.end_offset, height=240, what="Log end offset", label_epochs=True
    )
    epochs = progress_chart(verdict, lambda point: point.epoch, height=90, what="Epoch", label_epochs=False)
    return (
        "<section><h2>Over time</h2>"
        '<p class="lead">By the time that leaders wrote into their batches. Lines of equal logs lie on each other, the '
        "first the widest.</p>"
        f"{legend(verdict.replicas)}"
        f'<p class="caption">Log end offset</p>{offsets}<p class="caption">Epoch</p>{epochs}</section>'
    )


def _by_type(verdict: Verdict) -> str:
    content = bars(verdict.records_by_type) if verdict.records_by_type else '<p class="lead">No records.</p>'
    return (
        '<section><h2>Records by type</h2><p class="lead">In the segments of the most advanced log.</p>'
        f"{content}</section>"
    )


def _checks(verdict: Verdict) -> str:
    counted = [(kind, verdict.count_of(kind.name)) for kind in list(KINDS.values())[:CHECKS]]
    found = [(kind.title, count) for kind, count in counted if count]
    passed = [kind for kind, count in counted if not count]
    plot = bars(found, bad=True) if found else ""
    items = "".join(f"<li>{escape(kind.title)}{_outcome(verdict, kind.name)}</li>" for kind in passed)
    intro = f"{len(passed)} of {len(counted)} checks found nothing wrong."
    return (
        f'<section><h2>Findings by check</h2><p class="lead">{intro}</p>{plot}<ul class="checks">{items}</ul></section>'
    )


def _outcome(verdict: Verdict, kind: str) -> str:
    notes = sum(finding.kind == kind for finding in verdict.findings)
    if notes:
        return f'<span class="pill note">{notes} note{"s" if notes > 1 else ""}</span>'
    return '<span class="pill ok">nothing</span>'


def _replicas(verdict: Verdict) -> str:
    heads = (
        "Replica", "Role", "LogStartOffset", "LogEndOffset", "LastEpoch", "Checkpoint", "HighWatermark", "Batches",
        "Records", "Bytes",
    )  # fmt: skip
    rows = "".join(
        "<tr>"
        + _cells(
            [
                (replica.label, False),
                ("voter" if replica.is_voter else "observer", False),
                *(
                    (_number(value), True)
                    for value in (
                        replica.start_offset,
                        replica.end_offset,
                        replica.last_epoch,
                        replica.snapshot_end or None,
                        replica.high_watermark,
                        replica.batches,
                        replica.records,
                        replica.size_in_bytes,
                    )
                ),
            ]
        )
        + f'<td class="path"><code>{escape(replica.path)}</code></td></tr>'
        for replica in verdict.replicas
    )
    cells = "".join(f'<th scope="col"{_numeric(i > 1)}>{head}</th>' for i, head in enumerate(heads))
    return (
        '<section><h2>Replicas</h2><div class="scroll" tabindex="0" role="region" aria-label="Replicas"><table><thead>'
        f'<tr>{cells}<th scope="col">Files</th></tr></thead><tbody>{rows}</tbody></table></div></section>'
    )


def _cells(cells: Sequence[tuple[str, bool]]) -> str:
    return "".join(f"<td{_numeric(numeric)}>{escape(text)}</td>" for text, numeric in cells)


def _numeric(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _footer(verdict: Verdict) -> str:
    voters = ", ".join(map(str, verdict.voters)) or "not named in any log"
    return (
        f"<footer>Cluster <code>{escape(verdict.cluster_id)}</code>. Voters: {voters}. Spark ran on "
        f"{escape(verdict.java)}. Offsets are exclusive at their end; times are UTC.</footer>"
    )
