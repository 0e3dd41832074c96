"""Arguments of `storage format` that concern features, each with the verdict of Kafka 4.4.0's own tool.

`tests/interop/test_format_features_as_kafka.py` compares the verdicts with that tool.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class FormatCase(NamedTuple):
    """One call: the form of the voters, the arguments, and True if the tool formats."""

    form: str
    arguments: tuple[str, ...]
    is_taken: bool

    def __str__(self) -> str:
        return " ".join((self.form, *self.arguments))


_TAKEN_FEATURES: Final = (
    "group.version=1", "group.version=0", "group.version= 1 ", " group.version=1", "group.version=+1",
    "group.version=01", "group.version=\u0661", "share.version=1", "share.version=2", "streams.version=1",
    "transaction.version=0", "transaction.version=2", "eligible.leader.replicas.version=1", "kraft.version=1",
    "metadata.version=33", "metadata.version=30", "metadata.version=7",
)  # fmt: skip
_REFUSED_FEATURES: Final = (
    "foo=1", "foo=0", "Group.version=1", "=1", "group.version=99", "group.version=-1", "group.version",
    "group.version=x", "group.version=1=1", "group.version=32768", "group.version=\u00b2", "group.version=1_0",
    "group.version=1,share.version=1", "share.version=3", "transaction.version=3", "kraft.version=0",
    "kraft.version=2", "metadata.version=34", "metadata.version=6", "metadata.version=3.9",
)  # fmt: skip
_SEVERAL: Final = (
    (("-r", "3.9", "-f", "group.version=1"), True),
    (("-r", "3.8", "-f", "kraft.version=1"), True),
    (("-r", "3.3", "-f", "transaction.version=2"), True),
    (("-r", "4.0-IV1", "-f", "eligible.leader.replicas.version=1"), True),
    (("-r", "4.0-IV0", "-f", "eligible.leader.replicas.version=1"), False),
    (("-f", "metadata.version=8", "-f", "eligible.leader.replicas.version=1"), False),
    (("-r", "4.4", "-f", "metadata.version=33"), False),
    (("-r", "4.5-IV0"), False),
    (("-f", "group.version=99", "-f", "group.version=1"), True),
    (("-f", "group.version=1", "-f", "group.version=99"), False),
)
_OTHER_FORMS: Final = (
    ("static", "kraft.version=0", True),
    ("static", "kraft.version=1", False),
    ("static", "foo=1", False),
    ("broker", "kraft.version=0", False),
    ("broker", "kraft.version=1", True),
    ("broker", "group.version=99", False),
    ("joins", "kraft.version=0", False),
    ("joins", "kraft.version=1", True),
)

CASES: Final = (
    *(FormatCase("standalone", ("-f", text), True) for text in _TAKEN_FEATURES),
    *(FormatCase("standalone", ("-f", text), False) for text in _REFUSED_FEATURES),
    *(FormatCase("standalone", arguments, is_taken) for arguments, is_taken in _SEVERAL),
    *(FormatCase(form, ("-f", text), is_taken) for form, text, is_taken in _OTHER_FORMS),
)

_WAYS: Final = {"standalone": ("--standalone",), "joins": ("--no-initial-controllers",)}


def way_of(case: FormatCase) -> tuple[str, ...]:
    """Return the options that name the first voters."""
    return _WAYS.get(case.form, ())


def properties_of(case: FormatCase, log_dir: str, *, is_ours: bool) -> str:
    """Return the configuration file with which a case formats; `is_ours`: with a GRPC listener."""
    role, listener = ("broker", "PLAINTEXT") if case.form == "broker" else ("controller", "CONTROLLER")
    servers = "voters=1@localhost:9093" if case.form == "static" else "bootstrap.servers=localhost:9093"
    own = ",GRPC://localhost:9094" if is_ours else ""
    return (
        f"process.roles={role}\nnode.id=1\nlisteners={listener}://localhost:9093{own}\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,GRPC:PLAINTEXT\n"
        f"controller.quorum.{servers}\nlog.dirs={log_dir}\n"
    )
