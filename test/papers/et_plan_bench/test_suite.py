"""The shipped suite of ET-Plan-Bench's tasks: all kinds, in the test houses, with plans."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from papers.et_plan_bench.generation.categories import Category, HomeSplit, Variant, homes
from planner.app.bodily_task_world import play_reference
from planner.episodes.episode_file import Pack, read_pack
from planner.world.share import config_dir

PATH = config_dir() / "suites" / "et_plan.json.gz"


@cache
def pack() -> Pack:
    return read_pack(PATH)


@pytest.mark.slow
def test_it_has_all_kinds_in_the_test_houses() -> None:
    episodes = pack().episodes
    assert len({episode.episode_id for episode in episodes}) == len(episodes) == 2000
    assert {house.name for house in pack().houses} == {h.name for h in homes(HomeSplit.TEST)}
    assert {episode.house for episode in episodes} == {house.name for house in pack().houses}
    assert {episode.split for episode in episodes} == {"test"}
    kinds: Counter[tuple[str, str, int]] = Counter()
    marks: Counter[str] = Counter()
    for episode in episodes:
        criteria = episode.criteria
        assert criteria is not None
        kinds[criteria.category, criteria.prior, criteria.arms] += 1
        marks.update(criteria.variants)
    assert {category for category, _, _ in kinds} == set(Category)
    assert min(kinds.values()) == 222
    assert len(kinds) == 9
    assert set(marks) == set(Variant)
    # A fifth of each of nine kinds of 222 or 223 tasks.
    assert marks[Variant.OCCLUSION_SIZE] == marks[Variant.OCCLUSION_DISTANCE] == 2 * 45 + 7 * 44


@pytest.mark.slow
def test_plans_do_the_tasks() -> None:
    houses = {house.name: house for house in pack().houses}
    for episode in pack().episodes[::20]:
        assert play_reference(episode, houses[episode.house]) == "", episode.episode_id
