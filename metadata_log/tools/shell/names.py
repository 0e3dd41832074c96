"""The shell's tree of names: Kafka's own paths, and shorter ones to the same things, built on access.

Decides: which paths there are. Must not know: commands, and where the view comes from.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from metadata_log.ids import InvalidIdError, TopicId, id_text, parse_id
from metadata_log.image import TopicImage, TopicsImage
from metadata_log.tools.shell.image_tree import Node, image_tree, topic_node
from metadata_log.tools.shell.view import View
from metadata_log.voters import VoterSet

LOCAL: Final = "local"
_WITH_FIELDS: Final = re.compile(r"(?:Partition|Broker|Controller)Registration\((.*)\)", re.DOTALL)
"""Values that are shown field by field: `name=value`, separated by commas."""


class NoSuchPathError(LookupError):
    """A path leads to nothing; the message says why."""


class LazyDirectory(Mapping[str, Node]):
    """A directory whose names and entries are computed on access."""

    def __init__(self, names: Callable[[], list[str]], entry: Callable[[str], Node | None]) -> None:
        self._names = names
        self._entry = entry

    def __getitem__(self, name: str) -> Node:
        node = self._entry(name)
        if node is None:
            raise KeyError(name)
        return node

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


def shell_tree(view: View, version: str) -> Mapping[str, Node]:
    """Return the root: `/image` and `/local` as in Kafka's shell, `/quorum`, and shortcuts such as `/topics` and
    `/brokers`."""
    topics = _topics(view)
    without_topics = msgspec.structs.replace(view.image, topics=TopicsImage())
    image = dict(image_tree(without_topics)) | {"topics": topics}
    cluster = _directory(image["cluster"])
    return {
        "image": image,
        LOCAL: {"version": version, "commitId": "unknown"},
        "topics": {"by-name": topics["byName"], "by-id": topics["byId"]},
        "brokers": cluster["brokers"],
        "controllers": cluster["controllers"],
        "configs": image["configs"],
        "features": image["features"],
        "quorum": _quorum(view),
    }


def _directory(node: Node) -> Mapping[str, Node]:
    if isinstance(node, str):
        raise NoSuchPathError("a file is no directory")
    return node


def _topics(view: View) -> dict[str, Node]:
    return {
        "byId": LazyDirectory(lambda: [id_text(topic_id) for topic_id in view.topics.values()], _by_id(view)),
        "byName": LazyDirectory(lambda: list(view.topics), lambda name: _shown(view.named(name))),
    }


def _by_id(view: View) -> Callable[[str], Node | None]:
    def entry(name: str) -> Node | None:
        try:
            topic_id = TopicId(parse_id(name))
        except InvalidIdError:
            return None
        return _shown(view.topic(topic_id))

    return entry


def _shown(topic: TopicImage | None) -> Node | None:
    return None if topic is None else topic_node(topic)


def _quorum(view: View) -> dict[str, Node]:
    voters = view.quorum.voters
    members = () if voters is None else VoterSet.from_record(voters, view.quorum.voters_place).voters
    return {
        "kraftVersion": str(view.quorum.kraft_version),
        "voters": {str(voter.key.node_id): str(voter) for voter in members},
    }


def parts_of(path: str, current: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names from the root to `path`. A relative path begins at `current`; `.` and `..` are resolved."""
    names: list[str] = [] if path.startswith("/") else list(current)
    for name in path.split("/"):
        if name == "..":
            names = names[:-1]
        elif name not in ("", "."):
            names.append(name)
    return tuple(names)


def node_at(root: Node, parts: tuple[str, ...]) -> Node:
    """Return the node at a path.

    Raises:
        NoSuchPathError: the path leads to nothing.
    """
    node = root
    for index, name in enumerate(parts):
        if isinstance(node, str):
            raise NoSuchPathError(f"/{'/'.join(parts[:index])} is a file, not a directory")
        if name not in node:
            raise NoSuchPathError(f"there is no {name!r} in /{'/'.join(parts[:index])}")
        node = node[name]
    return node


