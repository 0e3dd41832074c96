"""`kraft configs`: show and change the configs of topics, brokers, groups and client metrics.

Its options are those of kafka-configs. Decides: which resources the options name, and which of their configs are shown.
Must not know: which configs exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from quorum.cli.connection import DEFAULT_TIMEOUT_S, BootstrapController, Timeout, with_client
from quorum.cli.errors import FAILED, say, wrong_use
from quorum.cli.option_values import ValidateOnly
from quorum.cli.output import Output, OutputFormat, show_json, show_rows

if TYPE_CHECKING:
    from metadata_log.image import ConfigResource
    from metadata_log.offsets import Offset
    from quorum.api.configs import AlterableConfig
    from quorum.api.described_configs import DescribedConfig
    from quorum.client.client import Client

app = typer.Typer(
    no_args_is_help=True,
    epilog="Example:  kraft configs describe --bootstrap-controller localhost:9094 --entity-type topics",
)

_COLUMNS: Final = ("entity_type", "entity_name", "config", "value", "source")
_DEFAULT: Final = "<default>"
_SECRET: Final = "(secret)"


class EntityType(StrEnum):
    """The entity types, with the names of kafka-configs."""

    TOPICS = "topics"
    BROKERS = "brokers"
    GROUPS = "groups"
    CLIENT_METRICS = "client-metrics"


_ONE_OF: Final = {
    EntityType.TOPICS: "topic",
    EntityType.BROKERS: "broker",
    EntityType.GROUPS: "group",
    EntityType.CLIENT_METRICS: "subscription",
}
_OF_TYPE: Final = {
    EntityType.TOPICS: ("TOPIC", "DYNAMIC_TOPIC_CONFIG"),
    EntityType.BROKERS: ("BROKER", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
    EntityType.GROUPS: ("GROUP", "GROUP_CONFIG"),
    EntityType.CLIENT_METRICS: ("CLIENT_METRICS", "CLIENT_METRICS_CONFIG"),
}
"""By type: the name of its `ResourceType`, and the `ConfigSource`s of its dynamic configs."""

TopicsConfigs = dict[str, "tuple[DescribedConfig, ...] | None"]
"""The configs of topics by name; None if they are unknown."""

Type = Annotated[EntityType, typer.Option("--entity-type", help="The kind of entity that has the configs.")]
EntityName = Annotated[
    str | None, typer.Option("--entity-name", help="A topic's name, a broker's id, a group, a subscription.")
]
Default = Annotated[bool, typer.Option("--entity-default", help="With brokers: what is set for all of them.")]


@app.callback()
def configs() -> None:
    """See and change configs."""


@app.command(
    epilog="Examples:  kraft configs describe --bootstrap-controller localhost:9094 --entity-type topics"
    "    kraft configs describe --bootstrap-controller localhost:9094 --entity-type brokers --entity-name 1 --all"
)
def describe(
    entity_type: Type,
    bootstrap_controller: BootstrapController = "",
    entity_name: EntityName = None,
    entity_default: Default = False,
    all_configs: Annotated[bool, typer.Option("--all", help="Also those that are not set.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Describe the configs that are set; of all topics where none is named.

    Of a broker (--entity-type brokers) it shows what is set at run time for the broker, and for all brokers
    (--entity-default). The keys of the broker's own file are known to the broker alone. Of a controller, --all also
    shows the keys of its file.
    """
    from quorum.client import Admin  # noqa: PLC0415  (not needed for help)

    name = _name(entity_type, entity_name, entity_default, needs_one=entity_type is not EntityType.TOPICS)

    async def ask(client: Client) -> list[tuple[ConfigResource, tuple[DescribedConfig, ...]]]:
        resources = await _resources(client, entity_type, name)
        found = await Admin(client).describe_configs(resources, include_synonyms=True)
        return [(resource, config.entries) for resource, config in found.all().items()]

    found = with_client(bootstrap_controller, timeout, ask)
    rows = [
        _row(entity_type, resource.name, config)
        for resource, entries in found
        for config in (entries if all_configs else set_configs(entries, entity_type))
    ]
    shown = rows if output is OutputFormat.JSON else [_for_people(row) for row in rows]
    show_rows(output, _COLUMNS, shown, name="configs", empty="Nothing is set.")


