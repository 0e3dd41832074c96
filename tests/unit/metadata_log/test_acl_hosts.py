"""Hosts of access control entries: which are ranges, and who is in them, as Kafka 4.4.0 says."""

from __future__ import annotations

import ipaddress

from metadata_log.acl_hosts import client_address, is_range, range_of, why_no_host
from tests.support.acl_hosts import stored_cases


def test_the_same_hosts_are_refused_in_the_same_words() -> None:
    for case in stored_cases():
        kind, _, words = (case.refused or "").partition(": ")
        assert (why_no_host(case.host) or "") == words, case
        assert kind in ("", "InvalidRequestException")


def test_the_same_addresses_are_in_each_range() -> None:
    cases = [case for case in stored_cases() if is_range(case.host)]
    assert {case.matches for case in cases} == {True, False}
    for case in cases:
        found, address = range_of(case.host), client_address(case.client)
        assert address is not None
        assert (found is not None and found.holds(address)) == case.matches, case


def test_a_client_at_a_mapped_address_has_its_ipv4_address() -> None:
    assert client_address("::ffff:10.0.0.1") == ipaddress.IPv4Address("10.0.0.1")
    assert client_address("fe80::1%eth0") == ipaddress.IPv6Address("fe80::1%eth0")
    assert client_address("no address") is None
