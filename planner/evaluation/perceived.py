"""Turns a world that is only perceived, such as a real robot's, into states that can be judged.

The predicates then use the memory's boxes (PARTNR-13.4). Every result names this variant, since
what was not seen, or seen wrongly, is judged as believed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from planner.evaluation.language import evaluation_of
from planner.world.belief import Belief, BeliefNode, StandIns
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.memory_wire import stamp_seconds
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind

# Simulation steps of a task, counted from its instruction instead of from the load.

# Of PARTNR's simulator and ours; a real world has no steps of its own.
STEPS_PER_S = 30.0
# An instruction this much older than the previous one means that the world was reloaded.
_BACKWARDS_S = 0.5
_RUNNING = 1


def task_steps(step: int, stamp_s: float, start_s: float | None) -> int:
    """Simulation steps of a task up to a state of the world.

    Args:
        step: of the state, since the world was loaded.
        stamp_s: of the state, on the world's clock.
        start_s: time of the instruction on the same clock; None or NaN = unknown, so that all
            steps since the load count.
    """
    if start_s is None or not math.isfinite(start_s):
        return step
    return min(step, max(0, round((stamp_s - start_s) * STEPS_PER_S)))


def verdict_steps(message: Any) -> int:
    """Simulation steps of the task in a planner_msgs/Evaluation.

    In older messages, without the field `start_s`, `sim_step` has the steps of the task.
    """
    start_s = float(getattr(message, "start_s", math.nan))
    return task_steps(int(message.sim_step), stamp_seconds(message.header.stamp), start_s)


@dataclass(slots=True)
class TaskStart:
    """Time of the first instruction with a goal since the world was loaded.

    Attributes:
        start_s: on the world's clock; None = there was no such instruction.
    """

    start_s: float | None = None
    _newest_s: float = -math.inf

    def observe(self, status: Any) -> None:
        """Processes the next planner_msgs/InstructStatus."""
        stamp_s = stamp_seconds(status.header.stamp)
        if stamp_s < self._newest_s - _BACKWARDS_S:
            self.start_s = None
        self._newest_s = stamp_s
        has_goal = bool(status.goal and status.episode_id)
        if status.state == _RUNNING and has_goal and self.start_s is None:
            self.start_s = stamp_s


FLOOR_CLASS = "floor"
# Tolerance for stamps, which are converted to nanoseconds and back.
_STAMP_S = 1e-6


class PerceivedWorld:
    """The beliefs of one run as states, in the names of its task.

    A real world is never reset, so all beliefs belong to one run. A memory that was killed
    continues from its store and may first publish old content, or only the layout: beliefs older
    than a previous one are ignored.

    A memory that learns from images numbers things itself: each thing of the task is then
    represented by a believed thing of its class, preferably one that an agent has moved.
    """

    def __init__(self, task: Episode, house: str, start_s: float | None = None) -> None:
        """A run of `task` in the layout `house`.

        Args:
            task: the task to be judged.
            house: name of the layout.
            start_s: start of the task in seconds of the beliefs' clock; earlier beliefs are
                ignored. None = the first belief in which something was seen.
        """
        self._task, self._house = task, house
        self._given_start_s = start_s
        self._start_s = start_s
        self._newest = (-math.inf, 0)
        self._stand_ins = StandIns(_names(task), follow_hands=True)

    @property
    def start_s(self) -> float | None:
        """The start of the task; None if nothing was seen yet."""
        return self._start_s

    def state(self, belief: Belief) -> WorldState | None:
        """The next state; None for beliefs from before the start or older than a previous one."""
        start_s, version = self._given_start_s, (belief.stamp_s, belief.sequence)
        if version < self._newest or (start_s is not None and belief.stamp_s < start_s - _STAMP_S):
            return None
        self._newest = version
        # An empty memory publishes the layout with stamp 0; real stamps are times of day.
        if self._start_s is None and belief.stamp_s > 0:
            self._start_s = belief.stamp_s
        start_s = belief.stamp_s if self._start_s is None else self._start_s
        self._stand_ins.update(belief)
        names = {node: name for name, node in self._stand_ins.given.items()}
        return perceived_state(belief, self._house, self._task.episode_id, start_s, names)


def _names(task: Episode) -> frozenset[str]:
    """The names in a task; empty if it cannot be judged, which the evaluator reports."""
    try:
        propositions = evaluation_of(task).propositions
    except PlannerError:
        return frozenset()
    criteria = task.criteria.variables.values() if task.criteria is not None else ()
    lists = (*(names for p in propositions for names in p.lists), *criteria)
    return frozenset(name for names in lists for name in names)


def perceived_state(
    belief: Belief,
    house: str,
    episode_id: str,
    start_s: float = 0.0,
    names: Mapping[str, str] = MappingProxyType({}),
) -> WorldState:
    """Converts a belief to a world state.

    Args:
        belief: the memory's snapshot; its boxes are upright and aligned with the map's axes.
        house: name of the layout.
        episode_id: of the task.
        start_s: start of the task in seconds of the belief's clock; the state's step counts
            thirtieths of a second from there.
        names: the task's names for believed things, if they differ.
    """
    return WorldState(
        stamp_s=belief.stamp_s,
        step=max(0, round((belief.stamp_s - start_s) * STEPS_PER_S)),
        revision=belief.sequence,
        house=house,
        episode_id=episode_id,
        entities={
            names.get(name, name): _entity(node, names)
            for name, node in belief.nodes.items()
            if node.class_name != FLOOR_CLASS
        },
    )


def _entity(node: BeliefNode, names: Mapping[str, str]) -> EntityState:
    def named(name: str | None) -> str | None:
        return None if name is None else names.get(name, name)

    x, y, z = node.position_m
    is_room = node.kind is EntityKind.ROOM
    return EntityState(
        name=names.get(node.name, node.name),
        kind=node.kind,
        class_name=node.class_name,
        instance_id=node.entity_id or 0,
        pose=Pose((x, y, z - node.size_m[2] / 2)),
        size_m=node.size_m,
        parent=named(node.parent),
        relation=node.relation,
        room=node.name if is_room else node.room,
        affordances=node.affordances,
        states=dict(node.states) or None,
        openness=node.openness,
        hands=tuple(named(name) for name in node.hands),
        look=node.look,
        person=node.person,
    )
