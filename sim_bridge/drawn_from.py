"""Whose meshes a simulator draws, for results that depend on pictures."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class DrawsModels(Protocol):
    """A backend that can draw meshes of other data sets."""

    def drawn_from(self) -> str:
        """Whose meshes house, things and bodies have in the loaded episode.

        Raises:
            PlannerError: if none is loaded.
        """
