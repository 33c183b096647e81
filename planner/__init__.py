"""Household robots that take instructions in words: memory, planning, skills, evaluation.

From Python: `planner.load`, `planner.run` and `planner.HouseholdEnv` (docs/python_api.md). They are
imported at first use, so that `import planner` stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.api import Run, load, run
    from planner.household_env import HouseholdEnv

__all__ = ["HouseholdEnv", "Run", "load", "run"]

_MODULES = {
    "HouseholdEnv": "planner.household_env",
    "Run": "planner.api",
    "load": "planner.api",
    "run": "planner.api",
}


def __getattr__(name: str) -> object:
    """Imports public names at first use (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
