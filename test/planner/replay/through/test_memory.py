"""A bag through another memory: the same one believes the same, others are scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from stage import Stage

from planner.memory.learned.detector import Detector
from planner.memory.learned.updater import LearnedUpdater
from planner.memory.privileged import PrivilegedUpdater
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.house import House

Through = Callable[..., Path]


def summary(folder: Path) -> dict:
    (world,) = json.loads((folder / "summary.json").read_text())["worlds"]
    return world


def steps(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "differences.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_with_every_picture_the_same_memory_believes_the_same(
    seen_bag: Path, through: Through, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = through(seen_bag, "memory:=privileged")
    found = summary(folder)
    assert found["identical"], found
    assert (found["steps_that_differ"], found["losses"]) == (0, {})
    assert found["steps"] > 5
    pictures = found["pictures"]["agent_0"]
    assert pictures["exposures"] == pictures["recorded"] == pictures["looked_at"] > 20
    end = found["at_the_end"]
    assert end["live"] == end["replayed"]
    assert end["live"]["recall"] == 1.0
    assert "both memories are identical throughout" in capsys.readouterr().out
    assert all(not step["begun"] and step["identical"] for step in steps(folder))


@pytest.mark.slow
def test_learned_memory_sees_again_what_it_saw(
    tmp_path: Path, small_house: House, asked: Episode, through: Through
) -> None:
    detector = Detector.load()
    goal = {"propositions": asked.evaluation["propositions"][:1]}
    alone = asked.model_copy(update={"agents": asked.agents[:1], "evaluation": goal})
    stage = Stage(
        tmp_path / "bag",
        small_house,
        alone,
        pictures=True,
        live=lambda layout, _truth: LearnedUpdater(layout, detector),
        foreign_names=True,
    )
    assert stage.play().verdict.success
    folder = through(tmp_path / "bag", "memory:=learned")
    found = summary(folder)
    # Poses are multiplied in another order than the simulator does.
    assert (found["steps_that_differ"], found["losses"]) == (0, {})
    assert found["steps"] > 3
    other = summary(through(tmp_path / "bag", "memory:=privileged", name="other"))
    assert other["steps_that_differ"] > 0
    assert other["at_the_end"]["live"] == found["at_the_end"]["live"]


@pytest.fixture(scope="module")
def thinned_bag(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, asked: Episode
) -> Path:
    """Compressed pictures, one of six; the live memory saw all of them."""
    folder = tmp_path_factory.mktemp("thinned") / "bag"
    stage = Stage(
        folder,
        small_house,
        asked,
        pictures=True,
        compressed=True,
        keep_every=6,
        live=lambda _layout, truth: PrivilegedUpdater(truth),
    )
    assert stage.play().verdict.success
    return folder


@pytest.mark.slow
def test_missing_pictures_are_reported(
    thinned_bag: Path, through: Through, capsys: pytest.CaptureFixture[str]
) -> None:
    found = summary(through(thinned_bag, "memory:=learned"))
    pictures = found["pictures"]["agent_0"]
    assert pictures["recorded"] * 6 >= pictures["exposures"] > pictures["recorded"]
    assert pictures["looked_at"] == pictures["recorded"]
    assert found["losses"] == {}
    said = capsys.readouterr().out
    assert "may have looked at pictures that the bag does not have" in said
    first = said.splitlines()[0]
    has, made = pictures["recorded"], pictures["exposures"]
    share = f"{has} of {made} exposures, {has / made:.3f}"
    assert first == f"agent_0: the bag has the pictures of {share}"


@pytest.mark.slow
def test_a_memory_without_pictures_learns_from_actions_alone(
    seen_bag: Path, through: Through
) -> None:
    found = summary(through(seen_bag, "memory:=none"))
    assert found["at_the_end"]["replayed"]["things"] == 0
    assert found["at_the_end"]["replayed"]["recall"] == 0.0
    assert not found["identical"]


@pytest.mark.slow
def test_the_same_bag_gives_the_same_bytes(thinned_bag: Path, through: Through) -> None:
    first = through(thinned_bag, "memory:=privileged", name="first")
    second = through(thinned_bag, "memory:=privileged", name="second")
    for name in ("differences.jsonl", "summary.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
        assert (first / name).stat().st_size > 100


@pytest.mark.slow
def test_a_part_begins_with_the_furniture_only(seen_bag: Path, through: Through) -> None:
    whole = steps(through(seen_bag, "memory:=none", name="whole"))
    part = steps(through(seen_bag, "memory:=none", start=2.0, duration=4.0))
    assert 0 < len(part) < len(whole)
    assert part[-1]["stamp_s"] <= 6.0
    kinds = {difference["kind"] for step in part for difference in step["begun"]}
    assert kinds == {"removed"}


def test_what_a_memory_looks_at_must_be_in_the_bag(decided_bag: Path, through: Through) -> None:
    with pytest.raises(FileError, match="pictures of depth and colour"):
        through(decided_bag, "memory:=learned")
    found = summary(through(decided_bag, "memory:=none"))
    assert found["at_the_end"]["live"]["things"] > 0
