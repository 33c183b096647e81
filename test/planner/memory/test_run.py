"""What a memory in use says of itself."""

from __future__ import annotations

from pathlib import Path

from planner.memory.memory import Memory
from planner.memory.settings import conditions
from planner.world.house import House
from planner.world.house_checks import load_house


def _house() -> House:
    return load_house("train_2")


def test_without_a_world_it_says_why() -> None:
    for problem, said in (("", "the world is not known yet"), ("no such house", "no such house")):
        store, entities = conditions(None, None, {"updater": "none"}, {"lost": "3"}, problem)
        assert store.problem == ""
        assert entities.problem == said
        assert not entities.is_error
        assert dict(entities.values) == {"updater": "none", "lost": "3"}


def test_a_memory_that_is_not_stored_says_so_gravely(tmp_path: Path) -> None:
    memory = Memory(_house(), None)
    memory.fault = f"{tmp_path}: no space left"
    store, entities = conditions(memory, None, {"updater": "none"}, {}, "sees nothing")
    assert store.is_error
    assert store.problem == f"not stored: {tmp_path}: no space left"
    assert entities.problem == "sees nothing"
    assert entities.values["entities"] == str(len(memory.entities))
    assert entities.values["sequence"] == "0"
