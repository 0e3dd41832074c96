"""The verdicts of Kafka's readers on small files: a Java program beside its jars reads a folder of them.

Must not know: which files these are.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.kafka.jars import NEWEST, class_path, kafka_jars


def both_verdicts(
    program: str, written: Mapping[str, bytes], folder: Path, reads: Callable[[bytes], str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the verdicts of Kafka's reader and our reader, by the files' names.

    Args:
        program: a Java source file beside this module, which prints a name and a verdict in each line.
        written: the files, which are made in `folder`.
        reads: returns our verdict, in the program's words.
    """
    for name, data in written.items():
        (folder / name).write_bytes(data)
    words = ["java", "-cp", class_path(kafka_jars(NEWEST)), str(Path(__file__).parent / program), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    theirs = dict(line.split(" ") for line in done.stdout.splitlines())
    ours = {name: reads(data) for name, data in written.items()}
    assert theirs.keys() == ours.keys()
    return theirs, ours
