"""How skills move their body: by oracle, by oracle with noise, or by a learned policy."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from planner.parts.option import Option, OptionError, OptionValue, read_options
from planner.world.errors import PlannerError
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
)
from planner.world.vocabulary import AgentKind

if TYPE_CHECKING:
    from planner.skills.attempt import Attempt, Motion, Mover
    from planner.skills.policy.policy_file import PolicyFile


class SkillKind(StrEnum):
    """Who moves the body of an agent (PARTNR's third axis).

    ORACLE: the primitives of the world. NOISY: the same, of which some fail or end elsewhere.
    LEARNED: policies drive base and hand by pictures.
    """

    ORACLE = "oracle"
    NOISY = "noisy"
    LEARNED = "learned"


class LearnedSkills(StrEnum):
    """Which skills have a policy."""

    BOTH = "both"
    NAVIGATE = "navigate"
    MANIPULATE = "manipulate"


# Of the skill executor and of runs in one process.
SKILL_KIND_OPTIONS: tuple[Option, ...] = (
    Option(
        "skill_kind",
        SkillKind.ORACLE.value,
        "who moves bodies: oracle, oracle with noise, or a learned policy",
        choices=tuple(kind.value for kind in SkillKind),
    ),
    Option(
        "skill_body",
        AgentKind.ROBOT.value,
        "kind of body that it is about, others move by oracle; empty = all",
        choices=("", *(kind.value for kind in AgentKind)),
    ),
    Option(
        "skill_learned",
        LearnedSkills.BOTH.value,
        "which skills of the kind learned have a policy; the others are by oracle",
        choices=tuple(kind.value for kind in LearnedSkills),
    ),
    Option(
        "skill_policy",
        "",
        "file of the learned policy that walks; empty = the shipped one",
        is_path=True,
    ),
    Option(
        "skill_hand_policy",
        "",
        "file of the learned policy that handles things; empty = the shipped one",
        is_path=True,
    ),
    Option(
        "skill_noise", 1.0, "factor of the noise of noisy skills", min_value=0.0, max_value=10.0
    ),
    Option("skill_seed", 0, "of the noise", min_value=0, max_value=2**31 - 1),
)


@dataclass(frozen=True, slots=True)
class SkillChoice:
    """The values of `SKILL_KIND_OPTIONS`."""

    kind: SkillKind = SkillKind.ORACLE
    policy: Path | None = None
    hand_policy: Path | None = None
    learned: LearnedSkills = LearnedSkills.BOTH
    noise: float = 1.0
    seed: int = 0
    body: str = AgentKind.ROBOT.value

    @staticmethod
    def of(given: Mapping[str, OptionValue]) -> SkillChoice:
        """The choice that options make.

        Raises:
            OptionError: for an unknown option, an invalid value, or a policy without `learned`.
        """
        values = read_options(SKILL_KIND_OPTIONS, given)
        kind = SkillKind(str(values["skill_kind"]))
        learned = LearnedSkills(str(values["skill_learned"]))
        files = {}
        for name, unused in (
            ("skill_policy", LearnedSkills.MANIPULATE),
            ("skill_hand_policy", LearnedSkills.NAVIGATE),
        ):
            named = str(values[name])
            if named and kind is not SkillKind.LEARNED:
                raise OptionError(name, f"is of skill_kind learned, not of {kind}")
            if named and learned is unused:
                raise OptionError(name, f"is not used with skill_learned {learned}")
            files[name] = Path(named) if named else None
        return SkillChoice(
            kind,
            files["skill_policy"],
            files["skill_hand_policy"],
            learned,
            float(values["skill_noise"]),
            int(values["skill_seed"]),
            str(values["skill_body"]),
        )

    def policies(self) -> Iterator[tuple[Path, PolicyFile]]:
        """Files and policies of the learned skills.

        Raises:
            FileError: for a policy's file that cannot be used.
        """
        from planner.skills.policy.handling import MANIPULATION
        from planner.skills.policy.navigation_space import NAVIGATION
        from planner.skills.policy.policy_file import cached_policy, shipped_policy

        for space, file in ((NAVIGATION, self.policy), (MANIPULATION, self.hand_policy)):
            if self.learned in (LearnedSkills.BOTH, space.skill):
                path = file or shipped_policy(space)
                yield path, cached_policy(path, space)

    def check(self) -> None:
        """Refuses a policy that cannot be read, before anything runs.

        Raises:
            FileError: for a policy's file that cannot be used.
        """
        if self.kind is SkillKind.LEARNED:
            tuple(self.policies())


def make_mover(choice: SkillChoice, agent: str, capabilities: Capabilities) -> Mover | None:
    """The mover of one agent; None where the world's own primitives are used as they are.

    Raises:
        FileError: for a policy's file that cannot be used with this body.
        PlannerError: for a body that cannot be driven.
    """
    from planner.skills.policy.navigation import LearnedMover

    if choice.kind is SkillKind.ORACLE or choice.body not in ("", capabilities.kind):
        return None
    if choice.kind is SkillKind.NOISY:
        return NoisyPrimitives(agent, choice.noise, choice.seed)
    if PrimitiveName.NAVIGATE not in capabilities.primitives:
        raise PlannerError(f"skill_kind learned: {agent}, a {capabilities.kind}, does not walk")
    return LearnedMover(choice.policies(), agent, capabilities)


# Oracle skills with noise: what a body would do that is not perfect.


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """How often and how far primitives go wrong; PARTNR names the cases, not how often.

    Attributes:
        lost: share of walks that end before they begin.
        off_m: standard deviation of where walks end, along each axis.
        missed: share of picks whose grasp fails.
        dropped: share of places that do not release.
        stuck: share of furniture that does not open or close.
    """

    lost: float = 0.05
    off_m: float = 0.1
    missed: float = 0.15
    dropped: float = 0.1
    stuck: float = 0.05

    def times(self, factor: float) -> NoiseModel:
        """All of it by a factor; shares are at most 1."""
        return NoiseModel(
            lost=min(1.0, self.lost * factor),
            off_m=self.off_m * factor,
            missed=min(1.0, self.missed * factor),
            dropped=min(1.0, self.dropped * factor),
            stuck=min(1.0, self.stuck * factor),
        )


class NoisyPrimitives:
    """Lets some primitives fail; the same seed, agent and calls give the same failures."""

    def __init__(self, agent: str, factor: float, seed: int) -> None:
        """`factor` scales the shipped `NoiseModel`; 0 is no noise."""
        self._model = NoiseModel().times(factor)
        self._rng = np.random.default_rng([seed, zlib.crc32(agent.encode())])

    def carry_out(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """See `planner.skills.attempt.Mover`."""
        name, model, rng = primitive.name, self._model, self._rng
        # Drawn each time, so that a failure does not depend on those before.
        chance = float(rng.random())
        dx, dy = (float(value) for value in rng.normal(0.0, 1.0, 2) * model.off_m)
        failing: dict[str, tuple[float, PrimitiveCode, str]] = {
            PrimitiveName.NAVIGATE: (model.lost, PrimitiveCode.BLOCKED, "the walk was lost"),
            PrimitiveName.PICK: (model.missed, PrimitiveCode.GRASP_FAILED, "the grasp slipped"),
            PrimitiveName.PLACE: (
                model.dropped,
                PrimitiveCode.GRASP_FAILED,
                "the thing was not released",
            ),
            PrimitiveName.OPEN: (model.stuck, PrimitiveCode.BLOCKED, "it is stuck"),
            PrimitiveName.CLOSE: (model.stuck, PrimitiveCode.BLOCKED, "it is stuck"),
        }
        share, code, text = failing.get(name, (0.0, PrimitiveCode.SUCCESS, ""))
        if chance < share:
            attempt.end_if_canceled()
            return PrimitiveResult(code, text)
        if name == PrimitiveName.NAVIGATE:
            x, y, z = primitive.target_m
            moved = (x + dx, y + dy, z)
            grid = attempt.scene.ground.grid
            # On free floor alone: elsewhere the target is what is to be in view.
            if grid.is_free(x, y) and grid.is_free(*moved[:2]):
                primitive = replace(primitive, target_m=moved)
        return (yield from attempt.carry_out(primitive, phase))
