"""Keepalive policies: what the robot does when a client stops checking in."""

from __future__ import annotations

from typing import Any

from bosdyn.api.keepalive import keepalive_pb2

from sim_bridge.spot.convert import seconds_of, set_stamp
from sim_bridge.spot.emulator.machine import Machine, Policy
from sim_bridge.spot.emulator.service import Handler


def handlers() -> dict[str, dict[str, Handler]]:
    """The service with its methods."""
    return {
        "bosdyn.api.keepalive.KeepaliveService": {
            "ModifyPolicy": _modify_policy,
            "CheckIn": _policy_check_in,
            "GetStatus": _policy_status,
        }
    }


def _modify_policy(machine: Machine, request: Any, response: Any) -> None:
    reply = keepalive_pb2.ModifyPolicyResponse
    for number in request.policy_ids_to_remove:
        if number not in machine.policies:
            response.status = reply.STATUS_INVALID_POLICY_ID
            return
    policy = _read(machine, request) if request.HasField("to_add") else None
    if policy is not None and not all(machine.lease.owns(*lease) for lease in policy.leases):
        response.status = reply.STATUS_INVALID_LEASE
        return
    for number in request.policy_ids_to_remove:
        response.removed_policies.add().policy_id = machine.policies.pop(number).number
    if policy is not None:
        machine.policies[policy.number] = policy
        _fill_policy(machine, policy, response.added_policy)
    response.status = reply.STATUS_OK


def _read(machine: Machine, request: Any) -> Policy:
    added = request.to_add

    def first_s(kind: str) -> float | None:
        after = [seconds_of(action.after) for action in added.actions if action.HasField(kind)]
        return min(after, default=None)

    return Policy(
        number=machine.next_number(),
        name=added.name,
        client=request.header.client_name,
        last_s=machine.now_s,
        motors_off_s=first_s("controlled_motors_off"),
        message=added,
        leases=tuple((lease.epoch, tuple(lease.sequence)) for lease in added.associated_leases),
        stale_s=first_s("lease_stale"),
    )


def _fill_policy(machine: Machine, policy: Policy, shown: Any) -> None:
    shown.policy_id, shown.client_name = policy.number, policy.client
    shown.policy.CopyFrom(policy.message)
    set_stamp(shown.last_checkin, policy.last_s + machine.skew_s)


def _policy_check_in(machine: Machine, request: Any, response: Any) -> None:
    reply = keepalive_pb2.CheckInResponse
    policy = machine.policies.get(request.policy_id)
    if policy is None:
        response.status = reply.STATUS_INVALID_POLICY_ID
        return
    set_stamp(response.last_checkin, policy.last_s + machine.skew_s)
    policy.last_s = machine.now_s
    response.status = reply.STATUS_OK


def _policy_status(machine: Machine, _request: Any, response: Any) -> None:
    for policy in machine.policies.values():
        _fill_policy(machine, policy, response.status.add())
