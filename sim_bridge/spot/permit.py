"""What bounds commands: stops, the lease, the keepalive policy, the robot's clock (rule 1, 3)."""

from __future__ import annotations

import contextlib
import math
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any, TypeVar

from bosdyn.api import lease_pb2
from bosdyn.client.keepalive import InvalidPolicyError, Policy
from bosdyn.util import RobotTimeConverter

from planner.world.errors import PlannerError
from sim_bridge.one_robot import Command
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.spot.connection import SDK_ERRORS, RobotAddress

LeaseT = TypeVar("LeaseT")


class WithdrawnError(Exception):
    """A motion was stopped or paused while sending a command."""


class Permit:
    """Grants of motions, and the order of leases between threads.

    A robot rejects a command whose lease is older than the newest one that it has seen. A stop
    revokes all grants before it takes its lease: commands permitted earlier that arrive later are
    rejected by the robot, later requests here.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._epoch = 0
        self._thread = threading.local()

    @property
    def epoch(self) -> int:
        """The grant for a motion that starts now."""
        return self._epoch

    def withdraw(self) -> None:
        """Revokes all grants."""
        with self._lock:
            self._epoch += 1

    @contextmanager
    def granted(self, epoch: int) -> Iterator[None]:
        """Commands of this thread belong to the motion with this grant in this context."""
        before = getattr(self._thread, "grant", None)
        self._thread.grant = epoch
        try:
            yield
        finally:
            self._thread.grant = before

    @property
    def withdrawn(self) -> bool:
        """Whether this thread's motion was stopped or paused."""
        grant = getattr(self._thread, "grant", None)
        return grant is not None and grant != self._epoch

    @property
    def is_motion(self) -> bool:
        """Whether this thread's commands belong to a motion, which a stop may overtake."""
        return getattr(self._thread, "grant", None) is not None

    def lease(self, advance: Callable[[], LeaseT]) -> LeaseT:
        """The next lease, for a command of this thread.

        Raises:
            WithdrawnError: if its motion was stopped or paused.
        """
        with self._lock:
            if self.withdrawn:
                raise WithdrawnError
            return advance()


# The owner of the body lease, judged by the lease itself rather than by the client's name.


@dataclass(frozen=True, slots=True)
class LeaseEntry:
    """The robot's entry for its body.

    Attributes:
        owner: the name that its owner gave; empty if there is none.
        epoch: changes when the robot is restarted.
        ours: whether the robot's newest lease descends from ours.
    """

    owner: str = ""
    epoch: str = ""
    ours: bool = False


def body_entry(resources: Iterable[Any], held: Any) -> LeaseEntry:
    """The body's entry in the answer of ListLeases.

    Args:
        resources: `bosdyn.api.LeaseResource` messages.
        held: our SDK lease, None without one.
    """
    for resource in resources:
        if resource.resource == "body":
            owner = str(resource.lease_owner.client_name)
            ours = bool(owner) and held is not None and _descends(resource.lease, held.lease_proto)
            return LeaseEntry(owner, str(resource.lease.epoch), ours)
    return LeaseEntry()


def overtaken(told: Any, held: Any) -> bool:
    """Whether a lease was refused for a newer one of ours, which has reached the robot before it.

    Args:
        told: `bosdyn.api.LeaseUseResult` of the refusal.
        held: our SDK lease, None without one.
    """
    if held is None or told.status != lease_pb2.LeaseUseResult.STATUS_OLDER:
        return False
    return _descends(told.latest_known_lease, held.lease_proto)


def _descends(newest: Any, given: Any) -> bool:
    """Whether a lease is the given one or a sublease of it; each new owner has a new root."""
    root = tuple(given.sequence)[:1]
    return newest.epoch == given.epoch and bool(root) and tuple(newest.sequence)[:1] == root


# What the robot does by itself when the bridge falls silent (rule 3).

Call = Callable[[Callable[[], Any]], Any]


