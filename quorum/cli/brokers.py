"""`kraft brokers`: the registered brokers in the controllers' image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from metadata_log.ids import id_text
from metadata_log.records.levels import level_text
from quorum.cli.connection import (
    DEFAULT_TIMEOUT_S,
    AtLeastOption,
    BootstrapController,
    Consistency,
    ConsistencyOption,
    Timeout,
    at_least_offset,
    with_client,
)
from quorum.cli.errors import FAILED, say
from quorum.cli.option_values import MAX_INT32
from quorum.cli.output import Output, OutputFormat, object_lines, show_json, show_rows

if TYPE_CHECKING:
    from metadata_log.offsets import Offset
    from quorum.api.brokers import FeatureRange, Listener
    from quorum.api.cluster import DescribedBroker

app = typer.Typer(no_args_is_help=True, epilog="Example:  kraft brokers list --bootstrap-controller localhost:9094")

_COLUMNS: Final = ("broker_id", "addresses", "rack", "fenced", "broker_epoch")
_NONE_YET: Final = "No broker is registered."
_PROTOCOLS: Final = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}


@app.callback()
def brokers() -> None:
    """List and describe the registered brokers."""


@app.command("list", epilog="Example:  kraft brokers list --bootstrap-controller localhost:9094 -o json")
def list_brokers(
    bootstrap_controller: BootstrapController = "",
    consistency: ConsistencyOption = Consistency.LINEARIZABLE,
    at_least: AtLeastOption = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """List the registered brokers: id, addresses, rack, whether fenced, broker epoch.

    A fenced broker is registered, but leads no partition: it sends no heartbeats, or has not caught up yet.
    """
    found = _registered(bootstrap_controller, timeout, at_least_offset(consistency, at_least))
    rows = [{key: as_json(broker)[key] for key in _COLUMNS} for broker in found.values()]
    show_rows(output, _COLUMNS, rows, name="brokers", empty=_NONE_YET)


@app.command(
    epilog="Examples:  kraft brokers describe --bootstrap-controller localhost:9094 --id 11"
    "    kraft brokers describe --bootstrap-controller localhost:9094 -o json"
)
def describe(
    bootstrap_controller: BootstrapController = "",
    broker_id: Annotated[
        list[int] | None,
        typer.Option("--id", "-i", "--broker-id", help="A broker's id; may be given again.", min=0, max=MAX_INT32),
    ] = None,
    consistency: ConsistencyOption = Consistency.LINEARIZABLE,
    at_least: AtLeastOption = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Describe brokers, all if none is named: listeners, rack, fenced, epoch, features, log directories.

    Exit status 1: a broker that is named is not registered.
    """
    registered = _registered(bootstrap_controller, timeout, at_least_offset(consistency, at_least))
    asked = list(registered) if broker_id is None else list(dict.fromkeys(broker_id))
    found = [registered[each] for each in asked if each in registered]
    missing = [each for each in asked if each not in registered]
    for each in missing:
        say(f"kraft: no broker {each} is registered: see kraft brokers list")
    if output is OutputFormat.JSON:
        show_json({"brokers": list(map(as_json, found))})
    elif not registered and broker_id is None:
        print(_NONE_YET)
    else:
        for number, broker in enumerate(found):
            print("\n".join(["", *_lines(broker)] if number else _lines(broker)))
    if missing:
        raise typer.Exit(FAILED)


def _registered(bootstrap_controller: str, timeout_s: float, offset: Offset | None) -> dict[int, DescribedBroker]:
    from quorum.client import Admin  # noqa: PLC0415  (not needed for help)

    cluster = with_client(
        bootstrap_controller, timeout_s, lambda client: Admin(client).describe_cluster(at_least_offset=offset)
    )
    return cluster.brokers


def as_json(broker: DescribedBroker) -> dict[str, object]:
    """Return a broker as JSON has it. `addresses` are its listeners in the form of Kafka's configuration."""
    cordoned = broker.cordoned_log_dirs
    return {
        "broker_id": broker.broker_id,
        "addresses": [_address(at) for at in broker.listeners],
        "rack": broker.rack,
        "fenced": broker.is_fenced,
        "broker_epoch": broker.broker_epoch,
        "incarnation_id": id_text(broker.incarnation_id),
        "in_controlled_shutdown": broker.in_controlled_shutdown,
        "listeners": [
            {
                "name": at.name,
                "host": at.host,
                "port": at.port,
                "security_protocol": _PROTOCOLS.get(at.security_protocol, str(at.security_protocol)),
            }
            for at in broker.listeners
        ],
        "features": [
            {
                "feature": each.name,
                "min_level": each.min_supported_version,
                "max_level": each.max_supported_version,
            }
            for each in broker.features
        ],
        "log_dirs": list(map(id_text, broker.log_dirs)),
        "cordoned_log_dirs": None if cordoned is None else list(map(id_text, cordoned)),
    }


def _address(at: Listener) -> str:
    host = f"[{at.host}]" if ":" in at.host else at.host
    return f"{at.name}://{host}:{at.port}"


def _lines(broker: DescribedBroker) -> list[str]:
    cells = {key: value for key, value in as_json(broker).items() if key != "listeners"}
    texts = [f"{each.name} {_levels_text(each)}" for each in broker.features]
    return object_lines({**cells, "features": "\n".join(texts) or None})


def _levels_text(feature: FeatureRange) -> str:
    least, most = (
        level_text(feature.name, level) for level in (feature.min_supported_version, feature.max_supported_version)
    )
    return least if least == most else f"{least} to {most}"
