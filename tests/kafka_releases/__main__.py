"""`python -m tests.kafka_releases OLDER NEWER`: what a release of Kafka changes, and what this project's tables lack.

Ends with 0 if the tables lack nothing, with 1 if they do, and with 2 if a release could not be read.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Callable, Sequence

from tests.kafka_releases.comparison import differences, lacking
from tests.kafka_releases.facts import NotReadError, add_first_support, release_facts
from tests.kafka_releases.left_out import without_left_out
from tests.kafka_releases.ours import our_tables
from tests.kafka_releases.report import Comparison, as_json, as_text
from tests.kafka_releases.schemas import Facts, SchemaError


def _release(text: str) -> str:
    if not re.fullmatch(r"\d+\.\d+\.\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no release such as 4.4.0")
    if int(text.split(".", maxsplit=1)[0]) < 4:
        raise argparse.ArgumentTypeError(f"{text} is too old: this command reads Kafka 4.0 and newer")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.kafka_releases",
        description="Compare two releases of Apache Kafka by their published jars, and the newer one with this "
        "project's tables of records, levels, features, APIs, error codes, configs and tools. "
        "Maven and a JDK are needed.",
        epilog="exit status: 0: the tables lack nothing; 1: they lack something, or have it otherwise; 2: a release "
        "could not be read",
    )
    parser.add_argument("older", type=_release, metavar="OLDER", help="the release that the tables follow, 4.3.0 say")
    parser.add_argument("newer", type=_release, metavar="NEWER", help="the release to follow")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    return parser


def compare(older: str, newer: str, facts_of: Callable[[str], Facts] = release_facts) -> Comparison:
    """Compare two releases, and the newer one with this project's tables.

    Raises:
        NotReadError, SchemaError: a release could not be read.
    """
    before, after = facts_of(older), facts_of(newer)
    add_first_support(before, after)
    rest, left_out = without_left_out(lacking(before, after, our_tables(after)))
    return Comparison(
        older=older,
        newer=newer,
        changes=tuple(differences(before, after)),
        lacking=tuple(rest),
        left_out={row: tuple(explained) for row, explained in left_out.items()},
    )


def main(arguments: Sequence[str], facts_of: Callable[[str], Facts] = release_facts) -> int:
    """Print the comparison; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        found = compare(options.older, options.newer, facts_of)
    except (NotReadError, SchemaError, zipfile.BadZipFile, OSError) as error:
        print(f"kafka_releases: {error}", file=sys.stderr)
        return 2
    print(json.dumps(as_json(found), indent=2) if options.output == "json" else as_text(found))
    return int(bool(found.lacking))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
