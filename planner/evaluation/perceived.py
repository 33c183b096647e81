"""A world that is only perceived, such as a real robot's, as states that can be judged.

The predicates then work on the boxes that the memory has (PARTNR-13.4); every result says
so by its variant, because what was not seen, or seen wrongly, is judged as it is believed to be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from planner.evaluation.episode_goal import evaluation_of
from planner.evaluation.task_start import STEPS_PER_S
from planner.world.belief import Belief, BeliefNode
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.stand_ins import StandIns
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind

FLOOR_CLASS = "floor"
# Stamps go through nanoseconds and back.
_STAMP_S = 1e-6


class PerceivedWorld:
    """The beliefs of one run as states, in the names of its task.

    A real world never begins anew, so all beliefs are of one run. A memory that was killed goes on
    from its store and tells first what it had told before, or nothing but the layout: a belief
    that is older than one before it is no state.

    A memory that learns what it sees has numbers of its own for things: one of the same class
    stands for each thing of the task then, that which somebody took rather than another.
    """

    def __init__(self, task: Episode, house: str, start_s: float | None = None) -> None:
        """A run of `task` in the layout `house`.

        Args:
            task: what is judged.
            house: name of the layout.
            start_s: when the task began, seconds of the beliefs' clock; what was believed before
                is not part of the run. None = with the first belief of something seen.
        """
        self._task, self._house = task, house
        self._given_start_s = start_s
        self._start_s = start_s
        self._newest = (-math.inf, 0)
        self._stand_ins = StandIns(_names(task), follow_hands=True)

    @property
    def start_s(self) -> float | None:
        """When the task began; None where nothing was seen yet."""
        return self._start_s

    def state(self, belief: Belief) -> WorldState | None:
        """The next state; None for a belief from before the start, or older than one before it."""
        start_s, told = self._given_start_s, (belief.stamp_s, belief.sequence)
        if told < self._newest or (start_s is not None and belief.stamp_s < start_s - _STAMP_S):
            return None
        self._newest = told
        # A memory that has seen nothing yet tells of the layout at 0; a robot's looks have the time
        # of day.
        if self._start_s is None and belief.stamp_s > 0:
            self._start_s = belief.stamp_s
        start_s = belief.stamp_s if self._start_s is None else self._start_s
        self._stand_ins.update(belief)
        names = {node: name for name, node in self._stand_ins.given.items()}
        return perceived_state(belief, self._house, self._task.episode_id, start_s, names)


def _names(task: Episode) -> frozenset[str]:
    """What a task speaks of; nothing where it cannot be judged, which the judge tells."""
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
    """What is believed, as a state of the world.

    Args:
        belief: the memory's snapshot; its boxes stand upright along the map's axes.
        house: name of the layout.
        episode_id: of the task.
        start_s: when the task began, seconds of the belief's clock; the state's step counts
            thirtieths of a second from there.
        names: those of the task, of believed things that have others.
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
        holding=named(node.holding),
    )
