"""docs/glossary.md: in order, each term once and short, and what it names in code exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").strip()
ENTRIES = re.findall(r"^\*\*(.+?)\*\*: (.+?)(?=\n\n|\Z)", PAGE, re.MULTILINE | re.DOTALL)
MAX_SENTENCES = 3
# Terms that a reader of the code meets first.
EXPECTED = [
    "backend",
    "belief",
    "bridge",
    "compat",
    "episode",
    "evaluator",
    "foresight",
    "grammar",
    "grounding",
    "lockstep",
    "memory",
    "operation",
    "planner",
    "precondition",
    "primitive",
    "proposition",
    "rollout",
    "seam",
    "session",
    "skill",
    "strict",
    "suite",
    "trace",
    "updater",
    "verdict",
]


def test_terms_are_in_order_and_unique() -> None:
    terms = [term.lower() for term, _ in ENTRIES]
    assert terms == sorted(set(terms))
    assert len(terms) == len(re.findall(r"^\*\*", PAGE, re.MULTILINE))


@pytest.mark.parametrize("term", EXPECTED)
def test_terms_of_the_code_are_explained(term: str) -> None:
    assert term in {entry.lower() for entry, _ in ENTRIES}


@pytest.mark.parametrize(("term", "text"), ENTRIES, ids=[term for term, _ in ENTRIES])
def test_entries_are_short_and_end(term: str, text: str) -> None:
    assert text.endswith("."), term
    assert len(re.findall(r"\.(?:\s|$)", text)) <= MAX_SENTENCES, term


def test_paths_and_modules_exist() -> None:
    paths = [word for word in re.findall(r"`([a-z_/.]+)`", PAGE) if word.endswith((".py", "/"))]
    assert paths
    assert not [path for path in paths if not (ROOT / path).exists()]
    for module in re.findall(r"`(?:python -m )?((?:planner|sim_bridge)\.[a-z_.]+)", PAGE):
        assert list(ROOT.glob(f"{module.strip('.').replace('.', '/')}.py")), module
