"""docs/evaluation.md against the language: every word of it is explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.evaluation.language import EvaluationFile
from planner.evaluation.progress import Mode
from planner.evaluation.task import GateRelation, Predicate, TieKind

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
