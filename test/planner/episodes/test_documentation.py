"""docs/episodes.md against the models: no field is left out, the example is what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from planner.world.episode import AgentPlacement, Episode, FurnitureChange, Requirement, Source
from planner.world.house import ObjectPlacement

PAGE = (Path(__file__).parents[3] / "docs" / "episodes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "model", [Episode, AgentPlacement, ObjectPlacement, FurnitureChange, Requirement, Source]
)
def test_every_field_is_documented(model: type[BaseModel]) -> None:
    missing = [name for name in model.model_fields if f"`{name}`" not in PAGE]
    assert missing == []


def test_the_example_is_an_evaluation() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert set(json.loads(example)) == {"propositions", "dependencies", "constraints"}
