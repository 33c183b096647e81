"""Results of skills from those of primitives, and each agent's last action and its effect."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from planner.world.belief import Belief, BeliefNode, Source
from planner.world.geometry import Heading, Vec3
from planner.world.primitive import REASON, PrimitiveCode, PrimitiveResult
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.vocabulary import Hand, Hands, Relation, held_things, with_thing

TOOK_TOO_LONG = "Skill took too long to finish."


class RefusalError(Exception):
    """A call that cannot be executed (any further): its code and its sentence."""

    def __init__(self, code: SkillCode, sentence: str) -> None:
        self.code = code
        self.sentence = sentence
        super().__init__(sentence)


_MEANINGS: dict[PrimitiveCode, tuple[SkillCode, str]] = {
    PrimitiveCode.CANCELED: (SkillCode.CANCELED, "The skill was canceled."),
    PrimitiveCode.NOT_ABLE: (SkillCode.NOT_ABLE, "This agent cannot do that."),
    PrimitiveCode.BUSY: (SkillCode.BUSY, "The agent is busy with something else."),
    PrimitiveCode.STOPPED: (SkillCode.NOT_ALLOWED, "The agent was stopped."),
    PrimitiveCode.NOT_ALLOWED: (SkillCode.NOT_ALLOWED, "The agent is not allowed to move."),
    PrimitiveCode.UNREACHABLE: (SkillCode.UNREACHABLE, "{what} is unreachable."),
    PrimitiveCode.BLOCKED: (SkillCode.BLOCKED, "{what}: {reason}."),
    PrimitiveCode.TOO_FAR: (SkillCode.TOO_FAR, "{what} is too far."),
    PrimitiveCode.NO_LINE_OF_SIGHT: (SkillCode.NOT_VISIBLE, "{what} is not visible."),
    PrimitiveCode.HAND_FULL: (SkillCode.ALREADY_HOLDING, "The agent is already holding an object."),
    PrimitiveCode.HAND_EMPTY: (SkillCode.NOT_HOLDING, "The agent is not holding an object."),
    PrimitiveCode.HELD_BY_OTHER: (SkillCode.HELD_BY_OTHER, "{what} is held by the other agent."),
    PrimitiveCode.NOT_ARTICULATED: (
        SkillCode.NOT_ARTICULATED,
        "{what} is not articulated: it cannot be opened or closed.",
    ),
    PrimitiveCode.CLOSED: (SkillCode.FURNITURE_CLOSED, "{what} is closed."),
    PrimitiveCode.NO_SPACE: (
        SkillCode.NO_PLACEMENT,
        "No valid placements found for entity {what}.",
    ),
    PrimitiveCode.NO_AFFORDANCE: (SkillCode.NO_AFFORDANCE, "{what} does not afford that."),
    PrimitiveCode.NO_FAUCET: (SkillCode.NO_FAUCET, "There is no faucet within reach."),
    PrimitiveCode.SOURCE_EMPTY: (
        SkillCode.SOURCE_EMPTY,
        "What the agent holds is empty: there is nothing to pour.",
    ),
    PrimitiveCode.NEED_UNMET: (SkillCode.NEED_UNMET, "{reason}."),
    PrimitiveCode.GRASP_FAILED: (SkillCode.GRASP_FAILED, "The grasp of {what} failed."),
}


def failure(result: PrimitiveResult, what: str, **evidence: str) -> SkillResult:
    """The skill's failure for a failed primitive; `what` names its target.

    Codes for an invalid request or a broken world become the backend's fault, since no planner can
    avoid them.
    """
    if reason := result.evidence.get(REASON):
        evidence[REASON] = reason
    meaning = _MEANINGS.get(result.code)
    if meaning is None:
        sentence = f"The world could not do it: {result.text}."
        return SkillResult.failure(SkillCode.BACKEND_FAULT, sentence, **evidence)
    code, sentence = meaning
    text = sentence.format(what=what, reason=result.text)
    return replace(SkillResult.failure(code, text, **evidence), rule=result.rule)


def not_grounded(point_m: Vec3, **evidence: str) -> SkillResult:
    """EPM's literal failure if nothing is near the remembered position."""
    sentence = nothing_near(point_m)
    return SkillResult.failure(SkillCode.NOT_GROUNDED, sentence, **evidence)


