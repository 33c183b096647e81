"""Tasks of one house: ideas with words, a start, and a plan that was carried out (ETPLAN-2.1)."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import JsonValue

from planner.episodes.et_generation.categories import Category, Variant
from planner.episodes.et_generation.combinations import combinations
from planner.episodes.et_generation.deck import Deck
from planner.episodes.et_generation.goal import goal_of
from planner.episodes.et_generation.house_facts import HouseFacts, facts_of
from planner.episodes.et_generation.idea import Idea
from planner.episodes.et_generation.least_walk import least_walk, wanted_of, with_anchors
from planner.episodes.et_generation.phrasing import NoNameError, Phrasing
from planner.episodes.et_generation.plans import Plan, verbs_of
from planner.episodes.et_generation.reading import Critic, RejectedIdeaError
from planner.episodes.et_generation.starts import BODY, Pose2D, starts_of
from planner.episodes.et_generation.task_world import TaskWorld
from planner.episodes.et_generation.walking import Stand, Walking
from planner.episodes.lint.goal import task_types
from planner.evaluation.language import read_evaluation
from planner.world.episode import (
    EPISODE_VERSION,
    AgentPlacement,
    Criteria,
    Episode,
    Prior,
)
from planner.world.files import FileModel
from planner.world.house import House

NO_IDEAS = "nothing in the house fits the template"
NO_NAME = "a class has no plain name of its own"
AGAIN = "the same task again"
NO_ROOM = "the house has no such room"
NO_RELATION = "nothing in the house stands in such a relation"
NO_FLOOR = "no room has free floor to start on"
# Why a house has no task of a row at all.
OF_HOUSE = frozenset({NO_IDEAS, NO_ROOM, NO_RELATION, NO_FLOOR})
NO_WAY = "no way leads to it, or it fits nowhere"
ELSEWHERE = "the nearest of the kind are elsewhere"


@dataclass(frozen=True, slots=True)
class Row:
    """What kind of tasks to make: a row of the paper's table.

    Attributes:
        category: the template.
        prior: what the robot knows at the start.
        arms: how many things it may carry at a time.
        opening: only tasks where something has to be opened.
        relations: only these between A and B, such as FACING; empty = all.
        rooms: only tasks whose things are or go there, by class; empty = all.
        max_actions: the limit M; None = the category's.
    """

    category: Category
    prior: Prior = "P"
    arms: int = 1
    opening: bool = False
    relations: tuple[str, ...] = ()
    rooms: tuple[str, ...] = ()
    max_actions: int | None = None

    @property
    def name(self) -> str:
        """For ids."""
        parts = [str(self.category)]
        if self.prior != "P":
            parts.append({"FP": "map", "G": "graph"}[self.prior])
        if self.arms > 1:
            parts.append("two_arms")
        return "-".join(parts)

    @property
    def variants(self) -> tuple[str, ...]:
        """Those that all of its tasks have."""
        found = [Variant.LAYOUT_MAP] if self.prior == "FP" else []
        return (*found, *([Variant.OPTIMAL_PATH] if self.arms > 1 else []))


class Kept(FileModel):
    """What makes an episode, but for the things of its house, which all of them share."""

    episode_id: str
    instruction: str
    start: Pose2D
    criteria: Criteria
    evaluation: dict[str, JsonValue] | None = None


@dataclass
class Portion:
    """Some tasks of a row in a house, and how many ideas were rejected for which reason."""

    episodes: list[Episode] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)


class HouseTasks:
    """Makes the tasks of one house."""

    def __init__(self, house: House, split: str, world: TaskWorld, critic: Critic | None) -> None:
        self.house = house
        self._world, self._critic = world, critic
        self._base = Episode.model_validate(
            {
                "version": EPISODE_VERSION,
                "episode_id": "task",
                "house": house.name,
                "split": split,
                "instruction": "task",
                "agents": (AgentPlacement(uid="agent_0", kind=BODY),),
                "objects": () if house.graph is not None else house.objects,
            }
        )
        self._ideas: dict[Category, tuple[Idea, ...]] = {}

    @cached_property
    def facts(self) -> HouseFacts:
        """What templates know of it."""
        return facts_of(self.house)

    @cached_property
    def _walking(self) -> Walking:
        return Walking(self.facts)

    @cached_property
    def _phrasing(self) -> Phrasing:
        return Phrasing(self.facts)

    @cached_property
    def _starts(self) -> dict[str, tuple[Pose2D, ...]]:
        return dict(starts_of(self.house))

    def make(self, row: Row, count: int, seed: str, taken: set[str], first: int) -> Portion:
        """Makes up to `count` tasks, fewer if ideas run out.

        Args:
            row: of which kind.
            count: how many.
            seed: of everything random.
            taken: keys of tasks that exist already; keys of new ones are added.
            first: number of the first, for ids.
        """
        portion, here = Portion(), set[str]()
        rng = random.Random(f"{seed}/{self.house.name}/{row.name}")
        ideas = self._fitting(row, portion)
        deck = Deck(self.facts, ideas, rng)
        while len(portion.episodes) < count and (idea := deck.draw()) is not None:
            room = rng.choice(list(self._starts))
            start = rng.choice(self._starts[room])
            words = self._key(row, idea)
            key = f"{words} from {room}"
            if key in taken or words in here:
                portion.rejected[AGAIN] += 1
                continue
            number = first + len(portion.episodes)
            try:
                episode = self._task(row, idea, (room, start), number, rng)
            except RejectedIdeaError as error:
                portion.rejected[str(error)] += 1
                continue
            taken.add(key)
            here.add(words)
            portion.keys.append(key)
            portion.episodes.append(episode)
        return portion

    def again(self, kept: Kept) -> Episode:
        """An episode from what a partial file keeps of it."""
        agent = AgentPlacement(uid="agent_0", kind=BODY, start=kept.start)
        episode = self._base.model_copy(
            update={
                "episode_id": kept.episode_id,
                "instruction": kept.instruction,
                "agents": (agent,),
                "criteria": kept.criteria,
            }
        )
        return self._with_goal(episode, kept.evaluation)

    @staticmethod
    def _with_goal(episode: Episode, evaluation: dict[str, JsonValue] | None) -> Episode:
        if evaluation is None:
            return episode
        types = task_types(read_evaluation(evaluation, episode.episode_id))
        return episode.model_copy(update={"evaluation": evaluation, "task_types": types})

    def _fitting(self, row: Row, portion: Portion) -> list[Idea]:
        if not self._starts:
            portion.rejected[NO_FLOOR] += 1
            return []
        if row.rooms and not set(row.rooms) & set(self.facts.room_class.values()):
            portion.rejected[NO_ROOM] += 1
            return []
        why = self._world.lacks.get(row.category)
        if why is not None:
            portion.rejected[why] += 1
            return []
        if row.category not in self._ideas:
            self._ideas[row.category] = combinations(self.facts, row.category)
        found = [idea for idea in self._ideas[row.category] if self._fits(row, idea)]
        kept = [idea for idea in found if self._offers(idea)]
        for idea in found:
            if not self._offers(idea):
                portion.rejected[self._world.lacks[_relation(idea)]] += 1
        if not found:
            portion.rejected[self._why_none(row)] += 1
        return kept

    def _why_none(self, row: Row) -> str:
        relations = {_relation(idea) for idea in self._ideas[row.category]}
        missing = bool(row.relations) and relations.isdisjoint(row.relations)
        return NO_RELATION if missing and relations else NO_IDEAS

    def _offers(self, idea: Idea) -> bool:
        return _relation(idea) not in self._world.lacks

    def _fits(self, row: Row, idea: Idea) -> bool:
        if row.relations and _relation(idea) not in row.relations:
            return False
        if not row.rooms:
            return True
        rooms = {self.facts.room_of(name) for name in idea.letters.values()}
        return bool({self.facts.room_class[room] for room in rooms} & set(row.rooms))

    def _key(self, row: Row, idea: Idea) -> str:
        """What a reader would call the same task."""
        words = [f"{x}={self.facts.class_of(name)}" for x, name in sorted(idea.letters.items())]
        links = [link.relation for link in (idea.source, idea.nest, idea.place) if link]
        return " ".join((row.name, *words, *links))

    def _task(
        self, row: Row, idea: Idea, start: tuple[str, Pose2D], number: int, rng: random.Random
    ) -> Episode:
        try:
            text = self._phrasing.text(idea, rng)
        except NoNameError:
            raise RejectedIdeaError(NO_NAME) from None
        room, pose = start
        wanted, stand = wanted_of(idea, self.facts), Stand(pose[:2], room)
        least = least_walk(self.facts, self._walking, wanted, stand, row.arms, row.prior)
        if least is None:
            raise RejectedIdeaError(NO_WAY)
        own = with_anchors(least.idea, self.facts)
        if not self._fits(row, own):
            raise RejectedIdeaError(ELSEWHERE)
        if row.opening and not any("Open[" in call for call in least.plan):
            raise RejectedIdeaError("nothing has to be opened")
        if self._critic is not None:
            text = self._critic.judged(idea, text, self._phrasing)
        criteria = Criteria(
            variables=own.variables(self.facts),
            success=tuple(own.success()),
            intermediate=tuple(own.intermediate()),
            category=row.category,
            variants=row.variants,
            prior=row.prior,
            arms=2 if row.arms > 1 else 1,
            max_actions=row.max_actions or row.category.most_actions,
        )
        name = f"{self.house.name}-{row.name}-{number:04d}"
        kept = Kept(
            episode_id=name,
            instruction=text,
            start=pose,
            criteria=criteria,
        )
        episode = self.again(kept)
        played = self._world.play(episode, self.house, least.plan)
        if played.reason:
            raise RejectedIdeaError(played.reason)
        done = _with_plan(episode, least.plan)
        return self._with_goal(done, goal_of(own, self.facts, criteria.variables))


def _relation(idea: Idea) -> str:
    link = idea.source or idea.nest or idea.place
    return "" if link is None else link.relation


def _with_plan(episode: Episode, plan: Plan) -> Episode:
    criteria = episode.criteria
    if criteria is None:
        raise ValueError(f"{episode.episode_id} has no criteria")
    variants = criteria.variants
    if any(call.startswith("Open[") for call in plan):
        variants = (*variants, Variant.ACTION_DEPENDENCY)
    update = {
        "reference_calls": plan,
        "reference_plan": tuple(verbs_of(plan)),
        "variants": variants,
    }
    return episode.model_copy(update={"criteria": criteria.model_copy(update=update)})
