"""Values of a configuration as messages may show them.

Decides: what stays hidden: passwords, PEM text, and resolved values of references such as `${file:...}`. A reference is
shown as it is in the file. Must not know: the problem with a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER
from quorum.node.config.kafka_table import is_password
from quorum.node.config.pem import is_pem
from quorum.node.config.values import PROTOCOLS, hidden_text

HIDDEN: Final = "[hidden]"
_OF_MESSAGES: Final = {"controller", "broker", "HTTP", CONTROLLER_LISTENER, GRPC_LISTENER, *PROTOCOLS}
"""Words of the messages themselves, which disclose no value."""
_QUOTED: Final = frozenset(
    {
        "advertised.listeners",
        "broker.heartbeat.interval.ms",
        "broker.id",
        "broker.session.timeout.ms",
        "controller.listener.names",
        "controller.quorum.voters",
        "inter.controller.listener.name",
        "listener.security.protocol.map",
        "listeners",
        "node.id",
        "process.roles",
    }
)
"""The keys whose parts appear in messages about several keys."""
_SEPARATORS: Final = r"[\s,;@/:=\[\]]"


class Shown:
    """The values of one file."""

    def __init__(self, given: Mapping[str, str], written: Mapping[str, str]) -> None:
        """`written`: the original text of each value in which a reference was resolved."""
        self._given = given
        self._written = written

    def value(self, name: str) -> str:
        """Return the value of a given key, or the text that replaces it."""
        return shown_value(name, self._written.get(name, self._given[name]))

    def pair(self, name: str) -> str:
        """Return `key=value`."""
        return f"{name}={self.value(name)}"

    def wrong(self, name: str, error: ValueError) -> str:
        """Return the problem of a wrong value. `error` may quote a part of the value."""
        is_open = name not in self._written and self.value(name) != HIDDEN
        return f"{self.pair(name)}: {error if is_open else hidden_text(error)}"

    def masked(self, text: str) -> str:
        """Return a message about several keys, with references in place of their resolved values."""
        runs: dict[str, str] = {}
        for name in sorted(_QUOTED.intersection(self._written)):
            parts = sorted(_parts(self._given[name]), key=len, reverse=True)
            if parts:
                some = "|".join(map(re.escape, parts))
                runs[rf"(?<![\w.-])(?:{some})(?:{_SEPARATORS}*(?:{some}))*(?![\w.-])"] = self.value(name)
        shown = list(runs.values())
        found = re.compile("|".join(f"({run})" for run in runs))
        return found.sub(lambda match: shown[(match.lastindex or 1) - 1], text) if shown else text


def shown_value(name: str, written: str) -> str:
    """Return a value as the file has it, or `[hidden]` for a password and for PEM text."""
    return HIDDEN if is_password(name) or is_pem(written) else written


def _parts(value: str) -> set[str]:
    """Return the entries of a value, its words, and its numbers in their usual form.

    Words of two letters or fewer are left out, because they may be English words of the message.
    """
    words = set(re.split(_SEPARATORS, value))
    numbers = {str(int(word)) for word in words if re.fullmatch(r"[+-]?[0-9]{1,18}", word)}
    entries = {entry.strip() for entry in value.split(",")}
    return {*entries, *numbers, *(word for word in words if len(word) > 2)} - _OF_MESSAGES - {""}
