"""The options that the repairs of `kraft recover` share, and the request made from them."""

from __future__ import annotations

import functools
import inspect
import re
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from quorum.cli.errors import wrong_use
from quorum.cli.option_values import a_time
from quorum.cli.output import Output, OutputFormat

if TYPE_CHECKING:
    from metadata_log.files.port import Files
    from metadata_log.voters import Endpoint
    from quorum.recovery.guards.request import Proposal, Request


def directory_option(what: str) -> Any:
    """Return the option `--dir` of a repair. `what` is a noun phrase for the log directory that it names."""
    return typer.Option("--dir", help=f"{what}; its node is stopped.")


Copies = Annotated[
    list[Path] | None,
    typer.Option(
        "--copy",
        help="Another node's log directory, a copy or an export of it, to compare with; also a broker's disk without a "
        "metadata log, whose partition directories prove commits. May be repeated.",
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="Nodes without any copy left, controllers and brokers: 1,2,3,11; or all that are not named: rest",
    ),
]
AcceptLoss = Annotated[
    bool, typer.Option("--accept-data-loss", help="Discard records that a copy here holds; the dry run lists them.")
]
AcceptLostVote = Annotated[
    bool,
    typer.Option(
        "--accept-lost-vote",
        help="Go on although a quorum-state is lost or unreadable, with its epoch and vote.",
    ),
]
EpochGap = Annotated[
    int,
    typer.Option(
        "--epoch-gap",
        help="How far above every epoch and vote in any copy the new epoch is: 1000 or more, which is how a repair "
        "differs from elections once its log was trimmed.",
    ),
]
NotController = Annotated[
    list[str] | None,
    typer.Option("--not-a-controller", help="HOST:PORT of a controller at which something else listens now."),
]
BootstrapControllers = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-controller",
        help="More addresses at which a controller may answer, of Kafka's or ours, HOST:PORT[,HOST:PORT...].",
    ),
]
Apply = Annotated[bool, typer.Option("--apply", help="Do it. Without this nothing is changed.")]
Work = Annotated[
    Path | None, typer.Option("--work", help="Where backup and audit file go; default: DIR.recovery beside DIR.")
]
ProbeTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        help="How long each known controller may take to say who leads.",
        min=0.1,
        callback=a_time,
    ),
]
Endpoints = Annotated[
    list[str] | None,
    typer.Option("--endpoint", help="Where it listens as a controller now, LISTENER://HOST:PORT. May be repeated."),
]
DEFAULT_TIMEOUT_S: Final = 2.0
DEFAULT_GAP: Final = 1000

