"""Where a person waits for a second one; two become the partners of two agents (PARTNR-10)."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Lobby:
    """Sessions that wait, the one that came first before the others."""

    _waiting: list[str] = field(default_factory=list)

    def join(self, session: str) -> tuple[str, str] | None:
        """Waits, or ends the waiting of the first one: both sessions, or None."""
        others = [other for other in self._waiting if other != session]
        if not others:
            self._waiting = [session]
            return None
        self._waiting = others[1:]
        return others[0], session

    def leave(self, session: str) -> None:
        """Waits no longer, if it did."""
        self._waiting = [other for other in self._waiting if other != session]

    @property
    def waiting(self) -> tuple[str, ...]:
        """Who waits."""
        return tuple(self._waiting)
