"""Leases that became stale, and keepalive policies that are tied to one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.client.keepalive import InvalidLeaseError, KeepaliveClient, Policy
from bosdyn.client.lease import Lease, LeaseClient, ResourceAlreadyClaimedError
from emulated_robot import connected, emulated

from sim_bridge.spot.emulator.machine import STALE_S
from sim_bridge.spot.emulator.server import SpotEmulator


@pytest.fixture
def emulator() -> Iterator[SpotEmulator]:
    with emulated() as made:
        yield made


@pytest.fixture
def robot(emulator: SpotEmulator) -> Iterator[Any]:
    with connected(emulator, "first") as made:
        yield made


def tied(lease: Any) -> Policy:
    policy = Policy()
    policy.name = "tied"
    policy.add_controlled_motors_off_action(60.0)
    policy.add_associated_lease(lease)
    return policy


def test_a_stale_lease_can_be_acquired_by_another_and_is_fresh_again_where_it_is_used(
    emulator: SpotEmulator, robot: Any
) -> None:
    mine = robot.ensure_client(LeaseClient.default_service_name)
    lease = mine.acquire()
    with connected(emulator, "second") as other:
        theirs = other.ensure_client(LeaseClient.default_service_name)
        with pytest.raises(ResourceAlreadyClaimedError):
            theirs.acquire()
        time.sleep(STALE_S + 0.3)
        (resource,) = theirs.list_leases()
        assert resource.is_stale
        mine.retain_lease(lease)
        assert not theirs.list_leases()[0].is_stale
        with pytest.raises(ResourceAlreadyClaimedError):
            theirs.acquire()
        time.sleep(STALE_S + 0.3)
        theirs.acquire()
        (resource,) = theirs.list_leases()
        assert resource.lease_owner.client_name.startswith("second")
        assert not resource.is_stale
        tree = theirs.list_leases_full().resource_tree
        assert {each.resource for each in tree.sub_resources} == {"mobility", "full-arm"}


def test_a_policy_tied_to_a_lease_goes_when_the_lease_is_taken_and_one_that_is_not_stays(
    emulator: SpotEmulator, robot: Any
) -> None:
    leases = robot.ensure_client(LeaseClient.default_service_name)
    policies = robot.ensure_client(KeepaliveClient.default_service_name)
    lease = leases.acquire()
    policies.modify_policy(to_add=tied(lease))
    free = Policy()
    free.name = "free"
    free.add_controlled_motors_off_action(60.0)
    policies.modify_policy(to_add=free)
    with connected(emulator, "second") as other:
        other.ensure_client(LeaseClient.default_service_name).take()
    assert [live.policy.name for live in policies.get_status().status] == ["free"]
    with pytest.raises(InvalidLeaseError):
        policies.modify_policy(to_add=tied(Lease(lease.lease_proto)))


def test_a_policy_marks_the_lease_as_stale_before_its_own_time(
    emulator: SpotEmulator, robot: Any
) -> None:
    leases = robot.ensure_client(LeaseClient.default_service_name)
    policies = robot.ensure_client(KeepaliveClient.default_service_name)
    lease = leases.acquire()
    hasty = Policy()
    hasty.name = "hasty"
    hasty.add_lease_stale_action([lease], 0.2)
    policies.modify_policy(to_add=hasty)
    assert not leases.list_leases()[0].is_stale
    time.sleep(0.5)
    assert leases.list_leases()[0].is_stale
