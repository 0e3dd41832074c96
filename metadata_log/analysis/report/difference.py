"""The differences between replicas: which fields of which record differ, and on which replicas.

Decides: which part of a value is marked, and which side comes first. Must not know: how differences were found.
"""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from html import escape
from typing import Final

from metadata_log.analysis.report.groups import names_of
from metadata_log.analysis.report.headline import difference_in_news
from metadata_log.analysis.report.verdict import Difference, Verdict
from metadata_log.tools.pictures.page import Column, table
from metadata_log.tools.replicas.record_differences import FieldDifference, RecordDifference
from metadata_log.tools.times import time_text

_SHOWN: Final = 20
_LEAST_ALIKE: Final = 0.5
"""The least similarity for marks within a value; values that are less similar have none."""


def differences_section(verdict: Verdict) -> str:
    """Return the section that shows what differs; empty if nothing does."""
    if not verdict.differences:
        return ""
    shown = verdict.differences[:_SHOWN]
    more = len(verdict.differences) - len(shown)
    rest = f'<p class="lead">… and {more:,} more.</p>' if more else ""
    return f'<section id="differences"><h2>What differs</h2>{"".join(map(_difference, shown))}{rest}</section>'


def first_change(verdict: Verdict) -> str:
    """Return the first field in the news as `payments` → `paymants`: the majority's value, then the other one.

    Return an empty text if the news is no difference, or one with more than two sides, or without a majority.
    """
    difference = difference_in_news(verdict)
    if difference is None or len(difference.sides) != 2 or not any(side.is_majority for side in difference.sides):
        return ""
    record = next((record for record in difference.records if record.type), None)
    if record is None:
        return ""
    before, after = _values(record.fields[0], _majority_first(difference))
    return f'<p class="change">{escape(record.type)}, {escape(record.fields[0].name)}: {before} → {after}</p>'


def _majority_first(difference: Difference) -> list[int]:
    return sorted(range(len(difference.sides)), key=lambda number: not difference.sides[number].is_majority)


def _difference(difference: Difference) -> str:
    times = f", written {time_text(difference.at_ms)}" if difference.at_ms > 0 else ""
    count = f", the first of {difference.batches:,} batches that differ so" if difference.batches > 1 else ""
    lead = f'<p class="where">At offset {difference.offset:,}{escape(times)}{count}</p>'
    if difference.unread:
        return f"{lead}<p>The records on {escape(names_of(difference.unread))} cannot be read.</p>"
    if not difference.records:
        return f"{lead}<p>The batches differ, and the fields of their first records do not.</p>"
    return lead + "".join(_record(difference, record) for record in difference.records)


def _record(difference: Difference, record: RecordDifference) -> str:
    """Return a table with a column for each side, the majority's first."""
    order = _majority_first(difference)
    columns = [Column(name="Field")]
    for number in order:
        side = difference.sides[number]
        majority = " (majority)" if side.is_majority else ""
        columns.append(Column(name=f"{names_of(side.replicas)}{majority}", is_text=True))
    rows = ([escape(field.name), *_values(field, order)] for field in record.fields)
    kind = f"{record.type} at" if record.type else "Records of different types at"
    return f"<h3>{escape(kind)} offset {record.offset:,}</h3>{table(columns, rows)}"


def _values(field: FieldDifference, order: list[int]) -> list[str]:
    """Return the values as HTML. The first one marks what the second lacks, the others what the first lacks."""
    values = [_plain(field.values[number]) for number in order]
    others = [values[1], *[values[0]] * (len(values) - 1)]
    return [f"<code>{_marked(value, other)}</code>" for value, other in zip(values, others, strict=True)]


def _plain(text: str) -> str:
    """Return a text field without its quotes, if it is unambiguous without them."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) and value.isprintable() and value.strip() == value and value else text


def _marked(value: str, other: str) -> str:
    matcher = SequenceMatcher(a=other, b=value, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return escape(value)
    return "".join(
        escape(value[start:end]) if tag == "equal" else f"<mark>{escape(value[start:end])}</mark>"
        for tag, _, _, start, end in matcher.get_opcodes()
        if start < end
    )
