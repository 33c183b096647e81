"""An action server whose owner ends its goals, and whether its clients are still alive."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeAlias

from action_msgs.msg import GoalStatus
from rclpy.action.server import ActionServer, CancelResponse, ServerGoalHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.service_introspection import ServiceIntrospectionState
from service_msgs.msg import ServiceEventInfo

from planner.ros import qos
from planner.ros.clients import Callers
from planner.ros.guard import guard_of
from planner.ros.subscriptions import bounds_of
from planner.world.bounds import OutOfBounds

# Whether the clients of a motion, or their server, are still alive.
#
# DDS reports a process that shuts down at once, but a killed one only when its participant's lease
# expires: 20 s by default, in which a robot walks 15 m. On the same machine the kernel knows at
# once. Fast DDS writes the low 16 bits of the process id into bytes 4 and 5 of every GUID and the
# machine's id into bytes 2 and 3 (measured; used only if the bridge's own GUID passes
# `is_of_process`).

_HOST = slice(0, 4)
_PROCESS = slice(4, 6)
# Endpoints of one participant share this prefix.
_PARTICIPANT = slice(0, 12)

# The initial pid namespace, which sees every process; the kernel's PROC_PID_INIT_INO.
_WHOLE_MACHINE = "pid:[4026531836]"

Processes = Callable[[int], frozenset[tuple[int, str]]]


def running_processes(low_bits: int, proc: Path = Path("/proc")) -> frozenset[tuple[int, str]]:
    """(pid, start time) of the running processes whose pid has these low 16 bits.

    Zombies do not count.
    """
    found = set()
    for pid in range(low_bits or 0x10000, _highest_pid(proc) + 1, 0x10000):
        try:
            text = (proc / str(pid) / "stat").read_text()
        except OSError:
            continue
        # The command name, in parentheses, may contain blanks and parentheses.
        fields = text.rpartition(")")[2].split()
        if fields[0] not in ("Z", "X"):
            found.add((pid, fields[19]))
    return frozenset(found)


def surely_gone(low_bits: int, proc: Path = Path("/proc")) -> bool:
    """Whether no process of this machine, in no container, has a pid with these low 16 bits.

    False if unknown: a container does not see all processes.
    """
    try:
        if str((proc / "self/ns/pid").readlink()) != _WHOLE_MACHINE:
            return False
        return not any(_has_pid(status, low_bits) for status in proc.glob("[0-9]*/status"))
    except OSError:
        return False


def _has_pid(status: Path, low_bits: int) -> bool:
    """Whether a running process has such a pid in any of its namespaces."""
    try:
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    except (OSError, ValueError):
        return False  # it ended meanwhile
    if fields["State"].split()[0] in ("Z", "X"):
        return False
    return any(int(pid) & 0xFFFF == low_bits for pid in fields.get("NSpid", "").split())


def _highest_pid(proc: Path) -> int:
    try:
        return int((proc / "sys/kernel/pid_max").read_text())
    except (OSError, ValueError):
        return 0x3FFFFF


def is_of_process(gid: bytes, pid: int) -> bool:
    """Whether a GUID carries the id of this process."""
    return int.from_bytes(gid[_PROCESS], "little") == pid & 0xFFFF


def same_host(gid: bytes, other: bytes) -> bool:
    """Whether two GUIDs are of one machine."""
    return gid[_HOST] == other[_HOST]


def _low_bits(gid: bytes) -> int:
    return int.from_bytes(gid[_PROCESS], "little")


class Peers:
    """The possible clients or servers of a goal.

    rclpy does not report who sent a goal or who accepted it. With several candidates the loss of
    any one counts: a needless stop is safer than walking on.
    """

    def __init__(
        self,
        gids: Collection[bytes],
        own_gid: bytes | None,
        processes: Processes = running_processes,
        what: str = "client",
        *,
        endpoints: bool = False,
        gone: Callable[[int], bool] = lambda _low_bits: False,
    ) -> None:
        """Records the peers.

        Args:
            gids: of the peers.
            own_gid: None where GUIDs carry no process ids.
            processes: as `running_processes`.
            what: "client" or "server", for messages.
            endpoints: whether another endpoint of the same process is another peer, such as a
                recreated server.
            gone: as `surely_gone`, if each peer is known to have taken part: one that is dead
                already counts as lost.
        """
        self._what, self._own_gid, self._processes, self._gone = what, own_gid, processes, gone
        self._mark = slice(None) if endpoints else _PARTICIPANT
        self._settled = False
        self._running: dict[int, frozenset[tuple[int, str]]] = {}
        self._record(gids)

    def _record(self, gids: Collection[bytes]) -> None:
        self._gids = frozenset(gid[self._mark] for gid in gids)
        self._unseen = {gid for gid in self._gids if self._is_here(gid)}
        for gid in tuple(self._unseen):
            # None: it runs in another pid namespace, or it was killed and is still listed.
            if running := self._processes(_low_bits(gid)):
                self._running[_low_bits(gid)] = running
                self._unseen.remove(gid)
        self._dead = any(self._gone(_low_bits(gid)) for gid in self._unseen)

    def _is_here(self, gid: bytes) -> bool:
        return self._own_gid is not None and same_host(gid, self._own_gid)

    @property
    def doubtful(self) -> bool:
        """Whether a peer may be dead, so that messages to it may be lost."""
        return bool(self._unseen)

    def settle(self) -> None:
        """One of them has answered: drops those that may be dead if others run."""
        self._settled = True
        if self._running:
            self._gids -= self._unseen

    def lost(self, gids: Collection[bytes], count: int) -> str:
        """Why one counts as lost; "" if none is.

        Args:
            gids: of the current peers.
            count: of current peers, for middlewares that do not report GUIDs.
        """
        if self._settled and not self._running and self._gids == self._unseen:
            # Whoever answered was not listed yet.
            here = [g for g in gids if self._is_here(g) and self._processes(_low_bits(g))]
            self._record(here or self._gids)
        if not self._gids and count == 0:
            return f"no {self._what} of this action is left"
        if not self._gids <= {gid[self._mark] for gid in gids}:
            return f"a {self._what} of this action has left"
        if self._dead or any(
            not before & self._processes(low_bits) for low_bits, before in self._running.items()
        ):
            return f"the process of a {self._what} of this action has died"
        return ""


# Clients and servers of an action, by their DDS names (planner.ros.goal_server).

# Wall seconds until an unaccepted goal counts as lost. The middleware lists a killed server for a
# while and routes goals to it; its successor only gets later ones.
ACCEPT_TIMEOUT_S = 15.0
DOUBTFUL_ACCEPT_TIMEOUT_S = 2.0


def accept_timeout_s(servers: Peers | None) -> float:
    """Timeout for these servers to accept a goal, wall seconds."""
    doubtful = servers is not None and servers.doubtful
    return DOUBTFUL_ACCEPT_TIMEOUT_S if doubtful else ACCEPT_TIMEOUT_S


class ActionPeers:
    """Tracks the clients and servers of one action, for the client or server in this process."""

    def __init__(self, node: Node, action: str) -> None:
        """`action`: the name as used by the node, such as agent_0/skill."""
        self._node = node
        # DDS knows only full names.
        self._service = node.resolve_service_name(f"{action}/_action/send_goal")

    def client(self, gid: bytes) -> Peers:
        """The one client whose participant has this GUID; it may be dead by now."""
        return Peers([gid], self._own_gid(), what="client", gone=surely_gone)

    def no_client(self) -> str:
        """Why no client can be waiting; "" if one may be."""
        left = self._node.count_clients(self._service)
        return "" if left else "no client of this action is left"

    def clients(self) -> Peers:
        """The current clients."""
        return Peers(self._requesters(), self._own_gid(), what="client")

    def lost_client(self, peers: Peers) -> str:
        """Why one of these clients counts as lost; "" if none is."""
        return peers.lost(self._requesters(), self._node.count_clients(self._service))

    def servers(self) -> Peers:
        """The current servers."""
        return Peers(self._repliers(), self._own_gid(), what="server", endpoints=True)

    def takers(self) -> Peers:
        """The servers, one of which has just accepted a goal."""
        servers = self.servers()
        servers.settle()
        return servers

    def lost_server(self, peers: Peers) -> str:
        """Why one of these servers counts as lost; "" if none is."""
        return peers.lost(self._repliers(), self._node.count_services(self._service))

    # By DDS names of requests and replies: rclpy only counts endpoints.

    def _requesters(self) -> list[bytes]:
        return self._gids(f"rq{self._service}Request")

    def _repliers(self) -> list[bytes]:
        return self._gids(f"rr{self._service}Reply")

    def _gids(self, topic: str) -> list[bytes]:
        writers = self._node.get_publishers_info_by_topic(topic, no_mangle=True)
        return [bytes(writer.endpoint_gid) for writer in writers]

    def _own_gid(self) -> bytes | None:
        """This process's GUID; None where GUIDs carry no process ids."""
        for gid in (*self._repliers(), *self._requesters()):
            if is_of_process(gid, os.getpid()):
                return gid
        return None


