"""Services and payloads that clients register with the robot."""

from __future__ import annotations

from typing import Any

from bosdyn.api import (
    directory_pb2,
    directory_registration_pb2,
    payload_pb2,
    payload_registration_pb2,
    service_fault_pb2,
)

from sim_bridge.spot.emulator.identity_services import Accounts
from sim_bridge.spot.emulator.machine import Machine
from sim_bridge.spot.emulator.service import Handler

_PAYLOADS = payload_registration_pb2


class Registry:
    """Registered services and payloads; a payload is authorised as soon as it is registered.

    On a robot a person authorises it on the web page.
    """

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._payloads: dict[str, Any] = {}
        self._secrets: dict[str, str] = {}

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The services with their methods."""
        return {
            "bosdyn.api.DirectoryRegistrationService": {
                "RegisterService": self._register,
                "UpdateService": self._update,
                "UnregisterService": self._unregister,
            },
            "bosdyn.api.PayloadService": {"ListPayloads": self._list},
            "bosdyn.api.PayloadRegistrationService": {
                "RegisterPayload": self._add_payload,
                "UpdatePayloadVersion": self._set_version,
                "UpdatePayloadAttached": self._attach,
                "GetPayloadAuthToken": self._token,
            },
        }

    # Services

    def _register(self, machine: Machine, request: Any, response: Any) -> None:
        reply, name = directory_registration_pb2.RegisterServiceResponse, request.service_entry.name
        if self._accounts.knows(name):
            response.status = reply.STATUS_ALREADY_EXISTS
        else:
            self._keep(machine, request)
            response.status = reply.STATUS_OK

    def _update(self, machine: Machine, request: Any, response: Any) -> None:
        reply = directory_registration_pb2.UpdateServiceResponse
        known = request.service_entry.name in self._accounts.registered
        if known:
            self._keep(machine, request)
        response.status = reply.STATUS_OK if known else reply.STATUS_NONEXISTENT_SERVICE

    def _keep(self, machine: Machine, request: Any) -> None:
        entry = directory_pb2.ServiceEntry()
        entry.CopyFrom(request.service_entry)
        self._accounts.registered[entry.name] = entry
        self._accounts.seen_s[entry.name] = machine.now_s

    def _unregister(self, machine: Machine, request: Any, response: Any) -> None:
        reply = directory_registration_pb2.UnregisterServiceResponse
        entry = self._accounts.registered.pop(request.service_name, None)
        self._accounts.seen_s.pop(request.service_name, None)
        machine.service_faults.pop(liveness_fault(request.service_name), None)
        response.status = reply.STATUS_NONEXISTENT_SERVICE if entry is None else reply.STATUS_OK

    def watch(self, machine: Machine) -> None:
        """Raises a fault for each registered service that fell silent, until it is back.

        The SDK's directory keepalive sends an update in every liveness period.
        """
        for name, entry in self._accounts.registered.items():
            fault_name, limit_s = liveness_fault(name), entry.liveness_timeout_secs
            silent = limit_s > 0 and machine.last_s - self._accounts.seen_s[name] > limit_s
            if silent and fault_name not in machine.service_faults:
                fault = service_fault_pb2.ServiceFault(
                    error_message=f"{name} has not been heard of for {limit_s:.0f} s",
                    severity=service_fault_pb2.ServiceFault.SEVERITY_CRITICAL,
                )
                fault.fault_id.fault_name, fault.fault_id.service_name = fault_name, name
                machine.service_faults[fault_name] = fault
            elif not silent:
                machine.service_faults.pop(fault_name, None)

    # Payloads

    def _list(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.payloads.extend(self._payloads.values())

    def _add_payload(self, _machine: Machine, request: Any, response: Any) -> None:
        reply, guid = _PAYLOADS.RegisterPayloadResponse, request.payload.GUID
        if guid in self._payloads:
            response.status = reply.STATUS_ALREADY_EXISTS
            return
        payload = payload_pb2.Payload()
        payload.CopyFrom(request.payload)
        payload.is_authorized = payload.is_enabled = True
        self._payloads[guid], self._secrets[guid] = payload, request.payload_secret
        response.status = reply.STATUS_OK

    def _set_version(self, _machine: Machine, request: Any, response: Any) -> None:
        payload = self._of(request, response)
        if payload is not None:
            payload.version.CopyFrom(request.updated_version)
            response.status = response.STATUS_OK

    def _attach(self, _machine: Machine, request: Any, response: Any) -> None:
        payload = self._of(request, response)
        if payload is not None:
            wanted = _PAYLOADS.UpdatePayloadAttachedRequest.REQUEST_ATTACH
            payload.is_enabled = request.request == wanted
            response.status = response.STATUS_OK

    def _token(self, _machine: Machine, request: Any, response: Any) -> None:
        guid, secret = _credentials(request)
        if guid not in self._secrets or self._secrets[guid] != secret:
            response.status = response.STATUS_INVALID_CREDENTIALS
        else:
            response.status, response.token = response.STATUS_OK, self._accounts.new_token()

    def _of(self, request: Any, response: Any) -> Any:
        guid, secret = _credentials(request)
        if guid not in self._payloads:
            response.status = response.STATUS_DOES_NOT_EXIST
        elif self._secrets[guid] != secret:
            response.status = response.STATUS_INVALID_CREDENTIALS
        else:
            return self._payloads[guid]
        return None


def liveness_fault(service: str) -> str:
    """The name of the fault for a registered service that fell silent."""
    return f"{service} liveness"


def _credentials(request: Any) -> tuple[str, str]:
    """The new field of a payload's credentials, or the old ones."""
    given = request.payload_credentials
    if given.guid or not hasattr(request, "payload_guid"):
        return given.guid, given.secret
    return request.payload_guid, request.payload_secret
