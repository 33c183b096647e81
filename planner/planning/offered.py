"""Which skills a model is offered, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.parts.kinds import SKILLS
from planner.world.primitive import Capabilities, PrimitiveName

# Where in a paper's order the skills stand that it does not name.
OTHERS = ""
# What every body can do (config/agents.yaml): a dialogue offers it without asking for the body.
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
    """Whether an agent's body has what a skill needs beyond what every body can do."""
    part = SKILLS.find(skill)
    primitives = able.primitives if able is not None else frozenset()
    return part is not None and part.abilities - _COMMON <= primitives


def in_order(skills: Iterable[str], order: Sequence[str]) -> tuple[str, ...]:
    """Skills in a paper's order, which has the place `OTHERS` for those that it does not name."""
    return tuple(
        sorted(skills, key=lambda name: (order.index(name if name in order else OTHERS), name))
    )
