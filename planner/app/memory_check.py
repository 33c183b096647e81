"""Conformance check of memory updaters (`planner.memory.updater.MemoryUpdater`).

The updater receives the hand camera's images from a tour of a house in the embedded simulator, and
each of its answers is checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from planner.app.house_tour import AGENT, TrueClasses, tour, tour_episode
from planner.memory.memory import Memory
from planner.memory.part import UpdaterRequest, load_updater
from planner.memory.updater import MemoryUpdater, Operation
from planner.parts.catalog import Finding, Report, Verdict
from planner.world.belief import Entity, OperationKind
from planner.world.house import House
from planner.world.observation import CameraFrame, Observation
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.backend import EmbeddedBackend

LOOKS = 40
_SEED = 1


@dataclass
class _Watched:
    """Wraps an updater and checks its answers; `problems` by the check's name."""

    updater: MemoryUpdater
    answers: list[list[Operation]] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.updater.name

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        before = _pixels(observation)
        given = tuple(entities)
        answer = self.updater.update(observation, entities, last_action)
        if tuple(entities) != given or _pixels(observation) != before:
            self.problems.setdefault("changes_nothing_it_is_given", "it changed its arguments")
        wrong = _wrong_answer(answer)
        if wrong:
            self.problems.setdefault("answers_with_operations", wrong)
            return []
        for operation in answer:
            self._look_at(operation, given, observation)
        self.answers.append(list(answer))
        return answer

    def _look_at(
        self, operation: Operation, entities: Sequence[Entity], observation: Observation
    ) -> None:
        known = {entity.entity_id for entity in entities}
        if operation.entity_id is not None and operation.entity_id not in known:
            text = f"{operation.kind} of {operation.entity_id}, which is not in the list"
            self.problems.setdefault("refers_to_entities_of_the_list", text)
        wrong = _wrong_place(operation, observation)
        if wrong:
            self.problems.setdefault("says_where_things_are", wrong)


_CHECKS = (
    "answers_with_operations",
    "changes_nothing_it_is_given",
    "refers_to_entities_of_the_list",
    "says_where_things_are",
)


def check_memory(request: UpdaterRequest, house: House) -> Report:
    """Runs all checks.

    Args:
        request: the updater, its model and options; ground truth comes from the simulator.
        house: for the tour.

    Raises:
        PlannerError: if there is no such updater, or its model is missing or unsuitable.
    """
    backend = EmbeddedBackend()
    try:
        request = replace(
            request, truth_source=backend.world_state, class_of=TrueClasses(backend.world_state).of
        )
        make = load_updater(request)
        layout = house.layout
        watched = [_Watched(make(layout)) for _ in range(2)]
        memories = [Memory(layout, one, agents={AGENT: AgentKind.ROBOT}) for one in watched]
        raised = ""
        for observation in _looks(backend, house):
            try:
                for memory in memories:
                    memory.observe(observation)
            # Whatever another package's updater raises is a finding, not the end of the check.
            except Exception as error:
                raised = f"raised {error!r} at {observation.stamp_s:.1f} s"
                break
    finally:
        backend.close()
    first, second = watched
    findings = [_found("is_named_as_asked_for", _name(first.name, request.name))]
    findings.append(_found("raises_nothing", raised))
    findings += [_found(check, first.problems.get(check, "")) for check in _CHECKS]
    refused = f"{memories[0].refused} of its operations were refused" * bool(memories[0].refused)
    findings.append(_found("gives_operations_that_can_be_applied", refused))
    things = [entity for entity in memories[0].entities if not entity.is_furniture]
    findings.append(_found("remembers_things", "" if things else "it has seen nothing on a tour"))
    findings.append(_repeats(first, second, bool(request.model.url)))
    return Report(tuple(findings))


def _looks(backend: EmbeddedBackend, house: House) -> Iterator[Observation]:
    backend.reset(house, tour_episode(house), _SEED)
    yield from islice(tour(backend, house, pieces=False), LOOKS)


def _found(check: str, problem: str) -> Finding:
    return Finding(check, Verdict.FAILED if problem else Verdict.PASSED, problem)


def _name(found: str, asked: str) -> str:
    return "" if found == asked else f"its name is {found!r}, it was asked for as {asked!r}"


def _wrong_answer(answer: object) -> str:
    if not isinstance(answer, list):
        return f"expected a list of Operation, got {type(answer).__name__}"
    others = [type(one).__name__ for one in answer if not isinstance(one, Operation)]
    return f"expected a list of Operation, got one with {others[0]}" if others else ""


def _wrong_place(operation: Operation, observation: Observation) -> str:
    if operation.position_m is not None:
        finite = all(math.isfinite(value) for value in operation.position_m)
        return "" if finite else f"{operation.kind} at {operation.position_m}"
    if operation.pixel is None:
        absent = operation.kind is OperationKind.ADD
        return "an Add with neither a pixel nor a position" if absent else ""
    u, v = operation.pixel
    frame = next(iter(observation.cameras.values()))
    height, width = frame.depth_m.shape
    inside = 0 <= u <= width and 0 <= v <= height
    return "" if inside else f"pixel ({u:g}, {v:g}) of a picture of {width} x {height}"


def _repeats(first: _Watched, second: _Watched, served: bool) -> Finding:
    check = "answers_the_same_to_the_same"
    if served:
        return Finding(check, Verdict.SKIPPED, "a model's replies may differ")
    return _found(check, "" if first.answers == second.answers else "two runs differ")


def _pixels(observation: Observation) -> tuple[bytes, ...]:
    return tuple(
        np.ascontiguousarray(image).tobytes()
        for frame in observation.cameras.values()
        for image in _images(frame)
    )


def _images(frame: CameraFrame) -> list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    return [each for each in (frame.rgb, frame.depth_m, frame.instances) if each is not None]
