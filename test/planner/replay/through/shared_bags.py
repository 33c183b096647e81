"""Recorded runs that tests share: making one takes seconds."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest
from stage import Stage

from planner.memory.privileged import PrivilegedUpdater
from planner.models.caller import ModelCall
from planner.models.teacher import ScriptedModel
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.planning.planner_model import Axes, Control, DialogueOptions
from planner.replay.replay_cli import run_through
from planner.world.episode import Episode
from planner.world.house import House

GOAL = {
    "propositions": [
        {"function_name": "is_on_top", "args": {"objects": [name], "receptacles": ["couch_0"]}}
        for name in ("cup_0", "apple_0")
    ]
}


@pytest.fixture(scope="session")
def asked(small_episode: Episode) -> Episode:
    """Cup and apple onto the couch."""
    return small_episode.model_copy(update={"evaluation": GOAL})


@pytest.fixture(scope="session")
def seen_bag(tmp_path_factory: pytest.TempPathFactory, small_house: House, asked: Episode) -> Path:
    """A run with every picture that its privileged memory looked at."""
    folder = tmp_path_factory.mktemp("seen") / "bag"
    stage = Stage(
        folder,
        small_house,
        asked,
        pictures=True,
        live=lambda _layout, truth: PrivilegedUpdater(truth),
    )
    assert stage.play().verdict.success
    return folder


@pytest.fixture(scope="session")
def decided_bag(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, asked: Episode
) -> Path:
    """A run without pictures, decided by the expert."""
    folder = tmp_path_factory.mktemp("decided") / "bag"
    assert Stage(folder, small_house, asked).play().verdict.success
    return folder


@pytest.fixture
def through(tmp_path: Path) -> Callable[..., Path]:
    """Runs a bag through words; returns the folder of what was found."""

    def run(bag: Path, *words: str, name: str = "found", **options: object) -> Path:
        folder = tmp_path / name
        given = {"start": 0.0, "duration": None, **options}
        args = Namespace(bag=bag, through=list(words), output=folder, **given)
        assert run_through(args) == 0
        return folder

    return run


def summary(folder: Path) -> dict:
    (instruction,) = json.loads((folder / "summary.json").read_text())["instructions"]
    return instruction


def decisions(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "differences.jsonl").read_text().splitlines()]


def scripted(
    name: str, replies: list[str], control: Control = Control.DECENTRALIZED
) -> Callable[[Task, Callable[[ModelCall], None]], Planner]:
    choice = PlannerChoice(name, Axes(control=control), DialogueOptions())
    return lambda task, tell: make_planner(choice, task, ScriptedModel(replies), tell)


def script(folder: Path, replies: list[str]) -> str:
    path = folder / "script.txt"
    path.write_text("\n\n".join(f"{reply}\nAssigned!" for reply in replies))
    return f"model:=scripted:{path}"
