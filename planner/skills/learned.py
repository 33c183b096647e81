"""The mover of learned skills: each primitive goes to the policy that was trained for it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from planner.skills.manipulation.skill import HANDLING, LearnedManipulation
from planner.skills.manipulation.space import MANIPULATION
from planner.skills.navigation.skill import LearnedNavigation
from planner.skills.policy.policy_file import PolicyFile
from planner.world.primitive import Capabilities, Primitive, PrimitiveName

if TYPE_CHECKING:
    from planner.skills.attempt import Attempt, Motion
    from planner.skills.kind import Mover


class LearnedMover:
    """Walks and handles things by policies; without one for a primitive, by the world's own."""

    def __init__(
        self, policies: Iterable[tuple[Path, PolicyFile]], agent: str, capabilities: Capabilities
    ) -> None:
        """Takes files and policies for one body.

        Raises:
            FileError: for a policy of another body.
            PlannerError: for a body that cannot be driven by one of them.
        """
        self._movers: dict[str, Mover] = {}
        for path, policy in policies:
            if policy.space is MANIPULATION:
                handling = LearnedManipulation(path, policy, agent, capabilities)
                self._movers.update(dict.fromkeys(HANDLING, handling))
            else:
                walking = LearnedNavigation(path, policy, agent, capabilities)
                self._movers[PrimitiveName.NAVIGATE] = walking

    def carry_out(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """See `planner.skills.kind.Mover`."""
        mover = self._movers.get(primitive.name)
        if mover is None:
            return (yield from attempt.carry_out(primitive, phase))
        return (yield from mover.carry_out(attempt, primitive, phase))
