"""State shared by the executors of one house: each agent's last action and its effect.

The memory learns an action's effect from the report of its end, slightly later than the planner,
which already sends the next call. Until the memory has caught up, skills use its snapshot with the
newest effects added.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from planner.world.belief import Belief, BeliefNode, Source
from planner.world.compass import Heading
from planner.world.geometry import Vec3
from planner.world.hands import Hands
from planner.world.skill import SkillCall, SkillResult
from planner.world.vocabulary import Relation

# A memory that has not shown an effect by then is assumed to have rejected it.
CATCH_UP_S = 10.0
_MAX_ACTIONS = 50


@dataclass(frozen=True, slots=True)
class Effect:
    """Where a thing was moved at `stamp_s`: a hand, or a place with its relation."""

    thing: str
    parent: str
    relation: Relation
    position_m: Vec3 | None
    stamp_s: float


@dataclass(frozen=True, slots=True)
class Action:
    """A call of an agent; `result` is None while it is running."""

    agent: str
    call: SkillCall
    started_s: float
    result: SkillResult | None = None


class Team:
    """The agents of one house as known to their executors."""

    def __init__(self) -> None:
        self._effects: dict[str, Effect] = {}
        self._hands: dict[str, Hands] = {}
        self._actions: dict[str, deque[Action]] = {}
        self._tilts_rad: dict[str, float] = {}
        self._headings: dict[str, deque[Heading]] = {}
        self._latest_s = 0.0

    def tick(self, now_s: float) -> None:
        """Sets the time; if it goes backwards, a new episode has started and all is forgotten."""
        if now_s < self._latest_s - 1e-6:
            self.forget()
        self._latest_s = now_s

    def forget(self) -> None:
        """Clears everything."""
        self._effects.clear()
        self._hands.clear()
        self._actions.clear()
        self._tilts_rad.clear()
        self._headings.clear()

    # Effects

    def picked(self, agent: str, hands: Hands, thing: str, now_s: float) -> None:
        """An agent picked up an object; `hands` is what it holds now."""
        self._hands[agent] = hands
        self._effects[thing] = Effect(thing, agent, Relation.HELD, None, now_s)

    def placed(self, agent: str, hands: Hands, effect: Effect) -> None:
        """An agent put an object down; `hands` is what it holds now."""
        self._hands[agent] = hands
        self._effects[effect.thing] = effect

    def hands_unknown(self, agent: str) -> None:
        """The content of the hands turned out to be different."""
        self._hands.pop(agent, None)

    def hands(self, agent: str, belief: Belief, count: int = 1) -> Hands:
        """What an agent holds: according to its own skills, or else the belief."""
        node = belief.nodes.get(agent)
        hands = self._hands.get(agent, node.hands if node is not None else ())
        return (*hands, *(None,) * (count - len(hands)))

    def on_top(self, belief: Belief) -> Belief:
        """The belief with all newer effects added."""
        changed: dict[str, BeliefNode] = {}
        for name, effect in list(self._effects.items()):
            node = belief.nodes.get(name)
            if node is None:
                continue
            agrees = node.parent == effect.parent and node.relation is effect.relation
            late = self._latest_s > effect.stamp_s + CATCH_UP_S
            if agrees or late or node.stamp_s > effect.stamp_s:
                del self._effects[name]
                continue
            changed[name] = replace(
                node,
                parent=effect.parent,
                relation=effect.relation,
                position_m=effect.position_m or node.position_m,
                source=Source.INFERRED,
                stamp_s=effect.stamp_s,
            )
        if not changed:
            return belief
        return Belief(belief.stamp_s, belief.sequence, {**belief.nodes, **changed})

    # Cameras

    def pointed(self, agent: str, tilt_rad: float | None) -> None:
        """An agent's camera was tilted (down positive); None = it was moved otherwise."""
        if tilt_rad is None:
            self._tilts_rad.pop(agent, None)
        else:
            self._tilts_rad[agent] = tilt_rad

    def tilt_rad(self, agent: str) -> float | None:
        """The tilt of an agent's camera; None = that at rest, or of the last thing handled."""
        return self._tilts_rad.get(agent)

    # Exploring

    def headed(self, agent: str, heading: Heading) -> None:
        """An agent explores in a direction."""
        self._headings.setdefault(agent, deque(maxlen=_MAX_ACTIONS)).append(heading)

    def headings(self, agent: str) -> tuple[Heading, ...]:
        """The directions that an agent has explored in, the newest last."""
        return tuple(self._headings.get(agent, ()))

    # Actions

    def began(self, action: Action) -> None:
        """An agent started a call."""
        self._actions.setdefault(action.agent, deque(maxlen=_MAX_ACTIONS)).append(action)

    def ended(self, agent: str, result: SkillResult) -> None:
        """An agent's newest call ended."""
        actions = self._actions.get(agent)
        if actions:
            actions[-1] = replace(actions[-1], result=result)

    def actions(self, besides: str) -> list[Action]:
        """The calls of the other agents, oldest first."""
        others = [a for name, done in self._actions.items() if name != besides for a in done]
        return sorted(others, key=lambda action: (action.started_s, action.agent))
