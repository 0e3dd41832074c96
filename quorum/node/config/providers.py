"""References in the values of a configuration, `${provider:path:key}`, as Kafka's config providers resolve them.

Decides: the values that Kafka's providers of environment variables, files and directories return. A reference stays
unresolved if its provider is another one, or lacks the value. Must not know: which keys there are.

Sources: KIP-297, KIP-421, KIP-887; `AllowedPaths` in KIP-993.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from metadata_log.java_properties import MalformedEscapeError, properties_in
from quorum.node.config.kafka_table import is_password

PROVIDERS: Final = "config.providers"
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_REFERENCE: Final = re.compile(r"\$\{([^}:]*+):(([^}:]*+):)?([^}]*+)\}")
"""The provider, the path with its colon, the path, and the key.

It matches the same texts as Kafka's pattern, whose time grows with the third power of a value's length.
"""

Provider = Callable[[str, str], str | None]
"""Returns the value of a path and a key, or None without a value; raises `ProviderError`."""


class ProviderError(ValueError):
    """A provider's configuration is wrong, or it cannot read the source of a reference."""


class NotAllowedError(ProviderError):
    """The provider's configuration does not allow this reference. The message names the configuration key."""


def is_provider_key(name: str) -> bool:
    """Return True if the key configures providers."""
    return name == PROVIDERS or name.startswith(f"{PROVIDERS}.")


class Resolved(NamedTuple):
    """The values of a configuration with their references resolved."""

    values: dict[str, str]
    errors: dict[str, str]
    """By key: the reason why a reference was not resolved, or why its provider is not usable. The value is left out."""
    warnings: list[str]
    """Warnings about references that stay unresolved."""


class _Kept(NamedTuple):
    """A reference that stays unresolved, and the reason."""

    why: str
    is_warned_of: bool = False
    """True if a warning about its provider covers this reference."""


def resolved(values: Mapping[str, str]) -> Resolved:
    """Resolve the references in all values."""
    found = Resolved(dict(values), {}, list(_unknown_providers(values)))
    providers = _providers(values, found.errors)
    names = frozenset(values.get(PROVIDERS, "").split(","))
    for key, value in values.items():
        missing: dict[str, _Kept] = {}
        try:
            found.values[key] = _REFERENCE.sub(partial(_looked_up, providers, names, missing), value)
        except ProviderError as error:
            found.errors[key] = str(error)
            continue
        if missing and is_password(key):
            found.errors[key] = "; ".join(f"{each} stays as it is: {kept.why}" for each, kept in missing.items())
            continue
        more = {each: kept for each, kept in missing.items() if not kept.is_warned_of}
        found.warnings.extend(f"{key}: {each} stays as it is: {kept.why}" for each, kept in more.items())
    return found