def nothing_near(point_m: Vec3) -> str:
    """EPM's sentence with the three numbers in full precision."""
    x, y, z = (float(value) for value in point_m)
    return f"No object found near the target position {x!r}, {y!r}, {z!r}"


def no_placement(furniture: str) -> str:
    """The paper's sentence if nothing can be put down (PARTNR-6.2)."""
    return f"No valid placements found for entity {furniture}."


def timed_out(text: str, **evidence: str) -> SkillResult:
    """A call that took too long; `text` if its skill has a text of its own."""
    if text:
        return SkillResult(SkillCode.TIMED_OUT, text, evidence)
    return SkillResult.failure(SkillCode.TIMED_OUT, TOOK_TOO_LONG, **evidence)


def canceled(**evidence: str) -> SkillResult:
    """A call that was canceled."""
    return SkillResult.failure(SkillCode.CANCELED, "The skill was canceled.", **evidence)


# State shared by the executors of one house: each agent's last action and its effect.
#
# The memory learns an action's effect from the report of its end, slightly later than the planner,
# which already sends the next call. Until the memory has caught up, skills use its snapshot with
# the newest effects added.

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
        self._reached: dict[str, tuple[str, Hand]] = {}
        self._strange: set[str] = set()
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
        self._reached.clear()
        self._strange.clear()
        self._actions.clear()
        self._tilts_rad.clear()
        self._headings.clear()

    # Effects

    def picked(self, agent: str, hands: Hands, thing: str, now_s: float) -> None:
        """An agent picked up an object; `hands` is what it holds now."""
        self._hands[agent] = hands
        self._reached.pop(agent, None)
        self._strange.discard(agent)
        self._effects[thing] = Effect(thing, agent, Relation.HELD, None, now_s)

    def placed(self, agent: str, hands: Hands, effect: Effect) -> None:
        """An agent put an object down; `hands` is what it holds now."""
        self._hands[agent] = hands
        self._effects[effect.thing] = effect

    def reaches(self, agent: str, thing: str, hand: Hand) -> None:
        """An agent reaches for an object: what its hand closes on is that one."""
        self._reached[agent] = (thing, hand)

    def feels(self, agent: str, hands: Hands, now_s: float, *, holds: bool, reaching: bool) -> None:
        """Corrects what an agent is believed to hold by what its body feels.

        Args:
            agent: whose body it is.
            hands: what it is believed to hold.
            now_s: when it was felt.
            holds: whether it feels something in any hand.
            reaching: whether it reached for something just now. What a hand holds may be felt a
                moment later than a grasp ends, so that only a later empty hand is certain.
        """
        self._strange.discard(agent)
        held = held_things(hands)
        if not holds:
            if not reaching:
                self._reached.pop(agent, None)
            if held:
                self._hands[agent] = (None,) * len(hands)
            for thing in held:
                self._effects.pop(thing, None)
        elif not held:
            thing, hand = self._reached.get(agent, ("", Hand.RIGHT))
            if thing:
                self.picked(agent, with_thing(hands, hand, thing), thing, now_s)
            else:
                self._hands.pop(agent, None)
                self._strange.add(agent)

    def hands_unknown(self, agent: str) -> None:
        """What each of several hands holds turned out to be different."""
        self._hands.pop(agent, None)

    def knows_hands(self, agent: str) -> bool:
        """Whether it is known what an agent holds: no hand is full of what nobody knows."""
        return agent not in self._strange

    def hands(self, agent: str, belief: Belief, count: int = 1) -> Hands:
        """What an agent holds: according to its own skills, or else the belief."""
        node = belief.nodes.get(agent)
        believed = node.hands if node is not None else ()
        hands = self._hands.get(agent, believed)
        if any(name not in belief.nodes for name in held_things(hands)) and held_things(believed):
            # It was taken for something else, and is known by another name now.
            hands = believed
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
