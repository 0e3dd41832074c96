"""Addresses that a voter must not have: other nodes learn them from the log, and connect to them.

Decides: which addresses name no host.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from quorum.recovery.journal.errors import WrongOptionError


def refuse_no_host(said: str, host: str) -> None:
    """Refuse a host that is empty, means every address of the machine, or cannot be resolved.

    Raises:
        WrongOptionError: it is such a host. `said`: the option as the user wrote it.
    """
    if host and not is_resolvable(host):
        raise WrongOptionError(
            f"{said}: {host!r} is no name of a host: it has an empty part, or one of more than 63 characters"
        )
    if not _is_no_host(host):
        return
    named = host or "an empty host"
    raise WrongOptionError(
        f"{said}: {named} means every address of the listening machine, and no other node can reach it there. Name the "
        "host or the address at which the others reach this controller"
    )


def is_resolvable(host: str) -> bool:
    """Return True if Python can pass the host to a resolver: it encodes each part first, and rejects some."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


def _is_no_host(host: str) -> bool:
    if not host.strip("0."):  # 0 and 0.0 are 0.0.0.0 for a resolver
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address.is_unspecified or (mapped is not None and mapped.is_unspecified)
