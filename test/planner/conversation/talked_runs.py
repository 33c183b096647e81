"""Runs in one process in which somebody speaks in the middle of a task: from data files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from planner.api import with_instruction
from planner.app.embedded_run import prepare_embedded
from planner.app.run import EpisodeRun, RunResult
from planner.app.run_options import RunOptions
from planner.conversation.talk import Reply
from planner.houses.clutter import ObjectRequest, place_objects
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.planning.session import Event, Questions, Session
from planner.planning.talking import Conversation
from planner.world.belief import Belief
from planner.world.errors import PlannerError
from planner.world.house import House, ObjectPlacement
from planner.world.house_checks import load_house
from planner.world.state import WorldState
from planner.world.vocabulary import Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options
from sim_bridge.opening import Opened, bare_episode

HOUSE, SEED = "train_0", 3


@dataclass(frozen=True)
class Case:
    """One conversation.

    Attributes:
        things: label, which is a colour and a class or a class, to furniture.
        says: at which event, by a pattern, what is said.
        holds: where each label, or which state it has, at the end.
    """

    task: str
    things: Mapping[str, str]
    says: Sequence[tuple[str, str]]
    holds: Mapping[str, str]
    kind: str = ""
    agents: int = 1
    code: str = "DONE"


def read_cases(path: Path) -> list[Case]:
    """The cases of a data file; `says` alone is said when something is picked up."""
    found = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        says = entry.pop("says")
        turns = [says] if isinstance(says, str) else says
        when = entry.pop("when", "begins Pick")
        pairs = [
            next(iter(turn.items())) if isinstance(turn, Mapping) else (when, turn)
            for turn in turns
        ]
        found.append(Case(says=pairs, **entry))
    return found


def furnished(things: Mapping[str, str]) -> tuple[House, dict[str, str]]:
    """A house with only these things, and their names by label."""
    house, rng = load_house(HOUSE), np.random.default_rng(SEED)
    labels, requests = [], []
    for label, place in things.items():
        inside = place.startswith("in ")
        relation = Relation.WITHIN if inside else Relation.ON
        class_name = label.split()[-1]
        requests.append(ObjectRequest((class_name,), relation, (place.removeprefix("in "),)))
        labels.append(label)
    placed = place_objects(house, requests, rng)
    names, objects = {}, []
    for label, item in zip(labels, placed, strict=True):
        if not isinstance(item, ObjectPlacement):
            raise PlannerError(f"{label}: {item.reason}")
        color = {"color": label.split()[0]} if " " in label else {}
        objects.append(ObjectPlacement.model_validate({**item.model_dump(), **color}))
        names[label] = item.name
    return house.model_copy(update={"objects": tuple(objects)}), names


@dataclass
class TalkedRun:
    """A run and what was said in it."""

    case: Case
    replies: list[Reply] = field(default_factory=list)
    unsaid: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.house, self.names = furnished(self.case.things)
        self.backend = EmbeddedBackend(default_options().model_copy(update={"renderer": "none"}))
        self.unsaid, self._pending = list(self.case.says), ""
        self.questions = Questions(0.01)
        self.conversation = Conversation(self, self.questions, lambda *_: None, 0.01)
        self.ask: Callable[[str], Any] | None = None
        self.meanwhile: Callable[[], None] = lambda: None

    @property
    def belief(self) -> Belief:
        return self.run.memory.belief(self.backend.now_s())

    def play(self, text: str = "") -> RunResult:
        """Carries out the case's task, or another one that refers to it, in the same world."""
        opened = Opened(self.house, bare_episode(self.house, self.case.agents), SEED)
        episode = with_instruction(opened, text or self.case.task)
        self.conversation.accept(text or self.case.task, self.backend.now_s)

        acting = ("agent_0", "agent_1")[: self.case.agents]

        def make(task: Task) -> Planner:
            return make_planner(PlannerChoice("words"), task, None)

        self.run: EpisodeRun = prepare_embedded(
            self.backend, self.house, episode, make, RunOptions(acting=acting, images=False)
        )
        self.run.on_event, self.run.ask = self._on_event, self.ask
        self.run.on_session = lambda session: self._begin(session, make)
        result = self.run.run()
        self.conversation.end()
        return result

    def _begin(self, session: Session, make: Callable[[Task], Planner]) -> None:
        self.session = session
        # The world of a run in one process never yields: what is said is said as it goes on.
        world = session._world
        next_event = world.next_event

        async def hear_first(*, or_belief_change: bool) -> bool:
            self.say()
            return await next_event(or_belief_change=or_belief_change)

        world.next_event = hear_first  # type: ignore[method-assign]
        self.conversation.begin(session, make)

    def _on_event(self, event: Event) -> None:
        result = event.result
        how = "begins" if result is None else "did" if result.succeeded else "failed"
        line = f"{event.agent} {how} {event.call}"
        self.lines.append(line)
        if self.unsaid and not self._pending and re.search(self.unsaid[0][0], line):
            self._pending = self.unsaid.pop(0)[1]

    def say(self) -> None:
        """Says what is due, while calls are under way."""
        said, self._pending = self._pending, ""
        if said:
            self.replies.append(self.conversation.talk.hear(said))
        self.meanwhile()

    def wrong(self) -> list[str]:
        """What does not hold in the true world at the end."""
        state = self.backend.world_state()
        assert state is not None
        found = []
        picked = re.findall(r"begins Pick\[(\w+)", "\n".join(self.lines))
        others = [name for name in self.names.values() if name not in picked[:1]]
        # What was picked up first, and another thing than that.
        names = {**self.names, "first": (*picked, "")[0], "other": (*others, "")[0]}
        for label, wanted in self.case.holds.items():
            if not _holds(state, names.get(label, label), wanted):
                entity = state.entities[names.get(label, label)]
                found.append(f"{label}: {wanted}; is at {entity.parent} {dict(entity.states)}")
        return found


def _holds(state: WorldState, name: str, wanted: str) -> bool:
    entity = state.entities[name]
    if wanted.startswith("is "):
        word = wanted.removeprefix("is ")
        if word in ("open", "closed"):
            return (entity.openness or 0.0) > 0.5 if word == "open" else not entity.openness
        return bool(entity.states.get(word.removeprefix("not "))) is not word.startswith("not ")
    places = {entity.parent, entity.room}
    return bool(places & set(wanted.split(" or ")))
