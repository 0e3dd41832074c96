"""Counts and ranges in the singular and the plural."""

from __future__ import annotations

from metadata_log.counts import counted, counted_are, counted_do, lines_follow, offsets_are
from metadata_log.tools.dump.course import Flaw


def test_one_is_singular() -> None:
    assert [counted(number, "record") for number in (0, 1, 2)] == ["0 records", "1 record", "2 records"]
    assert (counted(2, "batch"), counted(2, "directory")) == ("2 batches", "2 directories")
    assert (counted_are(1, "byte"), counted_are(2, "byte")) == ("1 byte is", "2 bytes are")
    assert (counted_do(1, "record"), counted_do(2, "record")) == ("1 record does", "2 records do")
    assert (lines_follow(1), lines_follow(0)) == ("1 line follows", "0 lines follow")


def test_a_range_of_one_offset_is_that_offset() -> None:
    assert (offsets_are(5, 5), offsets_are(5, 9)) == ("offset 5 is", "offsets 5 to 9 are")


def test_a_dump_names_one_missing_offset_in_the_singular() -> None:
    flaw = Flaw(position=7, size=1, what="wrong", first_offset=5, end_offset=6)
    assert str(flaw) == "position 7: 1 byte skipped: wrong; offset 5 is missing"
