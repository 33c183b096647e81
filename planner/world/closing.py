"""Objects that are closed at the end of a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class ClosedOnExit(ABC):
    """A context manager whose exit is `close`."""

    @abstractmethod
    def close(self) -> None:
        """Releases what it uses."""

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Closes it."""
        self.close()
