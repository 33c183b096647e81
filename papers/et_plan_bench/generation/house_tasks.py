"""Tasks of houses with plans that were carried out, and the partial file of a generation."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from pydantic import Field, JsonValue

from papers.et_plan_bench.generation.categories import Category, Variant
from papers.et_plan_bench.generation.combinations import Deck, combinations
from papers.et_plan_bench.generation.house_facts import HouseFacts, facts_of
from papers.et_plan_bench.generation.idea import (
    Idea,
    ModelCritic,
    NoNameError,
    Phrasing,
    RejectedIdeaError,
)
from papers.et_plan_bench.generation.least_walk import (
    Stand,
    Walking,
    least_walk,
    wanted_of,
    with_anchors,
)
from papers.et_plan_bench.generation.plans import Plan, goal_of, verbs_of
from planner.episodes.generator import TaskWorld
from planner.episodes.lint.goal import task_types
from planner.episodes.partial_file import Numbered, PartialLines
from planner.evaluation.language import read_evaluation
from planner.world.agents import default_bodies
from planner.world.episode import EPISODE_VERSION, AgentPlacement, Criteria, Episode, Prior
from planner.world.errors import FileError
from planner.world.files import FileModel
from planner.world.floor_grid import FloorGrid
from planner.world.house import House
from planner.world.vocabulary import AgentKind

# Where the robot may start: free floor of every room (ETPLAN-1.1).

# As VirtualHome's characters, which have two hands.
BODY = AgentKind.HUMAN
_A_ROOM = 24
_MARGIN_M = 0.05

Pose2D: TypeAlias = tuple[float, float, float]


def starts_of(house: House) -> Mapping[str, tuple[Pose2D, ...]]:
    """Poses [x, y, yaw] by room; a room without free floor has none, a graph's the middle."""
    if house.graph is not None:
        return {room.name: (_middle(room.polygon_m),) for room in house.rooms}
    rng = np.random.default_rng([house.seed or 0, 7])
    grid = FloorGrid.of(house, default_bodies()[BODY].radius_m + _MARGIN_M)
    points = grid.free_points_m
    parts = np.array([grid.component(x, y) for x, y in points])
    largest = np.bincount(parts).argmax() if len(parts) else 0
    found: dict[str, list[Pose2D]] = {room.name: [] for room in house.rooms}
    for index in rng.permutation(np.flatnonzero(parts == largest)):
        x, y = (round(float(at), 3) for at in points[index])
        room = house.room_at(x, y)
        if room is not None and len(found[room]) < _A_ROOM:
            found[room].append((x, y, round(float(rng.uniform(-np.pi, np.pi)), 3)))
    return {name: tuple(poses) for name, poses in found.items() if poses}


def _middle(polygon_m: tuple[tuple[float, float], ...]) -> Pose2D:
    xs, ys = [x for x, _ in polygon_m], [y for _, y in polygon_m]
    return (round((min(xs) + max(xs)) / 2, 3), round((min(ys) + max(ys)) / 2, 3), 0.0)


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

    def __init__(
        self, house: House, split: str, world: TaskWorld, critic: ModelCritic | None
    ) -> None:
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
        kept = Kept(episode_id=name, instruction=text, start=pose, criteria=criteria)
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


# Generates tasks for houses, row by row, and goes on where an earlier run was stopped.
#
# What a row lacks in one house, because nothing more fits there, the next ones make up for.

# How often the houses are gone through for a row that lacks tasks.
LAPS = 10


@dataclass(frozen=True, slots=True)
class Order:
    """What to generate.

    Attributes:
        houses: each makes a part of every row.
        rows: each gets as many tasks as the others, up to one.
        count: of tasks in all.
        seed: of everything random.
    """

    houses: Sequence[HouseTasks]
    rows: Sequence[Row]
    count: int
    seed: int


@dataclass(frozen=True, slots=True)
class Step:
    """One portion that is to be made: `number` of all, `count` tasks of a row in a house."""

    number: int
    row: Row
    house: HouseTasks
    count: int
    seed: str
    first: int


