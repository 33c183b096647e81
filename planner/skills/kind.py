"""How skills move their body: by oracle, by oracle with noise, or by a learned policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from planner.parts.option import Option, OptionError, OptionValue, read_options
from planner.world.errors import PlannerError
from planner.world.primitive import Capabilities, Primitive, PrimitiveName
from planner.world.vocabulary import AgentKind

if TYPE_CHECKING:
    from planner.skills.attempt import Attempt, Motion
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
        from planner.skills.manipulation.space import MANIPULATION
        from planner.skills.navigation.space import NAVIGATION
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


class Mover(Protocol):
    """Carries out primitives for the skills of one agent."""

    def carry_out(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """Carries out one primitive, or does in its place what this kind does.

        Raises:
            CanceledError: if the call was canceled.
            TookTooLongError: if the call timed out.
        """


def make_mover(choice: SkillChoice, agent: str, capabilities: Capabilities) -> Mover | None:
    """The mover of one agent; None where the world's own primitives are used as they are.

    Raises:
        FileError: for a policy's file that cannot be used with this body.
        PlannerError: for a body that cannot be driven.
    """
    from planner.skills.learned import LearnedMover
    from planner.skills.noise import NoisyPrimitives

    if choice.kind is SkillKind.ORACLE or choice.body not in ("", capabilities.kind):
        return None
    if choice.kind is SkillKind.NOISY:
        return NoisyPrimitives(agent, choice.noise, choice.seed)
    if PrimitiveName.NAVIGATE not in capabilities.primitives:
        raise PlannerError(f"skill_kind learned: {agent}, a {capabilities.kind}, does not walk")
    return LearnedMover(choice.policies(), agent, capabilities)
