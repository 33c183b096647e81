"""The lease of the body: acquire, take, return, retain, list; and the keepalive policies."""

from __future__ import annotations

from typing import Any

from bosdyn.api import lease_pb2
from bosdyn.api.keepalive import keepalive_pb2

from sim_bridge.spot.convert import seconds_of, set_stamp
from sim_bridge.spot.emulator.machine import Machine, Policy
from sim_bridge.spot.emulator.service import Handler, fill_lease, use_lease


def handlers() -> dict[str, dict[str, Handler]]:
    """The service with its methods."""
    return {
        "bosdyn.api.LeaseService": {
            "AcquireLease": _acquire,
            "TakeLease": _take,
            "ReturnLease": _return,
            "RetainLease": _retain,
            "ListLeases": _list,
        }
    }


def _acquire(machine: Machine, request: Any, response: Any) -> None:
    book, reply = machine.lease, lease_pb2.AcquireLeaseResponse
    if request.resource not in ("", "body"):
        response.status = reply.STATUS_INVALID_RESOURCE
    elif book.owner and not book.stale(machine.now_s):
        response.status = reply.STATUS_RESOURCE_ALREADY_CLAIMED
        response.lease_owner.client_name = book.owner
    else:
        response.status = reply.STATUS_OK
        _give(machine, request.header.client_name, response)


def _take(machine: Machine, request: Any, response: Any) -> None:
    reply = lease_pb2.TakeLeaseResponse
    if request.resource not in ("", "body"):
        response.status = reply.STATUS_INVALID_RESOURCE
        return
    machine.halt()
    response.status = reply.STATUS_OK
    _give(machine, request.header.client_name, response)


def _give(machine: Machine, client: str, response: Any) -> None:
    machine.give_lease(client)
    fill_lease(machine, response.lease)
    response.lease_owner.client_name = client


def _return(machine: Machine, request: Any, response: Any) -> None:
    book, reply = machine.lease, lease_pb2.ReturnLeaseResponse
    lease = request.lease
    if lease.epoch != book.epoch or not book.owner or tuple(lease.sequence[:1]) != (book.root,):
        response.status = reply.STATUS_NOT_ACTIVE_LEASE
        return
    machine.return_lease()
    response.status = reply.STATUS_OK


def _retain(machine: Machine, request: Any, response: Any) -> None:
    use_lease(machine, request.lease, response.lease_use_result)


def _list(machine: Machine, _request: Any, response: Any) -> None:
    book, resource = machine.lease, response.resources.add()
    resource.resource = "body"
    fill_lease(machine, resource.lease)
    resource.lease_owner.client_name = book.owner
    resource.is_stale = book.stale(machine.now_s)
    tree = response.resource_tree
    tree.resource = "body"
    tree.sub_resources.add(resource="mobility")
    arm = tree.sub_resources.add(resource="full-arm")
    arm.sub_resources.add(resource="arm")
    arm.sub_resources.add(resource="gripper")


# Keepalive policies: what the robot does when a client stops checking in.


def keepalive_handlers() -> dict[str, dict[str, Handler]]:
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