RCLError = rclpy_implementation.RCLError
# Introspection may report a request after its goal has ended, so old entries are dropped.
MAX_SENDERS = 64
# As rclpy does.
RESULT_LIFETIME_S = 10

Goal: TypeAlias = ServerGoalHandle[Any, Any, Any]


class GoalServer(ActionServer[Any, Any, Any]):
    """Passes accepted goals to `on_goal` and keeps them executing until `conclude`.

    rclpy runs a goal inside a callback, which would block a single-threaded executor, or as a
    coroutine that it polls in a busy loop. Here a goal is only stored, and its callback runs when
    the result is available.

    Every goal is accepted; errors are reported by the result's code and text. One out of the
    bounds of `planner.world.field_bounds` goes to `on_wrong` instead of `on_goal`.

    Sending a goal again under the same id, because no answer came, is safe: it gets the same
    answer and result; rclpy would refuse it. Another goal under a known id is refused.

    Results are kept for `result_lifetime_s`. A later request, or one to a restarted server, gets a
    result with `fault_code`: rclpy would answer with an empty one, whose code 0 reads as success.

    rclpy does not report who sent a goal. Service introspection does, by a topic with the goal's
    id and the sender's GUID.
    """

    def __init__(
        self,
        node: Node,
        action: Any,
        name: str,
        *,
        on_goal: Callable[[Goal], None],
        on_wrong: Callable[[Goal, OutOfBounds], None],
        on_cancel: Callable[[Goal], None],
        now_s: Callable[[], float],
        fault_code: int,
        result_lifetime_s: int = RESULT_LIFETIME_S,
    ) -> None:
        """Serves the action `name`.

        Args:
            node: that serves it.
            action: the action's class.
            name: the action's name, relative to the node's namespace.
            on_goal: gets each goal that is in bounds.
            on_wrong: gets each other goal, to conclude it, with the field and the reason.
            on_cancel: gets each goal whose client cancels it.
            now_s: clock of stamps in goals.
            fault_code: result code for unknown goals.
            result_lifetime_s: how long results are kept, seconds.

        Raises:
            UnboundedFieldError: if a field of the goal has no bound.
        """
        self._bounds = bounds_of(action.Goal)
        super().__init__(
            node,
            action,
            name,
            execute_callback=_never,
            handle_accepted_callback=self._begin,
            cancel_callback=self._cancel,
            goal_service_qos_profile=qos.REQUESTS,
            result_service_qos_profile=qos.REQUESTS,
            cancel_service_qos_profile=qos.REQUESTS,
            result_timeout=result_lifetime_s,
        )
        self._name, self._results_kept_s = name, result_lifetime_s
        self._on_goal, self._on_wrong, self._now_s = on_goal, on_wrong, now_s
        self._fault_code = fault_code
        self._on_cancel = on_cancel
        self._ends = ActionPeers(node, name)
        self._senders: dict[bytes, Peers] = {}
        self._open: set[bytes] = set()
        self.configure_introspection(
            node.get_clock(), qos.EVENTS, ServiceIntrospectionState.CONTENTS
        )
        self._callers = Callers(
            node, self, action.Impl.SendGoalService.Event, f"{name}/_action/send_goal"
        )
        self._requests = node.create_subscription(
            action.Impl.SendGoalService.Event,
            f"{name}/_action/send_goal/_service_event",
            self._note_sender,
            qos.EVENTS,
        )

    def notify_execute(
        self, goal_handle: Goal, execute_callback: Callable[..., Any] | None
    ) -> None:
        """Lets only `conclude` run a goal's callback; see the class."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def conclude(self, goal: Goal, result: Any, *, succeeded: bool, canceled: bool) -> None:
        """Ends a goal; its client gets the result message.

        Args:
            goal: the goal.
            result: message of the action's result type.
            succeeded: whether the goal was achieved.
            canceled: whether it ended because its client canceled it.
        """

        def end(handle: Goal) -> Any:
            if succeeded:
                handle.succeed()
            elif canceled and handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return result

        self._open.discard(bytes(goal.goal_id.uuid))
        self._senders.pop(bytes(goal.goal_id.uuid), None)
        super().notify_execute(goal, end)

    def lost_client(self, goal: Goal) -> str:
        """Why the client that sent a goal counts as lost; "" if it does not."""
        sender = self._senders.get(bytes(goal.goal_id.uuid))
        return self._ends.no_client() if sender is None else self._ends.lost_client(sender)

    def destroy(self) -> None:
        """Removes the action."""
        self._callers.destroy()
        self._node.destroy_subscription(self._requests)
        super().destroy()

    def _note_sender(self, event: Any) -> None:
        if event.info.event_type == ServiceEventInfo.REQUEST_RECEIVED and event.request:
            sender = self._ends.client(bytes(event.info.client_gid))
            self._senders[bytes(event.request[0].goal_id.uuid)] = sender
            ended = [uuid for uuid in self._senders if uuid not in self._open]
            for uuid in ended[: max(0, len(ended) - MAX_SENDERS)]:
                del self._senders[uuid]

    def _begin(self, goal: Goal) -> None:
        self._open.add(bytes(goal.goal_id.uuid))
        goal.execute()
        try:
            problem = self._bounds.problem(goal.request, self._now_s())
            if refusal := self._callers.refusal():
                self._on_wrong(goal, OutOfBounds("goal", refusal))
            elif problem is not None:
                self._on_wrong(goal, problem)
            else:
                self._on_goal(goal)
        except Exception as error:
            # A client would wait for its result for ever.
            guard_of(self._node).contain(error, f"a goal of {self._name}")
            if goal.is_active:
                text = f"the goal cannot be carried out: {type(error).__name__}: {error}"
                result = self.action_type.Result(code=self._fault_code, text=text)
                self.conclude(goal, result, succeeded=False, canceled=False)

    async def _execute_goal_request(self, request_header_and_message: Any) -> None:
        """Repeats the answer for a known goal."""
        request_header, request = request_header_and_message
        known = self._goal_handles.get(bytes(request.goal_id.uuid))
        if known is None or known.request != request.goal:
            await super()._execute_goal_request(request_header_and_message)
            return
        response = self.action_type.Impl.SendGoalService.Response()
        response.accepted, response.stamp = True, known._goal_info.stamp  # noqa: SLF001
        try:
            with self._lock:
                self._handle.send_goal_response(request_header, response)
        except RCLError:
            self._logger.warning("a goal's acceptance was not sent: its client is gone")
            return
        # rclpy does not start a goal whose first acceptance could not be sent.
        if known.status == GoalStatus.STATUS_ACCEPTED:
            self._begin(known)

    async def _execute_get_result_request(self, request_header_and_message: Any) -> None:
        """Answers for an unknown goal with `fault_code`."""
        request_header, request = request_header_and_message
        if bytes(request.goal_id.uuid) in self._goal_handles:
            await super()._execute_get_result_request(request_header_and_message)
            return
        response = self.action_type.Impl.GetResultService.Response()
        response.status = GoalStatus.STATUS_UNKNOWN
        response.result.code = self._fault_code
        response.result.text = (
            "this server knows no such goal: its result was kept for "
            f"{self._results_kept_s} s, or it was given to a server that has ended"
        )
        try:
            with self._lock:
                self._handle.send_result_response(request_header, response)
        except RCLError:
            self._logger.warning("a result was not sent: its client is gone")

    def _cancel(self, goal: Goal) -> CancelResponse:
        try:
            self._on_cancel(goal)
        except Exception as error:
            guard_of(self._node).contain(error, f"a cancellation of {self._name}")
            return CancelResponse.REJECT
        return CancelResponse.ACCEPT


def _never(_goal: Goal) -> Any:
    raise RuntimeError("a goal is ended by GoalServer.conclude only")
