"""Lines of Java's properties: what is continued, escaped or a comment. Each row was read by Java 17."""

from __future__ import annotations

import pytest

from metadata_log.java_properties import MalformedEscapeError, properties_in


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=one\\\n   two", {"a": "onetwo"}),
        ("a=one\\\r\n\ttwo\\\rthree\nb=4", {"a": "onetwothree", "b": "4"}),
        ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
        ("a=one\\\n\nb=2", {"a": "one", "b": "2"}),
        ("a=one\\\n#two", {"a": "one#two"}),
        ("\\\n#one\na=2", {"a": "2"}),
        ("# one\\\na=2", {"a": "2"}),
        ("cluster\\\n .id=c", {"cluster.id": "c"}),
        ("a=one\\", {"a": "one"}),
        ("a b c", {"a": "b c"}),
        ("a", {"a": ""}),
        ("a\\=b : c ", {"a=b": "c "}),
        ("a=\\uD835\\uDD4F\\u0041\\n", {"a": "\U0001d54fA\n"}),
    ],
)
def test_a_line_is_read_as_java_reads_it(text: str, pairs: dict[str, str]) -> None:
    assert {found.key: found.value for found in properties_in(text)} == pairs


def test_the_line_of_a_property_is_its_first() -> None:
    assert [found.line for found in properties_in("\\\n\n#\na=1\\\n2\nb=3")] == [4, 6]


@pytest.mark.parametrize("text", ["a=\\u12", "b=1\n\\uxyza=2"])
def test_a_broken_escape_is_refused(text: str) -> None:
    with pytest.raises(MalformedEscapeError, match=rf"line {text.count(chr(10)) + 1}: \\u needs"):
        list(properties_in(text))
