"""One connection to the robot: a login of its own and channels of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, TypeVar

import bosdyn.util
import grpc
from bosdyn.client import create_standard_sdk
from bosdyn.client.directory import DirectoryClient
from bosdyn.client.exceptions import (
    Error,
    ProxyConnectionError,
    TimedOutError,
    UnableToConnectToRobotError,
    UnauthenticatedError,
)
from bosdyn.client.time_sync import TimeSyncClient

from planner.world.errors import PlannerError
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.spot.address import RobotAddress, explain_no_answer
from sim_bridge.spot.advice import SDK_ERRORS, advice

ResultT = TypeVar("ResultT")


class Channel(StrEnum):
    """The purpose of a connection, so that nothing urgent queues behind anything slow."""

    STATE = "state"
    PICTURES = "pictures"
    MOTION = "motion"
    STOP = "stop"
    LEASE = "lease"


class Connection:
    """One SDK robot object. `now_s` is also the SDK's clock."""

    def __init__(
        self, name: str, where: RobotAddress, safety: SafetyOptions, now_s: Callable[[], float]
    ) -> None:
        self._name, self._where, self._safety, self._now_s = name, where, safety, now_s
        self.robot: Any = None
        self.sync: Any = None

    def connect(self, wallet: Any = None) -> None:
        """Logs in; `wallet` holds the leases shared with other connections.

        Raises:
            PlannerError: with what is wrong and what to do, in one sentence.
        """
        self.use_clock()
        where, within_s = self._where, self._safety.timeouts.login_s
        certificate = where.certificate or None
        try:
            # The SDK keeps one connection per address and SDK object.
            sdk = create_standard_sdk(self._name, cert_resource_glob=certificate)
        except (OSError, Error) as error:
            raise PlannerError(
                f"spot: the certificate {certificate!r} cannot be read; set SPOT_CERTIFICATE"
            ) from error
        for client in (DirectoryClient, TimeSyncClient):
            sdk.register_service_client(_prompt(client, within_s))
        self.robot = sdk.create_robot(where.address)
        self.robot.update_secure_channel_port(where.port)
        if wallet is not None:
            self.robot.lease_wallet = wallet
        with self.errors_explained():
            self.robot.authenticate(where.user, where.password, timeout=within_s)
            # The thread would use whichever clock the process has at that moment.
            self.sync = self.robot.time_sync.endpoint
            self.robot.stop_time_sync()

    def errors_explained(self) -> _Explained:
        """Turns the SDK's errors of a connection into one sentence each."""
        return _Explained(self._where)

    def client(self, kind: Any) -> Any:
        """The client of a service on this connection."""
        found = self.robot.ensure_client(kind.default_service_name)
        # Some clients start the thread again.
        self.robot.stop_time_sync()
        return found

    def warm_up(self, clients: Iterable[Any]) -> None:
        """Connects the gRPC channels of these clients before their first call.

        A handshake takes several round trips, which the first stop must not wait for.

        Raises:
            Error: of the SDK, if the robot does not answer within the login timeout.
        """
        for client in clients:
            ready = grpc.channel_ready_future(client.channel)
            try:
                ready.result(self._safety.timeouts.login_s)
            except grpc.FutureTimeoutError:
                raise TimedOutError(None, "the channel did not connect") from None

    def use_clock(self) -> None:
        """Sets the SDK's process-wide clock to this connection's."""
        bosdyn.util.set_clock_source(self._now_s)

    def call(self, call: Callable[[], ResultT]) -> ResultT:
        """A call that renews an expired token once."""
        self.use_clock()
        try:
            return call()
        except UnauthenticatedError:
            within_s = self._safety.timeouts.login_s
            self.robot.authenticate(self._where.user, self._where.password, timeout=within_s)
            return call()

    def close(self) -> None:
        """Ends the connection."""
        if self.sync is not None:
            self.robot.stop_time_sync()


class _Explained:
    def __init__(self, where: RobotAddress) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, SDK_ERRORS):
            silent = isinstance(error, (ProxyConnectionError, UnableToConnectToRobotError))
            why = explain_no_answer(self._where) if silent else advice(error)
            where = f"{self._where.address}:{self._where.port}"
            raise PlannerError(f"spot at {where}: {why}") from error


def _prompt(client: type[Any], within_s: float) -> type[Any]:
    """A client of the SDK with our timeout instead of the SDK's 30 s."""

    class Prompt(client):  # type: ignore[misc]
        def call(self, *arguments: Any, **named: Any) -> Any:
            named.setdefault("timeout", within_s)
            return super().call(*arguments, **named)

    return Prompt