class KeepalivePolicy:
    """The only policy of a connection, associated with its lease.

    If an answer is lost, it is unknown whether the robot has the policy. A policy without check-ins
    switches the motors off, again whenever they are switched on.
    """

    def __init__(
        self, name: str, owner: str, client: Any, call: Call, safety: SafetyOptions
    ) -> None:
        """Starts without a policy.

        Args:
            name: of the policy.
            owner: the name by which the robot knows this connection.
            client: the SDK's `KeepaliveClient`.
            call: makes a call to it.
            safety: the times.
        """
        self._name, self._owner, self._client, self._call = name, owner, client, call
        self._safety, self._timeout_s = safety, safety.timeouts.lease_s
        self._number: int | None = None
        # Whether the robot may have a policy with unknown number.
        self._stray = False

    def tie(self, lease: Any) -> None:
        """Adds a policy for this lease, replacing all earlier ones of ours.

        Raises:
            Error: of the SDK, if it is not known to be there.
        """
        policy, limits = Policy(), self._safety.keepalive
        policy.name = self._name
        policy.add_record_event_action([], limits.warn_after_s)
        policy.add_controlled_motors_off_action(limits.motors_off_after_s)
        policy.add_associated_lease(lease)
        old = self._strays() if self._stray else []
        self._stray = True
        added = self._call(
            lambda: self._client.modify_policy(
                to_add=policy, policy_ids_to_remove=old, timeout=self._timeout_s
            )
        )
        self._number, self._stray = added.added_policy.policy_id, False

    def _strays(self) -> list[int]:
        response = self._call(lambda: self._client.get_status(timeout=self._timeout_s))
        return [each.policy_id for each in response.status if each.client_name == self._owner]

    def check_in(self, lease: Any) -> None:
        """Checks in; adds another policy if the robot has none of ours.

        Raises:
            Error: of the SDK.
        """
        number = self._number
        if number is None:
            self.tie(lease)
            return
        try:
            self._call(lambda: self._client.check_in(number, timeout=self._timeout_s))
        except InvalidPolicyError:
            self._number = None
            self.tie(lease)

    def remove(self) -> None:
        """Removes the policy, if there is one.

        Raises:
            Error: of the SDK, if it may still be there: then it needs check-ins.
        """
        number = self._number
        if number is None:
            return
        # Unknown to the robot if an earlier request was executed and its answer lost.
        with suppress(InvalidPolicyError):
            self._call(
                lambda: self._client.modify_policy(
                    policy_ids_to_remove=[number], timeout=self._timeout_s
                )
            )
        self._number = None


# The robot's clock, by which commands expire (rule 1).

# The robot's stamp may be a little older than its answer, and an estimate over a slow link is off
# by part of the round trip. A walk may outlive its permission by this much unnoticed;
# motion.command_ttl_s is shorter than the allowed time by the same amount.
TOLERANCE_S = 0.1
_NS = 1e9


class RobotClock:
    """The SDK's estimate of the robot's clock, checked against every answer with a stamp.

    Replaces an SDK time sync endpoint in commands.
    """

    def __init__(self, endpoint: Any) -> None:
        """Starts with the estimate of a synchronised endpoint."""
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._skew_s = self._estimated_s
        # Bounds of the skew from the newest answer, and when that was requested.
        self._bounds_s = (-math.inf, math.inf)
        self._asked_s = -math.inf

    @property
    def _estimated_s(self) -> float:
        skew = self._endpoint.clock_skew
        return float(skew.seconds) + float(skew.nanos) / _NS

    @property
    def skew_s(self) -> float:
        """How far the robot's clock is ahead of ours."""
        return self._skew_s

    def check(self, stamp_s: float, asked_s: float, answered_s: float) -> float:
        """Checks the estimate against an answer, and corrects it if they differ.

        Args:
            stamp_s: the robot's time in the answer.
            asked_s: our time of the request.
            answered_s: our time of the answer.

        Returns:
            By how many seconds the estimate was moved: negative if the robot's clock was set back,
                or ours forward; 0.0 if it is consistent.
        """
        with self._lock:
            if 0.0 < self._asked_s - asked_s < answered_s - asked_s:
                # Another thread has a newer answer already.
                return 0.0
            self._asked_s = asked_s
            self._bounds_s = (stamp_s - answered_s, stamp_s - asked_s)
            if self._allows(self._skew_s):
                return 0.0
            before_s, self._skew_s = self._skew_s, math.fsum(self._bounds_s) / 2
            return self._skew_s - before_s

    def _allows(self, skew_s: float) -> bool:
        low_s, high_s = self._bounds_s
        return low_s - TOLERANCE_S <= skew_s <= high_s + TOLERANCE_S

    def compare(self) -> None:
        """Requests a new estimate, and uses it unless it contradicts the newest answer.

        Raises:
            Error: of the SDK.
        """
        # Each answer concerns the previous request.
        for _ in range(2):
            self._endpoint.get_new_estimate()
        with self._lock:
            if self._allows(self._estimated_s):
                self._skew_s = self._estimated_s

    # Interface of an SDK endpoint

    @property
    def clock_identifier(self) -> str:
        """The SDK's name for this comparison."""
        return str(self._endpoint.clock_identifier)

    def get_robot_time_converter(self) -> Any:
        """The SDK's converter with the present skew."""
        return RobotTimeConverter(round(self._skew_s * _NS))

    def robot_timestamp_from_local_secs(self, local_s: float) -> Any:
        """Our time as the robot's."""
        return self.get_robot_time_converter().robot_timestamp_from_local_secs(local_s)


