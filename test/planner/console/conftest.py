"""An empty page."""

from __future__ import annotations

import pytest

from planner.console.table import Table
from planner.console.view import View


@pytest.fixture
def view() -> View:
    return View(Table())
