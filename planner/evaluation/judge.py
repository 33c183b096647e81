"""By whose rules witnesses become a result: the seam between strict and compat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from pydantic import JsonValue

from planner.evaluation.constraints import PropositionStatus, Rules, with_ties
from planner.evaluation.propositions import Watch
from planner.evaluation.task import Evaluation, Proposition
from planner.evaluation.tracker import Tracker


class Judge(Protocol):
    """The rules of one episode and what they have latched so far.

    Attributes:
        watch: how its propositions are watched.
    """

    watch: ClassVar[type[Watch]]

    @property
    def propositions(self) -> tuple[Proposition, ...]:
        """What is watched and counted."""

    @property
    def first_steps(self) -> Sequence[int | None]:
        """When each proposition first counted."""

    @property
    def pending(self) -> bool:
        """Whether the next step may differ although the world does not."""

    def advance(self, step: int, watches: Sequence[Watch]) -> None:
        """Takes up the world of a step."""

    def statuses(self, watches: Sequence[Watch]) -> tuple[PropositionStatus, ...]:
        """How each proposition stands if the episode ended now."""

    def latches(self) -> dict[str, JsonValue]:
        """All that is remembered of the states so far."""

    def restore(self, latches: Mapping[str, Any]) -> None:
        """Goes on where another judge of the same evaluation and mode stopped."""


class StrictJudge:
    """The paper's rules with the decisions (PARTNR-D18 to PARTNR-D27)."""

    watch: ClassVar[type[Watch]] = Watch

    def __init__(self, evaluation: Evaluation) -> None:
        self.propositions = with_ties(evaluation)
        self._tracker = Tracker(evaluation)
        self._rules = Rules(evaluation)

    @property
    def first_steps(self) -> Sequence[int | None]:
        """When each proposition first counted; s of PARTNR-D18."""
        return self._tracker.first_step

    @property
    def pending(self) -> bool:
        """As `Judge`."""
        return self._tracker.pending

    def advance(self, step: int, watches: Sequence[Watch]) -> None:
        """As `Judge`."""
        self._tracker.advance(step, watches)

    def statuses(self, watches: Sequence[Watch]) -> tuple[PropositionStatus, ...]:
        """As `Judge`."""
        return self._rules.statuses(self._tracker, watches)

    def latches(self) -> dict[str, JsonValue]:
        """As `Judge`."""
        return self._tracker.latches()

    def restore(self, latches: Mapping[str, Any]) -> None:
        """As `Judge`."""
        self._tracker.restore(latches)
