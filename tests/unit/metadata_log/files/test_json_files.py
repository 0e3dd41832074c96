"""JSON of damaged files: one error, whatever is wrong."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.files.json_files import decode_json


class Note(msgspec.Struct, frozen=True):
    text: str
    number: int = 0


def test_what_is_whole_is_read() -> None:
    assert decode_json(b'{"text":"a","number":3}', Note) == Note(text="a", number=3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"text":"\xff"}', "a string in it is no text"),
        (b'{"text":"a","more":' + b"[" * 100_000, "nested too deep"),
        (b'{"text":"a","number":' + b"9" * 5_000 + b"}", "out of range"),
        (b'{"text":', "truncated"),
        (b"[]", "Expected `object`"),
    ],
    ids=["no text", "nested", "a long number", "cut", "another kind"],
)
def test_whatever_is_wrong_is_one_error(data: bytes, said: str) -> None:
    with pytest.raises(msgspec.DecodeError, match=said):
        decode_json(data, Note)
