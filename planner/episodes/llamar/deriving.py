"""Derives LLaMAR's checklist of an episode from its goal and start (LLAMAR-D45).

A placement is the way to the thing, taking it, the way to the place with it, and putting it there;
a state is the way and the act. Closed furniture that a thing starts or ends in has to be opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner.episodes.start_state import start_entities
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Predicate, Proposition, asked_open, asked_state
from planner.world.catalogue import default_catalogue, sliced_from
from planner.world.checklist import Act, Checklist, Subtask
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.state import chain_of
from planner.world.state_skills import skills_that_make
from planner.world.vocabulary import Relation

# The acts that make a state so.
_ACT_OF_STATE: Mapping[tuple[str, bool], Act] = {
    ("clean", True): Act.CLEAN,
    ("powered_on", True): Act.TOGGLE_ON,
    ("powered_on", False): Act.TOGGLE_OFF,
    ("sliced", True): Act.SLICE,
}
_PLACING = frozenset({Predicate.IS_ON_TOP, Predicate.IS_INSIDE})


def with_own_checklist(episode: Episode, house: House, ambiguity: int) -> Episode:
    """The episode with the checklist of its goal.

    Raises:
        PlannerError: if it has no goal, or one that LLaMAR's acts cannot bring about.
    """
    found = _Deriving(episode, house)
    checklist = {
        "ambiguity": ambiguity,
        "subtasks": tuple(str(subtask) for subtask in found.subtasks()),
        "targets": found.targets(),
    }
    return episode.model_copy(update={"checklist": Checklist.model_validate(checklist)})


class _Deriving:
    """The checklist of one episode."""

    def __init__(self, episode: Episode, house: House) -> None:
        if episode.evaluation is None:
            raise PlannerError(f"{episode.episode_id}: a checklist needs an evaluation")
        self._title = episode.episode_id
        self._evaluation = read_evaluation(episode.evaluation, episode.episode_id)
        self._start = start_entities(episode, house, default_catalogue())

    def subtasks(self) -> tuple[Subtask, ...]:
        """Each once, in the order of the goal; openings come first where they are needed."""
        found = (s for p in self._evaluation.propositions for s in self._of(p))
        return tuple(dict.fromkeys(found))

    def targets(self) -> tuple[tuple[str, ...], ...]:
        """The things and places of the goal, each group once; also the tools that it needs."""
        groups: dict[tuple[str, ...], None] = {}
        for proposition in self._evaluation.propositions:
            for name in self._things(proposition):
                groups.setdefault((name,))
            if proposition.predicate in _PLACING:
                groups.setdefault(proposition.lists[1])
        for subtask in self.subtasks():
            if subtask.act is Act.PICK_UP:
                groups.setdefault(subtask.entities)
        return tuple(groups)

    def _of(self, proposition: Proposition) -> Iterator[Subtask]:
        for name in self._things(proposition):
            if proposition.predicate in _PLACING:
                yield from self._transport(name, proposition)
            else:
                yield from self._change(name, proposition.predicate)

    def _placements(self) -> Iterator[Proposition]:
        return (p for p in self._evaluation.propositions if p.predicate in _PLACING)

    def _things(self, proposition: Proposition) -> Sequence[str]:
        """What the proposition is about; slices stand for what they are cut from."""
        if proposition.number != len(proposition.lists[0]):
            reason = "a checklist names its things, and any of several would do"
            raise PlannerError(f"{self._title}: {reason}")
        return tuple(dict.fromkeys(map(self._whole, proposition.lists[0])))

    def _whole(self, name: str) -> str:
        return name if name in self._start else sliced_from(name) or name

    def _transport(self, name: str, proposition: Proposition) -> Iterator[Subtask]:
        places = proposition.lists[1]
        yield from self._out(name)
        yield Subtask(Act.NAVIGATE, (name,))
        yield Subtask(Act.PICK_UP, (name,))
        if proposition.predicate is Predicate.IS_INSIDE and all(map(self._is_shut, places)):
            yield Subtask(Act.OPEN, places)
        yield Subtask(Act.NAVIGATE, places, (name,))
        yield Subtask(Act.PUT, places, (name,))

    def _change(self, name: str, predicate: str) -> Iterator[Subtask]:
        yield from self._out(name)
        opens = asked_open(predicate)
        if opens is not None:
            # Whoever brings something there has gone there already.
            if not any(name in p.lists[1] for p in self._placements()):
                yield Subtask(Act.NAVIGATE, (name,))
            yield Subtask(Act.OPEN if opens else Act.CLOSE, (name,))
            return
        asked = asked_state(predicate)
        act = None if asked is None else _ACT_OF_STATE.get(asked)
        if asked is None or act is None:
            raise PlannerError(f"{self._title}: no act of LLaMAR brings about {predicate}")
        if self._holds(name, asked):
            return
        yield from self._tools(asked)
        yield Subtask(Act.NAVIGATE, (name,))
        yield Subtask(act, (name,))

    def _tools(self, asked: tuple[str, bool]) -> Iterator[Subtask]:
        """What has to be in the hand, such as a knife."""
        for skill in skills_that_make(asked[0], value=asked[1]):
            if skill.needs.hand is None:
                continue
            fit = tuple(
                name
                for name, entity in self._start.items()
                if entity.class_name in skill.needs.hand.classes
            )
            if not fit:
                raise PlannerError(f"{self._title}: there is no {skill.needs.hand.what}")
            yield Subtask(Act.NAVIGATE, fit)
            yield Subtask(Act.PICK_UP, fit)

    def _out(self, name: str) -> Iterator[Subtask]:
        """Opening what the thing is shut in."""
        for entity in chain_of(self._start, name):
            if entity.relation is Relation.WITHIN and self._is_shut(entity.parent or ""):
                yield Subtask(Act.OPEN, (entity.parent or "",))

    def _is_shut(self, name: str) -> bool:
        entity = self._start.get(name)
        return entity is not None and entity.openness == 0.0

    def _holds(self, name: str, asked: tuple[str, bool]) -> bool:
        entity = self._start.get(name)
        known = entity.states if entity is not None and entity.states is not None else {}
        return known.get(asked[0]) is asked[1]