def paths_below(node: Node, path: str) -> Iterator[str]:
    """Yield `path` and every path below it, sorted by name on each level."""
    yield path
    if not isinstance(node, str):
        for name in sorted(node):
            yield from paths_below(node[name], f"{path.rstrip('/')}/{name}")


def leaves(node: Node, path: str) -> dict[str, str]:
    """Return the text of every file at or below a node, by path."""
    if isinstance(node, str):
        return {path: node}
    found: dict[str, str] = {}
    for name in node:
        found |= leaves(node[name], f"{path.rstrip('/')}/{name}")
    return found


class Turn(enum.StrEnum):
    """The kind of a change at a path."""

    BEGINS = "begins"
    CREATED = "created"
    CHANGED = "changed"
    REMOVED = "removed"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a file before and after; None if the file does not exist then."""

    path: str
    before: str | None
    after: str | None


def changes_between(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the files that differ, by path."""
    return tuple(
        Change(path=path, before=before.get(path), after=after.get(path))
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    )


def changed_lines(changes: Iterable[Change]) -> Iterator[str]:
    """Yield removed texts (-), new texts (+), and the changed fields of values that have fields (*)."""
    for change in changes:
        if change.before is not None and change.after is not None:
            fields = changed_fields(change.before, change.after)
            if fields is not None:
                yield f"* {change.path}: {fields}"
                continue
        if change.before is not None:
            yield f"- {change.path}: {_filled_fields(change.before)}"
        if change.after is not None:
            yield f"+ {change.path}: {_filled_fields(change.after)}"


def changed_fields(before: str, after: str) -> str | None:
    """Return `leader 11→12, isr [11,12]→[12]` for two values such as `PartitionRegistration(...)`.

    None: they have no fields, or not the same ones, or no field differs.
    """
    old, new = _fields(before), _fields(after)
    if old is None or new is None or old.keys() != new.keys():
        return None
    return ", ".join(f"{name} {old[name]}→{new[name]}" for name in old if old[name] != new[name]) or None


def _filled_fields(text: str) -> str:
    """Return the non-empty fields of a value, or the text itself if it has no fields."""
    fields = _fields(text)
    return text if fields is None else ", ".join(f"{name} {value}" for name, value in fields.items() if value != "[]")


def _fields(text: str) -> dict[str, str] | None:
    """Return the fields of `Name(field=value, ...)` in order, or None if the text has another form.

    Commas within brackets or quotes separate no fields.
    """
    form = _WITH_FIELDS.fullmatch(text)
    if form is None:
        return None
    found: dict[str, str] = {}
    for part in _parts(form[1]):
        name, equals, value = part.partition("=")
        if not equals or not name.isidentifier() or name in found:
            return None
        found[name] = value.replace(", ", ",") if value.startswith("[") else value
    return found


def _parts(text: str) -> Iterator[str]:
    depth, start, quoted = 0, 0, False
    for at, letter in enumerate(text):
        if letter == "'":
            quoted = not quoted
        elif not quoted and letter in "([{":
            depth += 1
        elif not quoted and letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0 and not quoted:
            yield text[start:at].strip()
            start = at + 1
    yield text[start:].strip()


def difference(one: View, other: View, version: str) -> tuple[Change, ...]:
    """Return the changes from one view to another, by path. Only topics that differ are expanded."""
    before, after = one.whole.topics.by_id, other.whole.topics.by_id
    sides: list[dict[str, str]] = []
    for view, mine, theirs in ((one, before, after), (other, after, before)):
        root = dict(shell_tree(view, version))
        image = dict(_directory(root["image"]))
        del image["topics"], image["provenance"]
        found = leaves({"image": image, "quorum": root["quorum"]}, "/")
        for topic_id, topic in mine.items():
            if theirs.get(topic_id) != topic:
                found |= leaves(topic_node(topic), f"/image/topics/byId/{id_text(topic_id)} ({topic.name})")
        sides.append(found)
    return changes_between(sides[0], sides[1])