def establish(endpoint: Any, max_skew_s: float) -> RobotClock:
    """Compares the clocks for the first time (rule 1: commands end by robot time).

    Raises:
        PlannerError: if that fails, or they differ by more than `max_skew_s`.
    """
    try:
        done = endpoint.establish_timesync(max_samples=25, break_on_success=True)
    except SDK_ERRORS:
        done = False
    if not done:
        raise PlannerError(
            "spot: the robot's clock cannot be compared; wait until it has booted, try again"
        )
    clock = RobotClock(endpoint)
    if abs(clock.skew_s) > max_skew_s:
        way = "ahead of" if clock.skew_s > 0 else "behind"
        raise PlannerError(
            f"spot: the robot's clock is {abs(clock.skew_s):.0f} s {way} this computer's, more "
            f"than {max_skew_s:g} s (link.most_skew_s); set both clocks by the same time server"
        )
    return clock


# The bridge's end of the emergency-stop process (estop_endpoint.py).

# Importing the SDK takes long on a busy machine; nothing moves before it has answered.
START_S = 60.0
ANSWER_S = 3.0
LEVELS = {
    Command.ESTOP_GENTLE: "gentle",
    Command.ESTOP_HARD: "hard",
    Command.ESTOP_RELEASE: "allow",
}


class EstopProcess:
    """An e-stop endpoint in another process, so that it outlives a bridge that hangs."""

    def __init__(self, where: RobotAddress, safety: SafetyOptions) -> None:
        """Starts it and sets up the endpoint, which requires the motors to be off.

        Raises:
            PlannerError: if it cannot be set up, with what to do.
        """
        env = dict(os.environ)
        env["SPOT_IP"], env["SPOT_PORT"] = where.address, str(where.port)
        env["SPOT_CERTIFICATE"] = where.certificate
        env["BOSDYN_CLIENT_USERNAME"] = where.user
        env["BOSDYN_CLIENT_PASSWORD"] = where.password
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "sim_bridge.spot.estop_endpoint",
                safety.model_dump_json(include={"estop", "timeouts", "link"}),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        answer = self._answer(START_S)
        if answer != "ready":
            self.close()
            why = answer.removeprefix("error ") or "its process did not answer"
            raise PlannerError(f"spot: emergency stop: {why}")

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def alive(self) -> None:
        """Reports that the bridge is alive and reaches the robot."""
        self._send("alive")

    def set(self, command: Command) -> str:
        """Sets the level of one of the estop commands; returns why that failed, or ""."""
        word = LEVELS[command]
        if not self._send(word):
            return "the emergency stop's process is gone; the robot stops by itself"
        answer = self._answer(ANSWER_S)
        return "" if answer == f"ok {word}" else answer.removeprefix("error ") or "no answer"

    def close(self) -> None:
        """Removes the endpoint; the robot was brought to rest before."""
        if self._process.poll() is None and self._send("leave"):
            self._answer(ANSWER_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # The process has ended already.
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, word: str) -> bool:
        pipe: IO[str] | None = self._process.stdin
        try:
            if pipe is not None and not pipe.closed:
                pipe.write(f"{word}\n")
                pipe.flush()
                return True
        except (BrokenPipeError, ValueError):
            pass
        return False

    def _answer(self, within_s: float) -> str:
        pipe: IO[str] | None = self._process.stdout
        if pipe is None or not select.select([pipe], [], [], within_s)[0]:
            return ""
        return pipe.readline().strip()
