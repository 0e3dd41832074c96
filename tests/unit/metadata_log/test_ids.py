"""Ids: which random bytes may become one."""

from __future__ import annotations

import pytest

from metadata_log.ids import METADATA_TOPIC_ID, ZERO_TOPIC_ID, id_text, is_assignable


@pytest.mark.parametrize("first", range(256))
def test_no_new_id_reads_as_an_option(first: int) -> None:
    value = bytes([first]) + b"\x5a" * 15
    assert is_assignable(value) is not id_text(value).startswith("-")


def test_no_new_id_is_a_reserved_one() -> None:
    assert not is_assignable(ZERO_TOPIC_ID)
    assert not is_assignable(METADATA_TOPIC_ID)
    assert not is_assignable((99).to_bytes(16, "big"))
    assert is_assignable((100).to_bytes(16, "big"))
