from __future__ import annotations

import pytest

from quorum.node.config.properties import PropertiesError, parse_properties


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
    assert parse_properties(text) == {
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
    assert parse_properties("a=b#c!d") == {"a": "b#c!d"}


def test_a_key_that_stands_twice_is_refused_with_both_lines() -> None:
    with pytest.raises(PropertiesError, match=r"x\.properties, line 3: node\.id stands in line 1 already"):
        parse_properties("node.id=1\n\nnode.id=2", source="x.properties")


def test_a_line_without_a_key_is_refused_by_number() -> None:
    with pytest.raises(PropertiesError, match=r"line 2: '=5' has no key"):
        parse_properties("a=1\n=5")


@pytest.mark.parametrize("odd", ["\x0b", "\x1c", "\x85", "\xa0", "\u2028"])
def test_what_java_takes_for_no_white_space_ends_no_line_and_no_key(odd: str) -> None:
    assert parse_properties(f"a{odd}b=c{odd}d=e\r\nf=g\rh=i") == {f"a{odd}b": f"c{odd}d=e", "f": "g", "h": "i"}
