"""The lease of the body: acquire, take, return, retain, list."""

from __future__ import annotations

from typing import Any

from bosdyn.api import lease_pb2

from sim_bridge.spot.emulator.machine import Machine
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
