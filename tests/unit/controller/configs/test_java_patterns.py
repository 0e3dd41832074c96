"""Java's regular expressions: the texts that Java 17 accepted as one, and those that it rejected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.controller.configs.java_regex import is_java_pattern

TAKEN = (
    r"\p{Alpha}+",
    r"\pL\P{IsLatin}\p{gc=Lu}\p{javaLowerCase}\p{IsAlphabetic}",
    "(?<n>a)\\k<n>",
    r"\Qa.b(\E+",
    r"\Qunclosed[",
    r"a\Q1\E\Q)\E",
    r"\h\R\X\v\b{g}\b",
    "]}a",
    "{2}",
    "^*$+",
    "a{2}{3}a*{2}",
    "a{0,2147483647}",
    "a??b*+c{1,2}?",
    "[]a][^]a][a-z&&[^b]][a[b]][-a][a-]",
    r"[\w-z][\d&&1][&a&&b]",
    "(?i)a(?x) # a comment\n(?-x:b)(?)",
    "(?=a*)(?!a)(?>a*)(?<=a{1,3})(?<!ab|c)",
    r"\x41\x{10FFFF}\u0041\ud800\udc00\07\377\cA",
    r"\9(a)\1",
    "a||",
    "(a|b)?" * 333,
    "|".join(["c42"] * 1_000),
    "a" * 10_000,
    "[" + "a" * 998 + "]",
    "",
    "\0é\U0001f600",
)
REFUSED = (
    "a(?#c)",
    "[[:alpha:]",
    "{",
    "a{x",
    "a{,2}",
    "a{3,2}",
    "a{2147483648}",
    "a**",
    "*",
    "(?i)*",
    "(",
    ")",
    "(a",
    "(?P<n>a)",
    "(?a)a",
    "(?<n>a)(?<n>b)",
    "(?<1>a)",
    r"\k<n>",
    r"\kn",
    "[",
    "[]",
    "[a",
    "[b-a]",
    r"[a-\d]",
    r"[\b]",
    "[&&]",
    "[a-",
    "\\",
    "\\y",
    r"\p{Greek}",
    r"\p{sc=Nobody}",
    r"\p{L",
    r"\p{}",
    r"\x4",
    r"\x{110000}",
    r"\u004",
    r"\8a\08",
    r"\c",
    r"\N{NOBODY}",
    r"\b{x}a{",
    "(?<=(ab|c)*)",
    "(?<=(a|b){2})",
)


@pytest.mark.parametrize("pattern", TAKEN)
def test_what_java_takes(pattern: str) -> None:
    assert is_java_pattern(pattern)


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_java_refuses(pattern: str) -> None:
    assert not is_java_pattern(pattern)


@pytest.mark.parametrize("opening", ["(", "[", "(?:a|", "[a&&[", r"\Q\E(", "(?<=", "(?x)("])
def test_what_is_nested_deeply_is_refused(opening: str) -> None:
    assert not is_java_pattern(opening * 10_000)


@given(st.text(alphabet="()[]{}|*+?^$\\.-&,:=!<>QEpPxukN019anLU# \0", max_size=30))
def test_whatever_the_text_nothing_is_raised(text: str) -> None:
    is_java_pattern(text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?<=a*b)",
        "(?<=(ab){2})",
        r"\p{IsGothic}",
        r"\p{InGreek}",
        r"\N{LATIN SMALL LETTER A}",
        "(a)" * 501,
        "a?" * 1_001,
        r"\d" * 1_001,
        ".*" * 9_000,
        "(?:a{2})" * 501,
        "[" + "é" * 1_001 + "]",
        "a|" * 1_000 + "a",
    ],
)
def test_what_java_takes_and_is_refused_here(pattern: str) -> None:
    assert not is_java_pattern(pattern)
