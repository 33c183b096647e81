"""A person who answers a planner's questions from the evaluator's progress, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from planner.app.run import EpisodeRun
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.feedback import feedback
from planner.evaluation.progress import Progress
from planner.evaluation.task import Proposition
from planner.planning.planner import Exchange
from planner.world.errors import PlannerError


class Judged(Protocol):
    """What the person looks at; see `planner.evaluation.evaluator.Evaluator`."""

    @property
    def propositions(self) -> Sequence[Proposition]:
        """The propositions of the task."""

    @property
    def progress(self) -> Progress:
        """The progress after the last state."""


@dataclass(slots=True)
class SimulatedPerson:
    """Answers every question with what is not as wanted, or "done" (HELPER-D83).

    Attributes:
        judged: knows the truth; planners never do.
        look: passes the current state to it.
        exchanges: what was asked and answered, oldest first.
    """

    judged: Judged
    look: Callable[[], None]
    exchanges: list[Exchange] = field(default_factory=list)

    async def answer(self, question: str) -> str:
        """The answer to a question; an `Ask` of a session."""
        self.look()
        satisfied = [item.satisfied for item in self.judged.progress.propositions]
        words = feedback(self.judged.propositions, satisfied)
        self.exchanges.append(Exchange(question, words))
        return words


def attended(run: EpisodeRun) -> SimulatedPerson:
    """Lets a simulated person answer the questions of a run.

    Raises:
        PlannerError: if the run is not judged by an episode's goal, which the person would know.
    """
    if not isinstance(run.evaluator, Evaluator):
        raise PlannerError("a simulated person knows only the goal of an episode that has one")
    person = SimulatedPerson(run.evaluator, run.steps.judge)
    run.ask = person.answer
    return person
