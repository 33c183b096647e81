"""docs/evaluation.md against the language: every word of it is explained."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from planner.evaluation.language import EvaluationFile
from planner.evaluation.metrics.table import metrics
from planner.evaluation.progress import Mode
from planner.evaluation.task import GateRelation, Predicate, TieKind
from planner.replay.evaluate import add_arguments

PAGE = (Path(__file__).parents[3] / "docs" / "evaluation.md").read_text(encoding="utf-8")
SCHEMA = EvaluationFile.model_json_schema()
FIELDS = {
    name
    for model in SCHEMA["$defs"].values()
    for name in model.get("properties", ())
    if name not in {"args", "function_name", "type"}
}


@pytest.mark.parametrize("word", [*Predicate, *GateRelation, *TieKind, *Mode, *sorted(FIELDS)])
def test_every_word_is_documented(word: str) -> None:
    assert re.search(rf"`[^`]*{re.escape(str(word))}[^`]*`", PAGE)


@pytest.mark.parametrize("name", metrics())
def test_every_metric_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_every_option_of_the_command_is_documented() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = {word for action in parser._actions for word in action.option_strings}
    assert {o for o in options if o.startswith("--")} - {"--help"} <= set(
        re.findall(r"--[a-z]+", PAGE)
    )
