"""The rules that turn witnesses into a result: the seam between strict and compat modes."""

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
        watch: the class that watches its propositions.
    """

    watch: ClassVar[type[Watch]]

    @property
    def propositions(self) -> tuple[Proposition, ...]:
        """The propositions that are watched and counted."""

    @property
    def first_steps(self) -> Sequence[int | None]:
        """When each proposition first counted."""

    @property
    def pending(self) -> bool:
        """Whether the next step may change the result in an unchanged world."""

    def advance(self, step: int, watches: Sequence[Watch]) -> None:
        """Processes the world of a step."""

    def statuses(self, watches: Sequence[Watch]) -> tuple[PropositionStatus, ...]:
        """The status of each proposition if the episode ended now."""

    def latches(self) -> dict[str, JsonValue]:
        """Everything that is remembered of the states so far."""

    def restore(self, latches: Mapping[str, Any]) -> None:
        """Continues from the latches of another judge with the same evaluation and mode."""


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
        """See `Judge`."""
        return self._tracker.pending

    def advance(self, step: int, watches: Sequence[Watch]) -> None:
        """See `Judge`."""
        self._tracker.advance(step, watches)

    def statuses(self, watches: Sequence[Watch]) -> tuple[PropositionStatus, ...]:
        """See `Judge`."""
        return self._rules.statuses(self._tracker, watches)

    def latches(self) -> dict[str, JsonValue]:
        """See `Judge`."""
        return self._tracker.latches()

    def restore(self, latches: Mapping[str, Any]) -> None:
        """See `Judge`."""
        self._tracker.restore(latches)
