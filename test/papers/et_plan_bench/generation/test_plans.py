"""Ground truth, in generated houses (ETPLAN-2.2): it is carried out, and meets the criteria."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.et_plan_bench.generation.categories import Category, Variant, home_named
from papers.et_plan_bench.generation.combinations import combinations
from papers.et_plan_bench.generation.house_facts import HouseFacts
from papers.et_plan_bench.generation.house_tasks import HouseTasks, Row
from papers.et_plan_bench.generation.idea import Idea, Link, Target, hardest
from papers.et_plan_bench.generation.least_walk import Stand, Walking, least_walk, wanted_of
from papers.et_plan_bench.generation.plans import plans
from planner.app.bodily_task_world import GraphTaskWorld, play_reference
from planner.world.house import Room

ROWS = (
    *(Row(category) for category in Category),
    Row(Category.TWO_OBJECTS, arms=2),
    Row(Category.MANIPULATION, prior="FP"),
)


@lru_cache(maxsize=4)
def tasks_of(name: str) -> HouseTasks:
    return HouseTasks(home_named(name).make(), "test", GraphTaskWorld(), None)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10_000),
    row=st.sampled_from(ROWS),
    house=st.sampled_from(("et_test_0", "et_train_2")),
)
@settings(max_examples=15, deadline=None)
def test_every_task_is_done_by_its_plan_and_not_before(seed: int, row: Row, house: str) -> None:
    tasks = tasks_of(house)
    portion = tasks.make(row, 2, str(seed), set(), 0)
    for episode in portion.episodes:
        criteria = episode.criteria
        assert criteria is not None
        assert play_reference(episode, tasks.house) == ""
        undone = criteria.model_copy(update={"reference_calls": ("Open[fridge_0]",)})
        assert play_reference(episode.model_copy(update={"criteria": undone}), tasks.house)
        assert len(criteria.reference_plan) == len(criteria.reference_calls)
        assert criteria.max_actions is not None
        assert len(criteria.reference_calls) <= criteria.max_actions
        for names in criteria.variables.values():
            assert len(set(names)) == len(names)


def closed_pair(tasks: HouseTasks) -> Idea:
    """Two things in the open, for a place that is closed."""
    for idea in combinations(tasks.facts, Category.TWO_OBJECTS):
        assert idea.place is not None
        around = [tasks.facts.closed_around(name) for name in (idea.target, idea.second)]
        if idea.place.relation == "INSIDE" and not any(around):
            return idea
    raise AssertionError("no such pair")


def test_nothing_is_opened_with_two_things_in_the_hands() -> None:
    """ETPLAN-C30."""
    tasks = tasks_of("et_test_0")
    room = tasks.house.rooms[0].name
    idea = closed_pair(tasks)
    place = idea.place
    assert place is not None
    found = plans(tasks.facts, idea, room, arms=2)
    assert len(found) > 2
    for plan in found:
        held = 0
        for call in plan:
            held += call.startswith("Pick") - call.startswith("Place")
            assert held <= 2
            assert not (held == 2 and call.startswith("Open")), plan
    ways = {(plan.index(f"Open[{place.name}]"), sum(c.startswith("Pick") for c in plan))
            for plan in found}  # fmt: skip
    assert {picks for _, picks in ways} == {2, 3}, "one plan puts a thing down for a moment"


class _Walks(Walking):
    """Walks as long as a test says: one by one, or both at once; None = no way."""

    def __init__(self, facts: HouseFacts, *walks_m: float | None) -> None:
        super().__init__(facts)
        self._walks_m = walks_m

    def plan_m(self, _start: Stand, plan: Sequence[str]) -> float:
        walk_m = self._walks_m[0 if _is_one_by_one(tuple(plan)) else 1]
        return math.inf if walk_m is None else walk_m


def _is_one_by_one(plan: tuple[str, ...]) -> bool:
    held = most = 0
    for call in plan:
        held += call.startswith("Pick") - call.startswith("Place")
        most = max(most, held)
    return most == 1


@pytest.mark.parametrize(
    ("walks_m", "one_by_one"), [((50.4, 38.3), False), ((50.4, None), True), ((38.0, 50.0), True)]
)
def test_the_shortest_walk_that_is_feasible_is_the_truth(
    walks_m: tuple[float | None, float | None], one_by_one: bool
) -> None:
    """ETPLAN-C31."""
    facts = tasks_of("et_test_0").facts
    idea = combinations(facts, Category.TWO_OBJECTS)[0]
    stand = Stand((0.0, 0.0), facts.house.rooms[0].name)
    least = least_walk(facts, _Walks(facts, *walks_m), wanted_of(idea, facts), stand, arms=2)
    assert least is not None
    assert _is_one_by_one(least.plan) is one_by_one


def corner(room: Room) -> tuple[float, float]:
    return room.polygon_m[0]


def test_the_truth_is_to_the_nearest_of_a_class() -> None:
    """ETPLAN-C39: words that may mean several things mean the one with the least walk."""
    tasks = tasks_of("et_test_0")
    facts, seen = tasks.facts, 0
    for idea in combinations(facts, Category.NAVIGATION):
        others = facts.of_class[facts.class_of(idea.target)]
        for room in facts.house.rooms if len(others) > 1 else ():
            stand = Stand(corner(room), room.name)
            walking = Walking(facts)
            least = least_walk(facts, walking, wanted_of(idea, facts), stand)
            assert least is not None
            walks_m = [
                walking.plan_m(stand, plan)
                for name in others
                for plan in plans(facts, Idea(Category.NAVIGATION, name), room.name)
            ]
            assert least.walk_m == pytest.approx(min(walks_m), abs=1e-3)
            seen += 1
    assert seen > 10


@pytest.mark.parametrize("category", [Category.MANIPULATION, Category.TEMPORAL])
def test_a_plan_is_as_long_as_the_walk_of_who_carries_it_out(category: Category) -> None:
    tasks = tasks_of("et_test_0")
    portion = tasks.make(Row(category), 5, "walked", set(), 0)
    assert portion.episodes
    for episode in portion.episodes:
        assert episode.criteria is not None
        x_m, y_m, _ = episode.agents[0].start or (0.0, 0.0, 0.0)
        room = tasks.house.room_at(x_m, y_m)
        assert room is not None
        plan = episode.criteria.reference_calls
        run = GraphTaskWorld().play(episode, tasks.house, plan)
        told_m = Walking(tasks.facts).plan_m(Stand((x_m, y_m), room), plan)
        assert told_m == pytest.approx(run.walked_m, abs=1e-9)


def test_one_arm_has_eight_parts_and_two_have_six() -> None:
    """ETPLAN-C32: a part is a way to something, or a deed there."""
    tasks = tasks_of("et_test_0")
    facts = tasks.facts
    idea = next(
        idea
        for idea in combinations(facts, Category.TWO_OBJECTS)
        if idea.place and idea.place.relation == "ON"
    )

    def parts(plan: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        for call in plan:
            kind = {"Navigate": "nav", "Open": "nav", "Pick": "grab"}.get(call.split("[")[0], "put")
            if kind != "nav" or found[-1:] != ["nav"]:
                found.append(kind)
        return found

    found = plans(facts, idea, tasks.house.rooms[0].name, arms=2)
    eight = [plan for plan in found if parts(plan) == ["nav", "grab", "nav", "put"] * 2]
    six = [plan for plan in found if plan not in eight]
    assert six
    assert all(parts(p) == ["nav", "grab", "nav", "grab", "nav", "put", "put"] for p in six)
    in_order = [f"Pick[{idea.target}]", f"Pick[{idea.second}]"]
    picked = [[call for call in plan if call.startswith("Pick")] for plan in eight]
    assert picked == [in_order, in_order[::-1]]
    # One hand brings them in the order of the words.
    assert plans(facts, idea, tasks.house.rooms[0].name) == (eight[0],)


def test_the_layout_map_leaves_out_the_room_of_furniture() -> None:
    tasks = tasks_of("et_test_0")
    far = next(p for p in tasks.facts.furniture if p.room != tasks.house.rooms[0].name)
    idea = Idea(Category.NAVIGATION, far.name)
    room = tasks.house.rooms[0].name
    assert plans(tasks.facts, idea, room) == ((f"Navigate[{far.room}]", f"Navigate[{far.name}]"),)
    assert plans(tasks.facts, idea, room, prior="FP") == ((f"Navigate[{far.name}]",),)


@pytest.mark.parametrize(("count", "kept"), [(834, 167), (674, 135)])
def test_occlusion_keeps_a_fifth(count: int, kept: int) -> None:
    """ETPLAN-C9 and ETPLAN-C10."""
    targets = {
        f"task_{i}": Target(math.sin(i) ** 2 + 0.001, 10 + 5 * math.cos(3 * i))
        for i in range(count)
    }
    small = hardest(targets, Variant.OCCLUSION_SIZE)
    far = hardest(targets, Variant.OCCLUSION_DISTANCE)
    assert len(small) == len(far) == kept
    assert max(targets[n].volume_m3 for n in small) <= min(
        t.volume_m3 for n, t in targets.items() if n not in small
    )
    assert min(targets[n].distance_m for n in far) >= max(
        t.distance_m for n, t in targets.items() if n not in far
    )


def test_a_place_of_the_same_class_is_no_anchor() -> None:
    """ "Near a counter onto a counter" would leave open which counter is which."""
    tasks = tasks_of("et_test_0")
    for idea in combinations(tasks.facts, Category.MANIPULATION_RELATION):
        assert isinstance(idea.source, Link)
        assert idea.place is not None
        facts = tasks.facts
        assert facts.class_of(idea.source.name) != facts.class_of(idea.place.name)
