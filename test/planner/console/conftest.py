"""An empty page, and a dispatcher of orders for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from dispatcher_stage import Console

from planner.console.facts import Table
from planner.console.view import View


@pytest.fixture
def view() -> View:
    return View(Table())


@pytest.fixture
def console(view: View, tmp_path: Path) -> Console:
    return Console(view, tmp_path / "who.jsonl", ("agent_0", "agent_1"))
