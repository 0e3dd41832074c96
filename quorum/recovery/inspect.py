"""Looking at copies: what `kraft recover inspect` says, and what every repair begins with.

Decides: nothing; it reads, compares and plans. Must not know: how it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.files import Files
from quorum.recovery.copies import Copy, read_copy
from quorum.recovery.errors import RefusedError
from quorum.recovery.places import find_place
from quorum.recovery.plan import Plan, make_plan
from quorum.recovery.survey import Survey, survey


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """What is there, and what to do."""

    survey: Survey
    plan: Plan


def read_copies(files: Files, paths: Sequence[str]) -> list[Copy]:
    """The copies at these paths, each once.

    Raises:
        RefusedError: one is none.
        OSError: one cannot be read.
    """
    places = {}
    for path in paths:
        place = find_place(files, path)
        if place.metadata in places:
            raise RefusedError(f"{place.log_dir} is named twice: name each copy once")
        places[place.metadata] = place
    return [read_copy(files, place) for place in places.values()]


def inspect_copies(files: Files, paths: Sequence[str]) -> Inspection:
    """Read and compare them.

    Raises:
        RefusedError: one is no copy, or they are of several clusters.
        OSError: one cannot be read.
    """
    known = survey(read_copies(files, paths))
    return Inspection(survey=known, plan=make_plan(files, known))