@app.command(
    epilog="Examples:  kraft configs alter --bootstrap-controller localhost:9094 --entity-type topics "
    "--entity-name orders --add-config retention.ms=3600000,cleanup.policy=[compact,delete]"
    "    kraft configs alter --bootstrap-controller localhost:9094 --entity-type topics --entity-name orders "
    "--delete-config retention.ms"
)
def alter(
    entity_type: Type,
    bootstrap_controller: BootstrapController = "",
    entity_name: EntityName = None,
    entity_default: Default = False,
    add_config: Annotated[
        list[str] | None,
        typer.Option("--add-config", help="name=value[,name=value...]; a value with commas in brackets: name=[a,b]."),
    ] = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option("--delete-config", help="name[,name...]: remove it; the default applies then."),
    ] = None,
    validate_only: ValidateOnly = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Set and remove configs of one topic, broker, group or subscription: all of them, or none where one is refused."""
    from metadata_log.image import ConfigResource  # noqa: PLC0415  (not needed for help)
    from quorum.client import Admin  # noqa: PLC0415

    name = _name(entity_type, entity_name, entity_default, needs_one=True) or ""
    added, deleted = parse_added(add_config or []), parse_deleted(delete_config or [])
    if not added and not deleted:
        raise wrong_use("say what: --add-config NAME=VALUE or --delete-config NAME")
    both = sorted(set(added) & set(deleted))
    if both:
        raise wrong_use(f"{both[0]} is to be added and to be deleted: say one of them")
    resource = ConfigResource(resource_type=_kind(entity_type), name=name)
    changes = _changes(added, deleted)

    async def ask(client: Client) -> Exception | None:
        done = await Admin(client).incremental_alter_configs({resource: changes}, validate_only=validate_only)
        return done.values()[resource].exception()

    why = with_client(bootstrap_controller, timeout, ask)
    if why is not None:
        say(f"kraft: {why}")
    if output is OutputFormat.JSON:
        error = None if why is None else str(why)
        fields = {"entity_type": entity_type.value, "entity_name": name, "added": added, "deleted": list(deleted)}
        show_json({**fields, "validate_only": validate_only, "error": error})
    elif why is None:
        word = "could be changed" if validate_only else "are changed"
        print(f"The configs of {_entity(entity_type, name)} {word}.")
    if why is not None:
        raise typer.Exit(FAILED)


def _entity(entity_type: EntityType, name: str) -> str:
    """Return `topic orders`, `broker 1`, `all brokers`, `group pay`, `subscription cpu`."""
    return f"{_ONE_OF[entity_type]} {name}" if name else "all brokers"


def set_configs(described: Iterable[DescribedConfig], entity_type: EntityType) -> list[DescribedConfig]:
    """Return the dynamic configs of a resource. Those of a broker include the ones set for all brokers."""
    sources = _OF_TYPE[entity_type][1:]
    return [config for config in described if config.source.name in sources]


async def topics_configs(client: Client, names: Iterable[str], at_least_offset: Offset | None) -> TopicsConfigs:
    """Return all configs of each topic, or None for a topic that is gone or that the principal may not describe."""
    from metadata_log.image import ConfigResource  # noqa: PLC0415  (not needed for help)
    from quorum.client import Admin  # noqa: PLC0415

    kind = _kind(EntityType.TOPICS)
    asked = [ConfigResource(resource_type=kind, name=name) for name in names]
    found = await Admin(client).describe_configs(asked, at_least_offset=at_least_offset)
    return {
        resource.name: None if outcome.value is None else outcome.value.entries
        for resource, outcome in found.values().items()
    }


def set_for_topic(entries: Iterable[DescribedConfig] | None) -> dict[str, str | None] | None:
    """Return the configs that are set for the topic itself, by name; None if `entries` is."""
    if entries is None:
        return None
    return {config.name: config.value for config in set_configs(entries, EntityType.TOPICS)}


def _name(entity_type: EntityType, name: str | None, is_default: bool, *, needs_one: bool) -> str | None:
    """Return the resource's name. The empty name means all brokers; None means all resources of the type."""
    if is_default and (entity_type is not EntityType.BROKERS or name is not None):
        raise wrong_use("--entity-default means all brokers: give it with --entity-type brokers, and no --entity-name")
    if name == "" or (name is None and needs_one and not is_default):
        default = ", or --entity-default for all brokers" if entity_type is EntityType.BROKERS else ""
        raise wrong_use(f"say which of the {entity_type}: --entity-name NAME{default}")
    is_id = name is not None and name.isascii() and name.isdigit()
    if entity_type is EntityType.BROKERS and name is not None and not is_id:
        raise wrong_use(f"--entity-name {name}: a broker is named by its id, a number")
    return "" if is_default else name


