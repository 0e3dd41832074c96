"""`kraft cluster`: the cluster as a whole."""

from __future__ import annotations

import typer

from quorum.cli.connection import DEFAULT_TIMEOUT_S, BootstrapController, Timeout, with_client
from quorum.cli.output import Output, OutputFormat, show_json

app = typer.Typer(no_args_is_help=True, epilog="Example:  kraft cluster id --bootstrap-controller localhost:9094")


@app.callback()
def cluster() -> None:
    """Identify the cluster."""


@app.command(
    "id",
    epilog="Examples:  kraft cluster id --bootstrap-controller localhost:9094"
    "    kraft cluster id --bootstrap-controller localhost:9094 -o json",
)
def cluster_id(
    bootstrap_controller: BootstrapController = "",
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print the id of the cluster, as kafka-cluster cluster-id does.

    Any controller answers, also while no leader is elected.
    """
    found = with_client(bootstrap_controller, timeout, lambda client: client.describe_quorum())
    if output is OutputFormat.JSON:
        show_json({"cluster_id": found.cluster_id})
    else:
        print(f"Cluster ID: {found.cluster_id}")
