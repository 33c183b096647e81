"""Which skills a model is offered, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.parts.kinds import SKILLS
from planner.world.primitive import Capabilities, PrimitiveName

# Placeholder in a paper's order for all skills that it does not name.
OTHERS = ""
# Skills of every body (config/agents.yaml), offered without checking abilities.
_COMMON = frozenset(
    {
        PrimitiveName.NAVIGATE,
        PrimitiveName.LOOK,
        PrimitiveName.PICK,
        PrimitiveName.PLACE,
        PrimitiveName.OPEN,
        PrimitiveName.CLOSE,
    }
)


def is_able(skill: str, able: Capabilities | None) -> bool:
    """Whether a body has the abilities that a skill needs beyond the common ones."""
    part = SKILLS.find(skill)
    primitives = able.primitives if able is not None else frozenset()
    return part is not None and part.abilities - _COMMON <= primitives


def in_order(skills: Iterable[str], order: Sequence[str]) -> tuple[str, ...]:
    """Sorts skills by a paper's order; those that it does not name go to `OTHERS`."""
    return tuple(
        sorted(skills, key=lambda name: (order.index(name if name in order else OTHERS), name))
    )