def _kind(entity_type: EntityType) -> int:
    from metadata_log.image import ResourceType  # noqa: PLC0415  (not needed for help)

    return ResourceType[_OF_TYPE[entity_type][0]]


async def _resources(client: Client, entity_type: EntityType, name: str | None) -> list[ConfigResource]:
    from metadata_log.image import ConfigResource  # noqa: PLC0415  (not needed for help)

    if name is not None:
        names = [name]
    else:
        names = sorted(topic.name for topic in await client.describe_topics(all_topics=True) if topic.name is not None)
    return [ConfigResource(resource_type=_kind(entity_type), name=each) for each in names]


def _row(entity_type: EntityType, name: str, config: DescribedConfig) -> dict[str, object]:
    return {
        "entity_type": entity_type.value,
        "entity_name": name,
        "config": config.name,
        "value": config.value,
        "source": config.source.name,
        "read_only": config.read_only,
        "sensitive": config.is_sensitive,
        "synonyms": [{"name": each.name, "value": each.value, "source": each.source.name} for each in config.synonyms],
    }


def _for_people(row: dict[str, object]) -> dict[str, object]:
    value = _SECRET if row["sensitive"] else row["value"]
    return {**row, "entity_name": row["entity_name"] or _DEFAULT, "value": value}


def _changes(added: Mapping[str, str], deleted: Iterable[str]) -> list[AlterableConfig]:
    from quorum.api.configs import AlterableConfig, ConfigOperation  # noqa: PLC0415  (not needed for help)

    return [
        *(AlterableConfig(name=name, operation=ConfigOperation.SET, value=value) for name, value in added.items()),
        *(AlterableConfig(name=name, operation=ConfigOperation.DELETE, value=None) for name in deleted),
    ]


_PAIR: Final = re.compile(r"\s*([^=,\s]+)\s*=\s*(?:\[([^\]]*)\]|([^,]*))\s*(?:,|$)")


def parse_added(texts: Iterable[str]) -> dict[str, str]:
    """Parse `name=value,name=[a,b]`, the form of kafka-configs.

    Raises:
        CliError: the text has another form, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        at = 0
        while at < len(text):
            match = _PAIR.match(text, at)
            if match is None:
                raise wrong_use(f"--add-config {text}: {text[at:]!r} is not name=value; write name=[a,b] for a list")
            name, several, one = match.groups()
            if name in found:
                raise wrong_use(f"--add-config {text}: {name} is given twice")
            found[name] = several if several is not None else one.strip()
            at = match.end()
    return found


def parse_deleted(texts: Iterable[str]) -> tuple[str, ...]:
    """Parse `name,name`.

    Raises:
        CliError: a name is empty.
    """
    names = [name.strip() for text in texts for name in text.split(",")]
    if not all(names):
        raise wrong_use("--delete-config: a name is empty: write name,name")
    return tuple(dict.fromkeys(names))
