"""How skills move their body: by oracle, by oracle with noise, or by a learned policy."""

from __future__ import annotations

from collections.abc import Mapping
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


class SkillKind(StrEnum):
    """Who moves the body of an agent (PARTNR's third axis).

    ORACLE: the primitives of the world. NOISY: the same, of which some fail or end elsewhere.
    LEARNED: a policy drives by pictures; things are handled by oracle.
    """

    ORACLE = "oracle"
    NOISY = "noisy"
    LEARNED = "learned"


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
    Option("skill_policy", "", "file of the learned policy", is_path=True),
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
        named = str(values["skill_policy"])
        kind = SkillKind(str(values["skill_kind"]))
        if named and kind is not SkillKind.LEARNED:
            raise OptionError("skill_policy", f"is of skill_kind learned, not of {kind}")
        return SkillChoice(
            kind,
            Path(named) if named else None,
            float(values["skill_noise"]),
            int(values["skill_seed"]),
            str(values["skill_body"]),
        )

    def policy_file(self) -> Path:
        """The file of the learned policy.

        Raises:
            PlannerError: if none is named.
        """
        if self.policy is None:
            raise PlannerError(
                "skill_kind learned: no policy ships; make one with `planner train skill navigate "
                "FOLDER` and name its file in skill_policy"
            )
        return self.policy

    def check(self) -> None:
        """Refuses a policy that is not named or cannot be read, before anything runs.

        Raises:
            PlannerError: for a learned kind without a policy.
            FileError: for a policy's file that cannot be used.
        """
        from planner.skills.navigation.policy_file import cached_policy

        if self.kind is SkillKind.LEARNED:
            cached_policy(self.policy_file())


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
    from planner.skills.navigation.policy_file import cached_policy
    from planner.skills.navigation.skill import LearnedNavigation
    from planner.skills.noise import NoisyPrimitives

    if choice.kind is SkillKind.ORACLE or choice.body not in ("", capabilities.kind):
        return None
    if choice.kind is SkillKind.NOISY:
        return NoisyPrimitives(agent, choice.noise, choice.seed)
    if PrimitiveName.NAVIGATE not in capabilities.primitives:
        raise PlannerError(f"skill_kind learned: {agent}, a {capabilities.kind}, does not walk")
    path = choice.policy_file()
    return LearnedNavigation(path, cached_policy(path), agent, capabilities)
