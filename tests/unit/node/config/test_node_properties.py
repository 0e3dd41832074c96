from __future__ import annotations

from pathlib import Path

import pytest

from quorum.node.config.properties import PropertiesError, parse_properties, read_properties


def test_reads_what_java_reads() -> None:
    text = """
    # a comment
    ! another
    node.id=1
    a : b
    c d e
    empty=
    lone
    path=/var/lib/x=y:z   \n    long=one,\\
        two
    escaped\\=key=tab\\tend\\u0041
    """
    assert parse_properties(text).values == {
        "node.id": "1",
        "a": "b",
        "c": "d e",
        "empty": "",
        "lone": "",
        "path": "/var/lib/x=y:z",
        "long": "one,two",
        "escaped=key": "tab\tendA",
    }


def test_a_comment_sign_inside_a_value_is_part_of_it() -> None:
    assert parse_properties("a=b#c!d").values == {"a": "b#c!d"}


def test_the_last_value_of_a_key_counts_and_both_lines_are_named() -> None:
    found = parse_properties("node.id=1\n\nnode.id=2")
    assert found.values == {"node.id": "2"}
    assert found.warnings == ("line 3: node.id replaces the value of line 1: remove one of the two",)


def test_a_line_without_a_key_has_the_empty_key() -> None:
    assert parse_properties("a=1\n=5").values == {"a": "1", "": "5"}


def test_a_broken_escape_is_refused_by_line() -> None:
    with pytest.raises(PropertiesError, match=r"x\.properties, line 2: \\u needs four hexadecimal digits"):
        parse_properties("a=1\nb=\\u004", source="x.properties")


def test_bytes_are_characters_of_iso_8859_1(tmp_path: Path) -> None:
    path = tmp_path / "x.properties"
    path.write_bytes(b"a=caf\xe9\nb=\\u20ac\n")
    assert read_properties(path).values == {"a": "caf\xe9", "b": "\u20ac"}
    assert read_properties(path).warnings == ()
    path.write_bytes("a=1\nb=caf\xe9\n".encode())
    assert read_properties(path).values == {"a": "1", "b": "caf\xc3\xa9"}
    (warning,) = read_properties(path).warnings
    assert warning.startswith("line 2: it has characters in UTF-8, but Java reads each byte as a character")
    path.write_bytes("\ufeffnode.id=1\n".encode())
    assert read_properties(path).values == {"\xef\xbb\xbfnode.id": "1"}
    assert "byte order mark" in read_properties(path).warnings[0]


@pytest.mark.parametrize("odd", ["\x0b", "\x1c", "\x85", "\xa0", "\u2028"])
def test_what_java_takes_for_no_white_space_ends_no_line_and_no_key(odd: str) -> None:
    assert parse_properties(f"a{odd}b=c{odd}d=e\r\nf=g\rh=i").values == {f"a{odd}b": f"c{odd}d=e", "f": "g", "h": "i"}
