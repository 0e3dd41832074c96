"""Names of options' values in help, such as `<seconds>`.

Decides: the name, by the option. Must not know: the values that an option takes.
"""

from __future__ import annotations

from typing import Any, Final

_METAVARS: Final = {
    "<host:port>": ("--agent", "--live", "--not-a-controller"),
    "<host:port,...>": ("--bootstrap-controller",),
    "<listener://host:port>": ("--endpoint",),
    "<id@host:port>": ("--set",),
    "<id@host:port:directory-id,...>": ("--initial-controllers", "--voters"),
    "<seconds>": ("--gap", "--interval", "--timeout"),
    "<offset>": ("--at-least-offset", "--before", "--from"),
    "<node-id>": ("--controller-id", "--node-id"),
    "<node-id,...|rest>": ("--missing",),
    "<broker-id>": ("--broker", "--broker-id"),
    "<directory-id>": ("--controller-directory-id",),
    "<cluster-id>": ("--cluster-id",),
    "<topic-id>": ("--accept", "--metadata-topic-id", "--topic-id"),
    "<epoch>": ("--epoch",),
    "<epochs>": ("--epoch-gap",),
    "<number>": ("--partitions", "--replication-factor"),
    "<brokers>": ("--replica-assignment",),
    "<name=value>": ("--add-config",),
    "<name,...>": ("--delete-config",),
    "<name=level>": ("--feature",),
    "<release>": ("--metadata", "--release-version", "--target"),
    "<record-type>": ("--type",),
    "<time>": ("--since", "--until"),
    "<file-name>": ("--checkpoint",),
    "<command>": ("--command",),
    "<name>": ("--entity-name", "--topic"),
    "<directory>": ("--broker-dir", "--copy", "--dir", "--directory", "--work"),
    "<file>": ("--picture",),
}
_OF: Final = {option: metavar for metavar, options in _METAVARS.items() for option in options}
_BY_COMMAND: Final = {
    ("topics", "create", "--config"): "<name=value>",
    ("dev", "--port"): "<port>",
    ("features", "disable", "--feature"): "<name>",
    ("log", "hash", "--at"): "<offset>",
    ("snapshot", "save", "--at"): "<offset>",
    ("shell", "--at"): "<offset|time>",
    ("log", "dump", "--to"): "<offset>",
    ("recover", "truncate", "--to"): "<offset>",
    ("recover", "cluster-id", "--to"): "<cluster-id>",
    ("storage", "audit", "--to"): "<directory>",
    ("storage", "audit", "--image"): "<directory>",
}
"""Options whose value depends on the command."""


def name_values(command: Any, *path: str) -> None:
    """Name the values of a command's options, and of the commands below it."""
    for name, one in getattr(command, "commands", {}).items():
        name_values(one, *path, name)
    for parameter in command.params:
        if parameter.param_type_name != "option" or parameter.metavar is not None:
            continue
        found = [_BY_COMMAND.get((*path, option)) or _OF.get(option) for option in parameter.opts]
        parameter.metavar = next((metavar for metavar in found if metavar is not None), None)
