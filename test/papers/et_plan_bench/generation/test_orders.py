"""The order for two arms against all sequences of deeds, walked and judged (ETPLAN-C31)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import pytest
from shapely.geometry import Point

from papers.et_plan_bench.generation.categories import Category, home_named
from papers.et_plan_bench.generation.house_tasks import HouseTasks, Row
from planner.app.bodily_task_world import GraphTaskWorld
from planner.world.episode import Episode

Calls = tuple[str, ...]


@cache
def tasks_of(name: str) -> HouseTasks:
    return HouseTasks(home_named(name).make(), "test", GraphTaskWorld(), None)


@dataclass(frozen=True)
class Done:
    """What was done so far; `aside` is what lies on the ledge."""

    calls: Calls = ()
    held: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    aside: str = ""
    was_aside: bool = False
    opened: frozenset[str] = frozenset()

    def then(self, *calls: str, **changes: object) -> Done:
        return replace(self, calls=(*self.calls, *calls), **changes)  # type: ignore[arg-type]


class BruteForce:
    """Every sequence of fetching, opening, putting aside and placing two things."""

    def __init__(self, tasks: HouseTasks, episode: Episode) -> None:
        assert episode.criteria is not None
        names = {letter: found[0] for letter, found in episode.criteria.variables.items()}
        self.things, self.place = frozenset((names["A"], names["A2"])), names["C"]
        self.facts, self.tasks, self.episode = tasks.facts, tasks, episode
        relations = {relation for relation, _, other in episode.criteria.success if other == "C"}
        self.within = "INSIDE" in relations
        self.shuts = self.within and self.facts.entities[self.place].opens
        self.ledge = self._ledge()
        x_m, y_m = episode.agents[0].start[:2]  # type: ignore[index]
        rooms = tasks.house.rooms
        self.start = next(room.name for room in rooms if room.shape.covers(Point(x_m, y_m)))

    def _ledge(self) -> str:
        """What the plan put something aside on, if it did, else the place's own top."""
        assert self.episode.criteria is not None
        puts = [c for c in self.episode.criteria.reference_calls if c.startswith("Place")]
        others = [c.split(", ")[2] for c in puts if f"{self.place}, " not in c]
        return others[0] if others else self.place

    def sequences(self, done: Done) -> Iterator[Calls]:
        if not (done.left or done.held or done.aside):
            yield done.calls
            return
        yield from (one for step in self._steps(done) for one in self.sequences(step))

    def _steps(self, done: Done) -> Iterator[Done]:
        free = len(done.held) < 2
        for thing in sorted(done.left) if free else ():
            around = [h for h in self.facts.closed_around(thing) if h not in done.opened]
            ways = [call for h in around for call in (f"Navigate[{h}]", f"Open[{h}]")]
            yield done.then(
                *(*ways, f"Navigate[{thing}]", f"Pick[{thing}]"),
                held=done.held | {thing},
                left=done.left - {thing},
                opened=done.opened | set(around),
            )
        if done.aside and free:
            fetch = (f"Navigate[{done.aside}]", f"Pick[{done.aside}]")
            yield done.then(*fetch, held=done.held | {done.aside}, aside="")
        shut = self.shuts and self.place not in done.opened
        if shut and free:
            way = (f"Navigate[{self.place}]", f"Open[{self.place}]")
            yield done.then(*way, opened=done.opened | {self.place})
        for thing in sorted(done.held):
            rest = done.held - {thing}
            how = "within" if self.within else "on"
            if not shut:
                put = f"Place[{thing}, {how}, {self.place}, None, None]"
                yield done.then(f"Navigate[{self.place}]", put, held=rest)
            elif not free and not done.was_aside:
                put = f"Place[{thing}, on, {self.ledge}, None, None]"
                way = (f"Navigate[{self.ledge}]", put)
                yield done.then(*way, held=rest, aside=thing, was_aside=True)

    def by_rooms(self, calls: Calls) -> Calls:
        """With the rooms on the way, and no walk to where the robot is."""
        found, here, at, moved = list[str](), self.start, "", dict[str, str]()
        for call in calls:
            name = call.partition("[")[2].rstrip("]").split(", ")[0]
            if call.startswith("Navigate"):
                room = moved.get(name) or self.facts.room_of(name)
                if name == at:
                    continue
                found += [f"Navigate[{room}]"] if room != here else []
                here, at = room, name
            elif call.startswith("Place"):
                moved[name] = self.facts.room_of(call.split(", ")[2])
            found.append(call)
        return tuple(found)

    def shortest_m(self) -> float:
        world, best_m = GraphTaskWorld(), float("inf")
        walked = {self.by_rooms(calls) for calls in self.sequences(Done(left=self.things))}
        for plan in sorted(walked):
            played = world.play(self.episode, self.tasks.house, plan)
            if not played.reason:
                best_m = min(best_m, played.walked_m)
        return best_m


@pytest.mark.parametrize(
    ("house", "count"),
    [
        ("et_test_2", 2),
        pytest.param("et_test_5", 10, marks=pytest.mark.slow),
        pytest.param("et_train_3", 10, marks=pytest.mark.slow),
    ],
)
def test_no_order_of_deeds_is_shorter_than_the_true_plan(house: str, count: int) -> None:
    tasks = tasks_of(house)
    portion = tasks.make(Row(Category.TWO_OBJECTS, arms=2), count, "orders", set(), 0)
    assert portion.episodes
    for episode in portion.episodes:
        assert episode.criteria is not None
        plan = episode.criteria.reference_calls
        own = GraphTaskWorld().play(episode, tasks.house, plan)
        shortest_m = BruteForce(tasks, episode).shortest_m()
        assert own.walked_m == pytest.approx(shortest_m), plan
