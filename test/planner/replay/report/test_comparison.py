"""Several bags side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.replay.report.collect import collect
from planner.replay.report.comparison import compare


@pytest.fixture
def solved(film):
    film.solved()
    return collect(film.everything("solved").close(), "solved", 100_000)


@pytest.fixture
def failed(film):
    film.states = film.states[:1]
    film.put("apple_0", 0.2)
    return collect(film.everything("failed").close(), "failed", 100_000)


def named(one, name, **changes):
    return replace(one.report, name=name, about=replace(one.report.about, **changes))


def test_one_bag_is_compared_with_nothing(solved) -> None:
    assert compare([solved.report], [solved.trace]) is None


def test_alike_bags_are_one_group_and_nothing_differs(solved) -> None:
    reports = [named(solved, name) for name in "abc"]
    episode = solved.trace.episode
    of_tasks = [
        replace(solved.trace, episode=replace(episode, episode_id=f"task_{name}")) for name in "abc"
    ]
    found = compare(reports, of_tasks)
    (arm,) = found.arms
    assert (arm.bags, found.tests, found.differences) == (("a", "b", "c"), (), ())
    success = next(m for m in arm.metrics if m.metric == "success")
    assert (success.estimate.value, success.estimate.n) == (1.0, 3)
    assert success.estimate.interval == "clopper_pearson"
    assert success.estimate.low == pytest.approx(0.2924, abs=1e-3)


def test_two_planners_on_the_same_task_are_paired(solved, failed) -> None:
    reports = [named(solved, "one", planner="react"), named(failed, "two", planner="expert")]
    found = compare(reports, [solved.trace, failed.trace])
    assert [arm.name for arm in found.arms] == ["react", "expert"]
    assert [(d.setting, d.values) for d in found.differences] == [("planner", ("react", "expert"))]
    test = next(t for t in found.tests if t.metric == "success")
    assert (test.first_mean, test.second_mean, test.test) == (1.0, 0.0, "mcnemar_exact")
    assert (test.larger, test.smaller, test.p) == (0, 1, 1.0)


@pytest.mark.slow
def test_repeats_of_a_task_are_averaged_before_they_are_paired(solved, failed) -> None:
    reports = [
        named(solved, "a", planner="react"),
        named(failed, "b", planner="react"),
        named(solved, "c", planner="expert"),
    ]
    found = compare(reports, [solved.trace, failed.trace, solved.trace])
    test = next(t for t in found.tests if t.metric == "success")
    assert (test.first_mean, test.second_mean, test.test) == (0.5, 1.0, "sign_flip")
    assert test.difference.n == 1


def test_other_tasks_are_no_other_groups_and_places_neither(solved) -> None:
    reports = [
        named(solved, "a", episode_id="x", settings={"recorder.folder": "/tmp/a", "images": "raw"}),
        named(solved, "b", episode_id="y", settings={"recorder.folder": "/tmp/b", "images": "raw"}),
    ]
    found = compare(reports, [solved.trace] * 2)
    assert len(found.arms) == 1
    assert [d.setting for d in found.differences] == ["episode", "recorder.folder"]


def test_a_parameter_that_differs_makes_groups(solved) -> None:
    reports = [
        named(solved, "a", settings={"memory.updater": "learned"}),
        named(solved, "b", settings={"memory.updater": "vlm"}),
    ]
    found = compare(reports, [solved.trace] * 2)
    assert [arm.settings for arm in found.arms] == [
        {"memory.updater": "learned"},
        {"memory.updater": "vlm"},
    ]


def test_bags_that_could_not_be_judged_are_reported(solved) -> None:
    reports = [named(solved, "a"), named(solved, "b")]
    found = compare(reports, [solved.trace, None])
    assert found.notes == ("1 bags could not be judged again and have no part in the metrics.",)
    assert found.arms[0].metrics[0].estimate.n == 1
