r"""The names in `\p{...}` of Java's regular expressions.

The tables are those of CharPredicates in Java 17, with the most frequent scripts and without blocks: a client's pattern
hardly uses the other names.
"""

from __future__ import annotations

from typing import Final

_CATEGORIES: Final = frozenset(
    [
        "Cn",
        "Lu",
        "Ll",
        "Lt",
        "Lm",
        "Lo",
        "Mn",
        "Me",
        "Mc",
        "Nd",
        "Nl",
        "No",
        "Zs",
        "Zl",
        "Zp",
        "Cc",
        "Cf",
        "Co",
        "Cs",
        "Pd",
        "Ps",
        "Pe",
        "Pc",
        "Po",
        "Sm",
        "Sc",
        "Sk",
        "So",
        "Pi",
        "Pf",
        "L",
        "M",
        "N",
        "Z",
        "C",
        "P",
        "S",
        "LC",
        "LD",
        "L1",
        "all",
    ]
)
_OF_JAVA: Final = frozenset(
    [
        "ASCII",
        "Alnum",
        "Alpha",
        "Blank",
        "Cntrl",
        "Digit",
        "Graph",
        "Lower",
        "Print",
        "Punct",
        "Space",
        "Upper",
        "XDigit",
        "javaLowerCase",
        "javaUpperCase",
        "javaAlphabetic",
        "javaIdeographic",
        "javaTitleCase",
        "javaDigit",
        "javaDefined",
        "javaLetter",
        "javaLetterOrDigit",
        "javaJavaIdentifierStart",
        "javaJavaIdentifierPart",
        "javaUnicodeIdentifierStart",
        "javaUnicodeIdentifierPart",
        "javaIdentifierIgnorable",
        "javaSpaceChar",
        "javaWhitespace",
        "javaISOControl",
        "javaMirrored",
    ]
)
_PROPERTIES: Final = frozenset(
    [
        "ALPHABETIC",
        "ASSIGNED",
        "CONTROL",
        "HEXDIGIT",
        "HEX_DIGIT",
        "IDEOGRAPHIC",
        "JOINCONTROL",
        "JOIN_CONTROL",
        "LETTER",
        "LOWERCASE",
        "NONCHARACTERCODEPOINT",
        "NONCHARACTER_CODE_POINT",
        "TITLECASE",
        "PUNCTUATION",
        "UPPERCASE",
        "WHITESPACE",
        "WHITE_SPACE",
        "WORD",
    ]
)
_SCRIPTS: Final = frozenset(
    [
        "COMMON",
        "INHERITED",
        "LATIN",
        "GREEK",
        "CYRILLIC",
        "ARMENIAN",
        "HEBREW",
        "ARABIC",
        "DEVANAGARI",
        "BENGALI",
        "TAMIL",
        "TELUGU",
        "THAI",
        "GEORGIAN",
        "HANGUL",
        "HIRAGANA",
        "KATAKANA",
        "HAN",
        "LATN",
        "GREK",
        "CYRL",
        "ARMN",
        "HEBR",
        "ARAB",
        "DEVA",
        "BENG",
        "TAML",
        "TELU",
        "GEOR",
        "HANG",
        "HIRA",
        "KANA",
        "HANI",
        "ZYYY",
        "ZINH",
    ]
)
_POSIX: Final = frozenset(
    ["ALPHA", "LOWER", "UPPER", "SPACE", "PUNCT", "XDIGIT", "ALNUM", "CNTRL", "DIGIT", "BLANK", "GRAPH", "PRINT"]
)


def is_property(name: str, *, is_unicode: bool) -> bool:
    r"""Return True if `\p{name}` is valid. With `(?U)`, some names are valid in any case."""
    key, equals, value = name.partition("=")
    if equals:
        key = key.lower()
        if key in {"gc", "general_category"}:
            return value in _CATEGORIES or value in _OF_JAVA
        return key in {"sc", "script"} and value.upper() in _SCRIPTS
    if name.startswith("Is"):
        short = name[2:]
        return short in _CATEGORIES or short in _OF_JAVA or short.upper() in _PROPERTIES or short.upper() in _SCRIPTS
    return name in _CATEGORIES or name in _OF_JAVA or (is_unicode and name.upper() in _POSIX)
