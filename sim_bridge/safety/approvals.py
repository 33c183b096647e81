"""Rule 14: what waits for the operator, one request an agent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.backend import Handle

# What hands do to things and furniture.
HANDLING = frozenset(
    {PrimitiveName.PICK, PrimitiveName.PLACE, PrimitiveName.OPEN, PrimitiveName.CLOSE}
)


class Answer(StrEnum):
    """What the operator says, by Trigger services of these names."""

    APPROVE = "safety/approve"
    APPROVE_KIND = "safety/approve_kind"
    REFUSE = "safety/refuse"
    TAKE_LEASE = "take_lease"


@dataclass(frozen=True, slots=True)
class Asked:
    """A primitive that waits; `why` is what the operator is told, `until_s` ends the wait."""

    handle: Handle
    primitive: Primitive
    why: str
    until_s: float


class Approvals:
    """What the operator was asked and has allowed for good, of one agent."""

    def __init__(self, *, every_grasp: bool) -> None:
        self._every_grasp = every_grasp
        self._allowed: set[PrimitiveName] = set()
        self.asked: Asked | None = None

    def reason(self, name: PrimitiveName, *, person_near: bool) -> str:
        """Why the operator must be asked first; empty where not."""
        if name not in HANDLING:
            return ""
        if person_near:
            return "a person is near"
        if name in (PrimitiveName.OPEN, PrimitiveName.CLOSE):
            return "doors and drawers are approved one by one"
        if self._every_grasp or name not in self._allowed:
            return f"no {name} was approved for good yet"
        return ""

    def ask(self, asked: Asked) -> None:
        """Keeps a request; an agent does one thing at a time, so there is only one."""
        self.asked = asked

    def take(self, *, remember: bool = False) -> Asked | None:
        """The request that is answered now; `remember` allows its kind from now on."""
        asked, self.asked = self.asked, None
        if asked is not None and remember and not self._every_grasp:
            self._allowed.add(asked.primitive.name)
        return asked
