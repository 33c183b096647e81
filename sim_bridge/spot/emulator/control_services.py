"""Services that decide whether the robot may move: e-stop, power, faults."""

from __future__ import annotations

from typing import Any

from bosdyn.api import estop_pb2, power_pb2, service_fault_pb2

from sim_bridge.spot.convert import seconds_of, set_stamp
from sim_bridge.spot.emulator.machine import Endpoint, Machine, Motors
from sim_bridge.spot.emulator.service import Handler, use_lease

_MASK = (1 << 64) - 1
_FIRST_CHALLENGE = 0x5EED


def handlers(fans: dict[str, Handler]) -> dict[str, dict[str, Handler]]:
    """The services of this file by full name, with their methods.

    The power service also switches a robot's fans.
    """
    return {
        "bosdyn.api.EstopService": {
            "GetEstopConfig": _get_config,
            "SetEstopConfig": _set_config,
            "RegisterEstopEndpoint": _register,
            "DeregisterEstopEndpoint": _deregister,
            "EstopCheckIn": _check_in,
            "GetEstopSystemStatus": _estop_status,
        },
        "bosdyn.api.PowerService": {
            "PowerCommand": _power,
            "PowerCommandFeedback": _power_feedback,
            **fans,
        },
        "bosdyn.api.FaultService": {
            "TriggerServiceFault": _trigger_fault,
            "ClearServiceFault": _clear_fault,
        },
    }


# E-stop


def _get_config(machine: Machine, _request: Any, response: Any) -> None:
    if machine.estop_config is not None:
        response.active_config.CopyFrom(machine.estop_config)


def _set_config(machine: Machine, request: Any, response: Any) -> None:
    reply = estop_pb2.SetEstopConfigResponse
    if machine.motors is not Motors.OFF:
        response.status = reply.STATUS_MOTORS_ON
        return
    current = "" if machine.estop_config is None else machine.estop_config.unique_id  # type: ignore[attr-defined]
    if request.target_config_id and request.target_config_id != current:
        response.status = reply.STATUS_INVALID_ID
        return
    config = estop_pb2.EstopConfig()
    config.CopyFrom(request.config)
    config.unique_id = f"config-{machine.next_number()}"
    for endpoint in config.endpoints:
        endpoint.unique_id = f"endpoint-{machine.next_number()}"
    machine.estop_config = config
    machine.endpoints.clear()
    response.active_config.CopyFrom(config)
    response.status = reply.STATUS_SUCCESS


def _register(machine: Machine, request: Any, response: Any) -> None:
    reply = estop_pb2.RegisterEstopEndpointResponse
    response.request.CopyFrom(request)
    config: Any = machine.estop_config
    if config is None or config.unique_id != request.target_config_id:
        response.status = reply.STATUS_CONFIG_MISMATCH
        return
    endpoint = estop_pb2.EstopEndpoint()
    endpoint.CopyFrom(request.new_endpoint)
    endpoint.unique_id = f"endpoint-{machine.next_number()}"
    machine.endpoints[endpoint.unique_id] = Endpoint(
        endpoint, seconds_of(endpoint.timeout) or 5.0, machine.now_s, _FIRST_CHALLENGE
    )
    response.new_endpoint.CopyFrom(endpoint)
    response.status = reply.STATUS_SUCCESS


def _deregister(machine: Machine, request: Any, response: Any) -> None:
    reply = estop_pb2.DeregisterEstopEndpointResponse
    if machine.motors is not Motors.OFF:
        response.status = reply.STATUS_MOTORS_ON
    elif machine.endpoints.pop(request.target_endpoint.unique_id, None) is None:
        response.status = reply.STATUS_ENDPOINT_MISMATCH
    else:
        response.status = reply.STATUS_SUCCESS


def _check_in(machine: Machine, request: Any, response: Any) -> None:
    reply = estop_pb2.EstopCheckInResponse
    response.request.CopyFrom(request)
    endpoint = machine.endpoints.get(request.endpoint.unique_id)
    if endpoint is None:
        response.status = reply.STATUS_ENDPOINT_UNKNOWN
        return
    response.challenge = endpoint.challenge
    if request.response != (~endpoint.challenge) & _MASK or request.challenge != endpoint.challenge:
        # The first response cannot be right: it is how clients learn the challenge.
        response.status = reply.STATUS_INCORRECT_CHALLENGE_RESPONSE
        return
    endpoint.last_s, endpoint.level = machine.now_s, request.stop_level
    endpoint.challenge = (endpoint.challenge * 6364136223846793005 + 1) & _MASK
    response.challenge = endpoint.challenge
    response.status = reply.STATUS_OK


def _estop_status(machine: Machine, _request: Any, response: Any) -> None:
    status = response.status
    for endpoint in machine.endpoints.values():
        shown = status.endpoints.add()
        shown.endpoint.CopyFrom(endpoint.message)
        shown.stop_level = endpoint.level
        set_stamp(shown.time_since_valid_response, machine.now_s - endpoint.last_s)
    status.stop_level = machine.stop_level


# Power


def _power(machine: Machine, request: Any, response: Any) -> None:
    if not use_lease(machine, request.lease, response.lease_use_result):
        return
    response.license_status = 1
    response.power_command_id = machine.next_number()
    kinds = power_pb2.PowerCommandRequest
    if request.request in (kinds.REQUEST_ON, kinds.REQUEST_ON_MOTORS):
        if machine.estopped:
            response.status = power_pb2.STATUS_ESTOPPED
            return
        machine.power(on=True)
    elif request.request in (kinds.REQUEST_OFF, kinds.REQUEST_OFF_MOTORS):
        machine.power(on=False)
    response.status = power_pb2.STATUS_IN_PROGRESS


def _power_feedback(machine: Machine, _request: Any, response: Any) -> None:
    busy = machine.motors is Motors.POWERING_ON
    response.status = power_pb2.STATUS_IN_PROGRESS if busy else power_pb2.STATUS_SUCCESS


# Faults


def _trigger_fault(machine: Machine, request: Any, response: Any) -> None:
    reply, name = service_fault_pb2.TriggerServiceFaultResponse, request.fault.fault_id.fault_name
    if name in machine.service_faults:
        response.status = reply.STATUS_FAULT_ALREADY_ACTIVE
        return
    machine.service_faults[name] = request.fault
    response.status = reply.STATUS_OK


def _clear_fault(machine: Machine, request: Any, response: Any) -> None:
    reply = service_fault_pb2.ClearServiceFaultResponse
    known = machine.service_faults.pop(request.fault_id.fault_name, None) is not None
    response.status = reply.STATUS_OK if known else reply.STATUS_FAULT_NOT_ACTIVE