def generate(
    order: Order, known: Callable[[Step, set[str]], Portion | None]
) -> Iterator[tuple[Step, Portion]]:
    """Makes portions one after the other, which depend on the order and those before only.

    Args:
        order: what to make.
        known: an earlier run's portion, whose keys it adds to those given; None to make it.
    """
    number = 0
    for index, row in enumerate(order.rows):
        wanted = order.count // len(order.rows) + (index < order.count % len(order.rows))
        taken: dict[str, set[str]] = {}
        made: Counter[str] = Counter()
        # Houses that have nothing for the row are told once, and not asked again.
        without: set[str] = set()
        for lap in range(LAPS):
            for left, house in zip(range(len(order.houses), 0, -1), order.houses, strict=True):
                count = -(-(wanted - made.total()) // left)
                name = house.house.name
                if count <= 0 or name in without:
                    continue
                keys = taken.setdefault(name, set())
                seed = f"{order.seed}/{lap}"
                step = Step(number, row, house, count, seed, made[name])
                portion = known(step, keys)
                if portion is None:
                    portion = house.make(row, count, seed, keys, made[name])
                made[name] += len(portion.episodes)
                if portion.rejected.keys() & OF_HOUSE:
                    without.add(name)
                number += 1
                yield step, portion


# The partial file of a generation of ET-Plan-Bench's tasks: a line for each portion.

_MOST_PORTIONS = 1_000_000


class Asked(FileModel):
    """The first line: the arguments that decide what the tasks are.

    Attributes:
        houses: SHA-256 of each house's file by name, in the order of use.
    """

    version: Literal[1] = 1
    world: str
    rows: tuple[str, ...]
    variant: tuple[str, ...]
    count: int = Field(ge=1)
    seed: int = Field(ge=0)
    model: str
    houses: dict[str, str]


class Block(Numbered):
    """A portion."""

    tasks: tuple[Kept, ...]
    keys: tuple[str, ...]


class PartialTasks:
    """What is done so far, and what was."""

    def __init__(self, output: Path, asked: Asked) -> None:
        self.lines: PartialLines[Asked, Block] = PartialLines(output, asked, Block, _MOST_PORTIONS)
        self._earlier = {block.number: block for block in self.lines.done}

    @property
    def tasks(self) -> int:
        """How many tasks an earlier run made."""
        return sum(len(block.tasks) for block in self._earlier.values())

    def known(self, step: Step, keys: set[str]) -> Portion | None:
        """An earlier run's portion.

        Raises:
            FileError: if it is not of this step's kind.
        """
        block = self._earlier.get(step.number)
        if block is None:
            return None
        names = [f"{step.house.house.name}-{step.row.name}-" for _ in block.tasks]
        if any(not t.episode_id.startswith(n) for t, n in zip(block.tasks, names, strict=True)):
            reason = "is of another house or kind than now; delete this file to begin again"
            raise FileError(self.lines.path, f"portion {step.number}", reason)
        keys.update(block.keys)
        episodes = [step.house.again(task) for task in block.tasks]
        return Portion(episodes, list(block.keys), Counter(block.rejected))

    def keep(self, step: Step, portion: Portion) -> None:
        """Writes a portion, unless an earlier run did.

        Raises:
            FileError: if it cannot be written.
        """
        if step.number in self._earlier:
            return
        tasks = []
        for episode in portion.episodes:
            start, criteria = episode.agents[0].start, episode.criteria
            if start is None or criteria is None:
                raise ValueError(f"{episode.episode_id} has no start or no criteria")
            kept = Kept(
                episode_id=episode.episode_id,
                instruction=episode.instruction,
                start=start,
                criteria=criteria,
                evaluation=episode.evaluation,
            )
            tasks.append(kept)
        self.lines.append(
            Block(
                number=step.number,
                rejected=dict(portion.rejected),
                tasks=tuple(tasks),
                keys=tuple(portion.keys),
            )
        )
