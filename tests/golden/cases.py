"""A golden's case: one command line, named, and the scene that several cases share.

Decides: which cases `make test` compares. Must not know: any one case.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

_SHARE: Final = 20
"""One lot of so many is compared by `make test`, all by `make campaign`."""
DAMAGE_NAMES: Final = "damage/"
"""The beginning of the names of the cases of planted damage; `damage/`, the damage, and after a dot what is asked."""
NEWER_NAMES_PREFIX: Final = "newer/"
"""The beginning of the names of the cases of logs of a later release."""
RANDOM_PORT: Final = 29901
"""The port of a controller that a command makes, which gives it a random directory id."""
_UNSTEADY: Final = {
    rf"(?<=127\.0\.0\.1:{RANDOM_PORT}:)[A-Za-z0-9_-]{{22}}": "a-random-directory-id-",
    r"(?m)^(?:WARNING: |  )/\S+ belongs to user .*\n": "",
    r'(?:, )?"/[^"\s]+ belongs to user [^"]*"': "",
}
"""Texts that differ between two runs of `from-broker`, with a replacement for each.

They are the new directory's id, and a sentence on its owner, who is the user that runs it."""

APPLIED_COMMAND: Final = "recover-apply"
"""The archive of repairs that are applied, at the machine's time and by its user."""
_UNSTEADY_APPLIED: Final = {
    r"\d{8}T\d{6}\.\d{3}Z-([a-z-]+)-[0-9a-f]{8}": r"TIME-\1-DIRECTORY",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z": "TIME",
    r'"at_ms": \d+': '"at_ms": 0',
    r"\b[0-9a-f]{64}\b": "SHA-256",
    r"(by |\")golden@[\w.-]+": r"\1golden@HOST",
}
_NEW_DIRECTORY: Final = r'(?<="directory_id": ")[A-Za-z0-9_-]{22}'


@dataclass(frozen=True)
class Case:
    """One command line. `command` names its archive, `name` the text in it.

    A word may have a place for what a scene finds out, `{offset}` say. Cases of one `lot` are compared together.
    """

    command: str
    name: str
    words: tuple[str, ...]
    lot: str = ""

    @property
    def key(self) -> str:
        """Its name among all cases."""
        return f"{self.command}/{self.name}"

    @property
    def is_shared(self) -> bool:
        """True if `make test` compares it: a fixed share, by the hash of its name.

        The cases of one damage are drawn together, so that no damage is planted for one of its commands alone.
        """
        is_planted = self.name.startswith((DAMAGE_NAMES, NEWER_NAMES_PREFIX))
        damage = self.name.partition(".")[0] if is_planted else ""
        return zlib.crc32((self.lot or damage or self.key).encode()) % _SHARE == 0

    def words_for(self, values: Mapping[str, str]) -> list[str]:
        """Return its words with the scene's values in them."""
        return [word.format(**values) if "{" in word else word for word in self.words]

    @property
    def unsteady(self) -> Mapping[str, str]:
        """Texts in its output that differ between two runs, as regular expressions, with a replacement for each."""
        if self.command == APPLIED_COMMAND:
            made = {_NEW_DIRECTORY: "a-random-directory-id-"} if self.name.startswith("from-broker") else {}
            return {**_UNSTEADY, **_UNSTEADY_APPLIED, **made}
        return _UNSTEADY if "from-broker" in self.command else {}


@dataclass(frozen=True)
class Scene:
    """Directories that several cases look at.

    `prepare` is given all clusters, to be read alone, and an empty directory. It returns the working directory of the
    commands, and the values for the places in their words.
    """

    name: str
    cases: Sequence[Case]
    prepare: Callable[[Path, Path], tuple[Path, Mapping[str, str]]]

    @property
    def share(self) -> Scene:
        """The same with those cases alone that `make test` compares."""
        return replace(self, cases=[case for case in self.cases if case.is_shared])


def in_clusters(clusters: Path, place: Path) -> tuple[Path, Mapping[str, str]]:
    """Prepare nothing: the commands look at the clusters as they are."""
    return clusters, {}


def in_forms(command: str, name: str, words: Sequence[str], *forms: str) -> Iterator[Case]:
    """Yield the case as text, and in each of these forms; in JSON if none is given."""
    yield Case(command, f"{name}.text", tuple(words))
    for form in forms or ("json",):
        yield Case(command, f"{name}.{form}", (*words, "-o", form))
