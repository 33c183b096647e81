"""Who controls the robots and who is which partner: one page for each."""

from __future__ import annotations

from dataclasses import dataclass

OPERATOR = "operator"
# Wall seconds for which a page that is loaded again finds its seat free.
GRACE_S = 10.0


@dataclass(slots=True)
class _Held:
    """A seat; `left_s` is when the last page of its session went away, None while there is one."""

    session: str
    left_s: float | None = None


class Seats:
    """Seats by name; each is held by one session."""

    def __init__(self) -> None:
        """All are free."""
        self._held: dict[str, _Held] = {}

    def holder(self, seat: str, now_s: float) -> str:
        """The session that has it; "" if it is free."""
        held = self._held.get(seat)
        if held is None:
            return ""
        if held.left_s is not None and now_s - held.left_s > GRACE_S:
            del self._held[seat]
            return ""
        return held.session

    def take(self, seat: str, session: str, now_s: float) -> bool:
        """Whether the session has it now."""
        if self.holder(seat, now_s) not in ("", session):
            return False
        self._held[seat] = _Held(session)
        return True

    def leave(self, seat: str, session: str) -> None:
        """Gives it back, where the session has it."""
        held = self._held.get(seat)
        if held is not None and held.session == session:
            del self._held[seat]

    def session_joined(self, session: str) -> None:
        """A page of the session is there (again)."""
        for held in self._held.values():
            if held.session == session:
                held.left_s = None

    def session_left(self, session: str, now_s: float) -> tuple[str, ...]:
        """The session's last page has gone; returns the seats that it still holds for a while."""
        mine = [(seat, held) for seat, held in self._held.items() if held.session == session]
        for _, held in mine:
            held.left_s = now_s
        return tuple(seat for seat, _ in mine)

    def all(self, now_s: float) -> dict[str, str]:
        """The session of each seat that is not free."""
        found = {seat: self.holder(seat, now_s) for seat in [*self._held]}
        return {seat: session for seat, session in found.items() if session}
