"""The news of a verdict in one sentence: which replica, what, and at which offset.

Decides: which finding is the news, and its sentence. Must not know: the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metadata_log.analysis.report.groups import names_of
from metadata_log.analysis.report.verdict import Difference, ReplicaSummary, Verdict
from metadata_log.tools.findings.finding import KINDS, Finding, Severity
from metadata_log.tools.words import capital, count_of

_DIFFERENCE: Final = ("log_mismatch", "committed_prefix_differs")
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def headline(verdict: Verdict) -> str:
    """Return the news, without a full stop: the gravest finding, or that there are no errors."""
    gravest = _gravest(verdict)
    news = _clean(verdict) if gravest is None else _bad(verdict, gravest)
    return capital(news)


def in_words(count: int) -> str:
    """Return a number as a word, up to ten."""
    return _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"


def difference_in_news(verdict: Verdict) -> Difference | None:
    """Return the difference that is the news, or None if the news is something else."""
    gravest = _gravest(verdict)
    if gravest is None or gravest.kind not in _DIFFERENCE:
        return None
    return next((each for each in verdict.differences if each.offset == gravest.offset), None)


def _gravest(verdict: Verdict) -> Finding | None:
    """Return the finding that is the news: the first error; a difference between replicas precedes others."""
    counted = [finding for finding in verdict.findings if finding.counts]
    errors = [finding for finding in counted if finding.severity is Severity.ERROR] or counted
    return next((finding for finding in errors if finding.kind in _DIFFERENCE), errors[0] if errors else None)


def _bad(verdict: Verdict, first: Finding) -> str:
    counted = [finding for finding in verdict.findings if finding.counts]
    same = [finding for finding in counted if (finding.kind, finding.offset) == (first.kind, first.offset)]
    difference = difference_in_news(verdict)
    replicas = list(dict.fromkeys(map(verdict.label_of, same)))
    news = _news(first, replicas) if difference is None else _difference(verdict, difference, replicas)
    left = len(counted) - len(same)
    return f"{news}, and {count_of(left, 'more finding')}" if left else news


def _difference(verdict: Verdict, difference: Difference, accused: Sequence[str]) -> str:
    others = [label for side in difference.sides for label in side.replicas if label not in accused]
    where = f"at offset {difference.offset:,}"
    if not others:
        sides = [names_of(side.replicas) for side in difference.sides]
        named = f"{', '.join(sides[:-1])} and {sides[-1]}"
        return f"{named} differ {where}, and nothing says which is right"
    if len(others) > 1 and len(others) + len(accused) == len(verdict.replicas):
        rest = f"the other {in_words(len(others))}"
    else:
        rest = names_of(others)
    return f"{names_of(accused)} {'differs' if len(accused) == 1 else 'differ'} from {rest} {where}"


def _news(finding: Finding, replicas: Sequence[str]) -> str:
    text = f"{names_of(replicas)}: {KINDS[finding.kind].title}"
    return text if finding.offset is None else f"{text}, at offset {finding.offset:,}"


def _clean(verdict: Verdict) -> str:
    tails = [finding for finding in verdict.findings if finding.kind == "uncommitted_tail"]
    apart = set(map(verdict.label_of, tails))
    agreeing = [replica for replica in verdict.replicas if replica.label not in apart and replica.end_offset > 0]
    parts = [_agreement(agreeing)]
    if tails:
        parts.append(f"{names_of(sorted(apart))} {'has' if len(apart) == 1 else 'have'} an uncommitted tail")
        if len({finding.offset for finding in tails}) == 1 and tails[0].offset is not None:
            parts[-1] += f" from offset {tails[0].offset:,}"
    absent = [verdict.label_of(finding) for finding in verdict.findings if finding.kind == "voter_absent"]
    if absent:
        parts.append(f"{names_of(absent)} {'is' if len(absent) == 1 else 'are'} not here")
    return "; ".join(parts)


def _agreement(replicas: Sequence[ReplicaSummary]) -> str:
    """Return the offset up to which these replicas agree: below it, no two of them hold different batches."""
    if not replicas:
        return "the logs are empty"
    end = min(replica.end_offset for replica in replicas)
    if len(replicas) == 1:
        return f"no errors in the log of {replicas[0].label}, up to offset {end:,}"
    if max(replica.start_offset for replica in replicas) >= end:
        return f"no errors in {in_words(len(replicas))} logs, which share no offset"
    return f"{in_words(len(replicas))} replicas agree up to offset {end:,}"
