"""An error shows of a long value only the beginning, and how long it is."""

from __future__ import annotations

import pytest

from metadata_log.directory.meta_properties import parse_meta_properties
from metadata_log.errors import CorruptFileError
from metadata_log.ids import InvalidIdError, parse_id
from metadata_log.quoting import quoted

_LONG = "9" * 6_000


def test_a_short_value_is_shown_whole() -> None:
    assert quoted("x") == "'x'"
    assert quoted(7) == "7"


@pytest.mark.parametrize("key", ["version", "node.id", "directory.id"])
def test_a_long_value_of_meta_properties_is_cut(key: str) -> None:
    lines = {"version": "1", "node.id": "1", "cluster.id": "c", "directory.id": "AAAAAAAAAAAAAAAAAAAAAA", key: _LONG}
    data = "".join(f"{name}={value}\n" for name, value in lines.items()).encode()
    with pytest.raises(CorruptFileError) as error:
        parse_meta_properties(data, "meta.properties")
    assert len(str(error.value)) < 250
    assert "(6000 characters)" in str(error.value)


def test_a_long_id_is_cut() -> None:
    with pytest.raises(InvalidIdError, match=r"^'9{40}'\.\.\. \(6000 characters\) is not an id: it has 6000"):
        parse_id(_LONG)