def _unknown_providers(values: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each provider whose references stay unresolved."""
    for name in filter(None, values.get(PROVIDERS, "").split(",")):
        key = f"{PROVIDERS}.{name}.class"
        if values.get(key, "").removeprefix(_PACKAGE) not in _KINDS:
            yield (
                f"{key}={values.get(key, '')}: references ${{{name}:...}} stay as they are, because only Kafka's "
                f"{', '.join(_KINDS)} are known here"
            )


def _looked_up(
    providers: Mapping[str, Provider], names: Collection[str], missing: dict[str, _Kept], reference: re.Match[str]
) -> str:
    """Return the text of a reference; if it stays unresolved, add the reason to `missing`.

    `names`: all configured providers, including those of unknown classes.
    """
    if reference[1] not in providers:
        missing[reference[0]] = (
            _Kept("the class of its provider is not known here", is_warned_of=True)
            if reference[1] in names
            else _Kept(f"{PROVIDERS} has no provider {reference[1]}")
        )
        return reference[0]
    try:
        value = providers[reference[1]](reference[3] or "", reference[4])
    except NotAllowedError as error:
        missing[reference[0]] = _Kept(str(error))
        return reference[0]
    if value is None:
        missing[reference[0]] = _Kept("its provider has no such value")
        return reference[0]
    return value


def _providers(values: Mapping[str, str], errors: dict[str, str]) -> dict[str, Provider]:
    """Return the configured providers of known classes, by name; add the error of an unusable one to `errors`."""
    found: dict[str, Provider] = {}
    for name in values.get(PROVIDERS, "").split(","):
        kind = values.get(f"{PROVIDERS}.{name}.class", "").removeprefix(_PACKAGE)
        if kind not in _KINDS:
            continue
        make, option = _KINDS[kind]
        key = f"{PROVIDERS}.{name}.param.{option}"
        try:
            found[name] = make(values.get(key, ""))
        except ProviderError as error:
            errors[key] = str(error)
    return found


def _of_environment(allowed: str) -> Provider:
    """Return a provider of environment variables whose whole name matches the pattern of `allowlist.pattern`."""
    from quorum.controller.configs.java_regex import is_java_pattern  # noqa: PLC0415  (only where it is configured)

    if allowed and not is_java_pattern(allowed):
        raise ProviderError("it is no regular expression of Java: correct it")
    try:
        pattern = re.compile(allowed or ".*")
    except re.error as error:
        raise ProviderError(f"it is no regular expression here ({error}): write a simpler one") from error

    def look_up(path: str, key: str) -> str | None:
        if path:
            raise ProviderError(f"the provider of environment variables takes no path, but {path!r} is one: remove it")
        if not _can_name(key):
            return None
        if not pattern.fullmatch(key):
            raise NotAllowedError("allowlist.pattern of its provider does not allow the variable")
        return os.environ.get(key)

    return look_up


def _of_files(allowed: str) -> Provider:
    """Return a provider of the properties in files, which are in UTF-8."""
    within = _within(allowed)
    read: dict[Path, dict[str, str]] = {}

    def look_up(path: str, key: str) -> str | None:
        at = within(path)
        if at is None:
            return None
        if at not in read:
            try:
                read[at] = {one.key: one.value for one in properties_in(_text_of(at))}
            except MalformedEscapeError as error:
                raise ProviderError(f"{at}, {error}") from error
        return read[at].get(key)

    return look_up


def _of_directories(allowed: str) -> Provider:
    """Return a provider of whole files: the path is their directory, and the key their name."""
    within = _within(allowed)

    def look_up(path: str, key: str) -> str | None:
        at = within(path)
        if at is None or not os.path.isdir(at) or "/" in key or key in {"", ".", ".."}:
            return None
        file = at / key
        return _text_of(file) if os.path.isfile(file) else None

    return look_up


_KINDS: Final[Mapping[str, tuple[Callable[[str], Provider], str]]] = {
    "EnvVarConfigProvider": (_of_environment, "allowlist.pattern"),
    "FileConfigProvider": (_of_files, "allowed.paths"),
    "DirectoryConfigProvider": (_of_directories, "allowed.paths"),
}
"""By Kafka's class: the function that makes the provider, and the parameter that restricts it."""


def _within(allowed: str) -> Callable[[str], Path | None]:
    """Return a function that checks and returns a path, or None if it is empty.

    If `allowed` restricts the paths, the function also returns None for a path that does not exist, and raises for one
    outside.
    """
    roots = [_normal(root) for root in allowed.split(",")] if allowed else []
    for root in roots:
        if not root.is_absolute():
            raise ProviderError(f"{root} is not an absolute path: write it from / on")
        if not os.path.exists(root):
            raise ProviderError(f"{root} does not exist: make it, or correct the path")

    def place(path: str) -> Path | None:
        if not path or not _can_name(path):
            return None
        normal = _normal(path)
        if not roots:
            return Path(path)
        if not any(normal.is_relative_to(root) for root in roots):
            raise NotAllowedError("allowed.paths of its provider does not allow the path")
        return Path(normal) if os.path.exists(normal) else None

    return place


def _can_name(text: str) -> bool:
    """Return False for a text that cannot name a file or variable: it has half a surrogate pair or the character
    NUL."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _normal(path: str) -> PurePosixPath:
    """Return the path without `.` and `..`. Only its text counts; links are not followed."""
    return PurePosixPath(os.path.normpath(path))


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise ProviderError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ProviderError(f"{path}: byte {error.start} is not of a text in UTF-8: write the file so") from error