_ENDPOINT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)://(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:/\[\]\s]*):(?P<port>\d+)", re.ASCII
)
_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:/\[\]\s]+):(?P<port>\d+)", re.ASCII)


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the options that all repairs of a quorum share; see `with_shared_options`.

    Attributes:
        copies: further log directories, for the evidence.
    """

    copies: list[str]
    request: Request
    apply: bool
    work: Path | None
    output: OutputFormat

    def run(
        self,
        action: str,
        propose: Callable[[Files], Proposal],
        targets: list[Path],
        *,
        is_new: bool = False,
        owner_of: Path | None = None,
    ) -> None:
        """Run a repair, see `recover.run`."""
        run_proposed(action, propose, targets, self.apply, self.work, self.output, is_new=is_new, owner_of=owner_of)


def _shared(
    copy: Copies = None,
    missing: Missing = None,
    accept_data_loss: AcceptLoss = False,
    accept_lost_vote: AcceptLostVote = False,
    epoch_gap: EpochGap = DEFAULT_GAP,
    not_a_controller: NotController = None,
    bootstrap_controller: BootstrapControllers = None,
    timeout: ProbeTimeout = DEFAULT_TIMEOUT_S,
    work: Work = None,
    apply: Apply = False,
    output: Output = OutputFormat.TABLE,
) -> Shared:
    request = request_of(
        missing=missing, accept_data_loss=accept_data_loss, accept_lost_vote=accept_lost_vote, epoch_gap=epoch_gap,
        not_a_controller=not_a_controller, bootstrap_controller=bootstrap_controller, timeout_s=timeout, work=work,
    )  # fmt: skip
    return Shared(copies=texts_of(copy), request=request, apply=apply, work=work, output=output)


def with_shared_options(command: Callable[..., None], *, without: Collection[str] = ()) -> Callable[..., None]:
    """Return the command with the options of `_shared`, without some, after its own. It gets them as `shared`."""
    offered = inspect.signature(_shared, eval_str=True).parameters
    common = {name: one for name, one in offered.items() if name not in without}
    own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name != "shared"]

    @functools.wraps(command)
    def called(**named: Any) -> None:
        said = {name: named.pop(name) for name in common}
        command(**named, shared=_shared(**said))

    parameters = [*own, *common.values()]
    read_by_typer: Any = called
    read_by_typer.__signature__ = inspect.Signature(parameters)
    read_by_typer.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def request_of(
    *,
    missing: str | None,
    accept_data_loss: bool,
    accept_lost_vote: bool = False,
    epoch_gap: int,
    not_a_controller: Sequence[str] | None,
    bootstrap_controller: str | None,
    timeout_s: float,
    work: Path | None = None,
) -> Request:
    """Return the request from the shared options.

    Raises:
        CliError: an option has an invalid value.
    """
    from quorum.cli.recover.probe import asker  # noqa: PLC0415  (not needed for help)
    from quorum.recovery.guards.epoch_gap import check_gap  # noqa: PLC0415
    from quorum.recovery.guards.request import Request  # noqa: PLC0415
    from quorum.recovery.journal.errors import RefusedError  # noqa: PLC0415

    words = [word.strip() for word in (missing or "").split(",") if word.strip()]
    if any(word != "rest" and not (word.isascii() and word.isdecimal()) for word in words):
        raise wrong_use(f"--missing {missing!r}: write node ids, 2,3,11, or rest")
    try:
        check_gap(epoch_gap)
    except RefusedError as error:
        raise wrong_use(str(error)) from error
    return Request(
        now_ms=time.time_ns() // 1_000_000,
        ask=asker(timeout_s),
        missing=frozenset(int(word) for word in words if word != "rest"),
        all_missing="rest" in words,
        accept_data_loss=accept_data_loss,
        accept_lost_vote=accept_lost_vote,
        epoch_gap=epoch_gap,
        not_controllers=frozenset(not_a_controller or ()),
        more_endpoints=_addresses(bootstrap_controller),
        work_root=None if work is None else text_of(work),
    )


def _addresses(text: str | None) -> tuple[Endpoint, ...]:
    from metadata_log.voters import CONTROLLER_LISTENER, Endpoint  # noqa: PLC0415
    from quorum.recovery.guards.addresses import is_resolvable  # noqa: PLC0415

    found: list[Endpoint] = []
    for word in (text or "").split(","):
        match = _ADDRESS.fullmatch(word.strip())
        if word.strip() and (match is None or not is_resolvable(match["host"].strip("[]"))):
            raise wrong_use(f"--bootstrap-controller {word.strip()!r} is no HOST:PORT")
        if match is not None:
            found.append(Endpoint(name=CONTROLLER_LISTENER, host=match["host"].strip("[]"), port=int(match["port"])))
    return tuple(found)


def endpoints_of(texts: Sequence[str] | None) -> tuple[Endpoint, ...]:
    """Parse endpoints of the form `LISTENER://HOST:PORT`.

    Raises:
        CliError: a text has another form.
        RefusedError: a text names no host.
    """
    from metadata_log.voters import Endpoint  # noqa: PLC0415  (not needed for help)
    from quorum.recovery.guards.addresses import refuse_no_host  # noqa: PLC0415

    found: list[Endpoint] = []
    for text in texts or ():
        match = _ENDPOINT.fullmatch(text)
        if match is None or not 0 < int(match["port"]) < 1 << 16:
            raise wrong_use(f"--endpoint {text!r}: write LISTENER://HOST:PORT, such as CONTROLLER://host1:9093")
        refuse_no_host(f"--endpoint {text!r}", match["host"].strip("[]"))
        if match["name"] in [endpoint.name for endpoint in found]:
            raise wrong_use(f"--endpoint {text!r}: listener {match['name']} is named twice")
        found.append(Endpoint(name=match["name"], host=match["host"].strip("[]"), port=int(match["port"])))
    return tuple(found)


def single(paths: Sequence[Path]) -> Path:
    """Return the one --dir of a command that repairs one directory.

    Raises:
        CliError: it was given twice; otherwise the last one would silently win.
    """
    if len(paths) > 1:
        raise wrong_use(f"--dir is given {len(paths)} times, and this command repairs one directory: name one")
    return paths[0]


def text_of(path: Path) -> str:
    """Return a path for the library: absolute, since it goes into the audit file."""
    return str(path.absolute())


def texts_of(paths: Sequence[Path] | None) -> list[str]:
    """Return `text_of` of each path."""
    return [text_of(path) for path in paths or ()]


def run_proposed(
    action: str,
    propose: Callable[[Files], Proposal],
    targets: list[Path],
    apply: bool,
    work: Path | None,
    output: OutputFormat,
    *,
    is_new: bool = False,
    owner_of: Path | None = None,
) -> None:
    """Run a repair; see `recover.run`. `action`: the sub-command's name."""
    from quorum.cli.recover.run import run_repair  # noqa: PLC0415  (not needed for help)

    run_repair(propose, targets, apply=apply, work=work, output=output, action=action, is_new=is_new, owner_of=owner_of)
