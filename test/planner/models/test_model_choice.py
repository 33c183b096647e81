"""Models by the names that parameters use: their parts, sources and options."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.models.model_choice import (
    ModelChoice,
    absolute,
    make_model,
    model_forms,
    part_and_source,
)
from planner.parts.option import OptionError
from planner.world.errors import PlannerError


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("", ("", "")),
        ("local:/m", ("local", "/m")),
        ("org/Model-8B", ("server", "org/Model-8B")),
        ("llama3:8b", ("server", "llama3:8b")),
        ("server:local", ("server", "local")),
        ("local", ("server", "local")),
    ],
)
def test_what_is_no_part_is_a_servers_name(model: str, found: tuple[str, str]) -> None:
    assert part_and_source(model) == found


def test_paths_are_made_absolute_and_names_are_not() -> None:
    assert absolute("scripted:x.txt") == f"scripted:{Path('x.txt').resolve()}"
    assert absolute("llama3:8b") == "llama3:8b"
    assert absolute("") == ""


def test_an_option_of_another_part_is_reported() -> None:
    choice = ModelChoice("scripted:/nowhere", options={"temperature": 1.0})
    with pytest.raises(OptionError, match="temperature: unknown"):
        make_model(choice)
    with pytest.raises(OptionError, match="greater than 10"):
        make_model(ModelChoice("m", "http://127.0.0.1:1/v1", {"temperature": 11.0}))


def test_a_part_without_its_source_is_reported() -> None:
    with pytest.raises(PlannerError, match="expected FOLDER"):
        make_model(ModelChoice("local:"))


def test_the_forms_are_named() -> None:
    assert "local:FOLDER" in model_forms()
    assert "scripted:FILE" in model_forms()
