"""Missions: behaviour trees of the simplest nodes, without commands.

A mission with other nodes does not compile here, and the error names them, so that no client
believes that it was carried out.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from bosdyn.api import data_chunk_pb2, header_pb2
from bosdyn.api.mission import mission_pb2, nodes_pb2, util_pb2

from sim_bridge.spot.convert import seconds_of
from sim_bridge.spot.emulator.machine import Machine
from sim_bridge.spot.emulator.service import Handler, use_lease

_STATE = mission_pb2.State
_RUNNING, _DONE, _FAILED = util_pb2.RESULT_RUNNING, util_pb2.RESULT_SUCCESS, util_pb2.RESULT_FAILURE
_ENDS = {_DONE: _STATE.STATUS_SUCCESS, _FAILED: _STATE.STATUS_FAILURE}
_KINDS = (nodes_pb2.Sequence, nodes_pb2.Selector, nodes_pb2.ConstantResult, nodes_pb2.Sleep)


@dataclass(slots=True)
class _Node:
    """A node, its settings and children; `since_s` is when it started, `result` how it ended."""

    number: int
    name: str
    settings: Any
    children: list[_Node] = field(default_factory=list)
    since_s: float | None = None
    result: int = _RUNNING

    def tick(self, now_s: float) -> int:
        """Advances the node; returns running, or how it ended."""
        if self.result != _RUNNING:
            return self.result
        self.since_s = now_s if self.since_s is None else self.since_s
        kind = type(self.settings)
        if kind is nodes_pb2.ConstantResult:
            self.result = self.settings.result
        elif kind is nodes_pb2.Sleep:
            over = now_s - self.since_s >= self.settings.seconds
            self.result = _DONE if over else _RUNNING
        else:
            # A sequence continues after a success, a selector after a failure.
            passes = _DONE if kind is nodes_pb2.Sequence else _FAILED
            self.result = passes
            for child in self.children:
                result = child.tick(now_s)
                if result != passes:
                    self.result = result
                    break
        return self.result

    def everything(self) -> list[_Node]:
        """The node and all its descendants."""
        return [self, *(each for child in self.children for each in child.everything())]


class Missions:
    """The loaded mission and its progress."""

    def __init__(self) -> None:
        self._root: Any = None
        self._tree: _Node | None = None
        self._number = 0
        self._status = _STATE.STATUS_NONE
        self._pause_s = 0.0
        self._ticks = 0

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The service with its methods."""
        return {
            "bosdyn.api.mission.MissionService": {
                "LoadMission": self._load,
                "LoadMissionAsChunks": self._load_chunks,
                "LoadMissionAsChunks2": self._load_and_answer_in_chunks,
                "PlayMission": self._play,
                "RestartMission": self._restart,
                "PauseMission": self._pause,
                "StopMission": self._stop,
                "GetState": self._state,
                "GetInfo": self._info,
                "GetInfoAsChunks": self._info_in_chunks,
                "GetMission": self._mission,
                "GetMissionAsChunks": self._mission_in_chunks,
            }
        }

    def _load(self, machine: Machine, request: Any, response: Any) -> None:
        used = [
            use_lease(machine, each, response.lease_use_results.add()) for each in request.leases
        ]
        if not all(used):
            return
        unknown: list[Any] = []
        tree = _compile(request.root, itertools.count(1), unknown)
        if unknown:
            response.status = response.STATUS_COMPILE_ERROR
            for node in unknown:
                response.failed_nodes.add(
                    name=node.name,
                    error="this kind of node is not emulated",
                    impl_typename=_kind_of(node),
                )
            return
        self._root, self._tree = request.root, tree
        self._number = machine.next_number()
        self._status, self._ticks = _STATE.STATUS_NONE, 0
        self._fill_info(response.mission_info)
        response.status = response.STATUS_OK

    def _load_chunks(self, machine: Machine, request: Any, response: Any) -> None:
        self._load(machine, mission_pb2.LoadMissionRequest.FromString(request.data), response)

    def _load_and_answer_in_chunks(self, machine: Machine, request: Any, response: Any) -> None:
        answer = mission_pb2.LoadMissionResponse()
        self._load_chunks(machine, request, answer)
        _fill_chunk(answer, response)

    # Playing

    def _play(self, machine: Machine, request: Any, response: Any) -> None:
        if self._tree is None:
            response.status = response.STATUS_NO_MISSION
            return
        used = [
            use_lease(machine, each, response.lease_use_results.add()) for each in request.leases
        ]
        if all(used):
            self._advance(machine)
            self._pause_s = seconds_of(request.pause_time) - machine.skew_s
            if self._status not in _ENDS.values():
                self._status = _STATE.STATUS_RUNNING
            response.status = response.STATUS_OK

    def _restart(self, machine: Machine, request: Any, response: Any) -> None:
        if self._root is not None:
            self._tree = _compile(self._root, itertools.count(1), [])
            self._status, self._ticks = _STATE.STATUS_NONE, 0
        self._play(machine, request, response)

    def _pause(self, machine: Machine, request: Any, response: Any) -> None:
        self._interrupt(machine, request, response, _STATE.STATUS_PAUSED)

    def _stop(self, machine: Machine, request: Any, response: Any) -> None:
        self._interrupt(machine, request, response, _STATE.STATUS_STOPPED)

    def _interrupt(self, machine: Machine, request: Any, response: Any, status: int) -> None:
        if not use_lease(machine, request.lease, response.lease_use_result):
            return
        self._advance(machine)
        if self._status not in (_STATE.STATUS_RUNNING, _STATE.STATUS_PAUSED):
            response.status = response.STATUS_NO_MISSION_PLAYING
            return
        self._status, response.status = status, response.STATUS_OK

    def _advance(self, machine: Machine) -> None:
        """Advances to the current time, or to the time at which the client wanted it to pause."""
        if self._status != _STATE.STATUS_RUNNING or self._tree is None:
            return
        self._ticks += 1
        result = self._tree.tick(min(machine.now_s, self._pause_s))
        if result != _RUNNING:
            self._status = _ENDS.get(result, _STATE.STATUS_ERROR)
        elif machine.now_s >= self._pause_s:
            self._status = _STATE.STATUS_PAUSED

    # State

    def _state(self, machine: Machine, _request: Any, response: Any) -> None:
        self._advance(machine)
        state = response.state
        state.status, state.mission_id, state.tick_counter = self._status, self._number, self._ticks
        if self._tree is not None and self._ticks:
            tick = state.history.add(tick_counter=self._ticks)
            for node in self._tree.everything():
                if node.since_s is not None:
                    tick.node_states.add(id=node.number, result=node.result)

    def _info(self, _machine: Machine, _request: Any, response: Any) -> None:
        self._fill_info(response.mission_info)

    def _info_in_chunks(self, _machine: Machine, _request: Any, response: Any) -> None:
        answer = mission_pb2.GetInfoResponse()
        self._fill_info(answer.mission_info)
        _fill_chunk(answer, response)

    def _mission(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.id = self._number
        if self._root is not None:
            response.root.CopyFrom(self._root)

    def _mission_in_chunks(self, machine: Machine, request: Any, response: Any) -> None:
        answer = mission_pb2.GetMissionResponse()
        self._mission(machine, request, answer)
        _fill_chunk(answer, response)

    def _fill_info(self, info: Any) -> None:
        info.id = self._number
        if self._tree is not None:
            _describe(self._tree, info.root)


def _compile(node: Any, numbers: itertools.count[int], unknown: list[Any]) -> _Node:
    made = _Node(next(numbers), node.name, _settings(node))
    if type(made.settings) not in _KINDS:
        unknown.append(node)
        return made
    for child in getattr(made.settings, "children", ()):
        made.children.append(_compile(child, numbers, unknown))
    return made


def _settings(node: Any) -> Any:
    """A node's settings, from a field of its own or from an Any message; None if neither."""
    which = node.WhichOneof("type")
    if which not in (None, "impl"):
        return getattr(node, which)
    for kind in _KINDS:
        if node.impl.Is(kind.DESCRIPTOR):
            return kind.FromString(node.impl.value)
    return None


def _kind_of(node: Any) -> str:
    which = node.WhichOneof("type")
    if which in (None, "impl"):
        return str(node.impl.TypeName())
    return str(getattr(node, which).DESCRIPTOR.full_name)


def _describe(node: _Node, shown: Any) -> None:
    shown.id, shown.name = node.number, node.name
    for child in node.children:
        _describe(child, shown.children.add())


def _fill_chunk(answer: Any, response: data_chunk_pb2.DataChunk) -> None:
    # A chunked answer needs its header before it is split.
    answer.header.error.code = header_pb2.CommonError.CODE_OK
    response.data = answer.SerializeToString()
    response.total_size = len(response.data)
