"""Two loads at once: which to put down first, and what to take along on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from planner.planning.expert.facts import Facts
from planner.planning.expert.job import Job
from planner.planning.expert.steps import Steps

# Walking that taking something along must save.
MIN_SAVING_M = 1.0


class Loads:
    """The loads of agents with more than one hand."""

    def __init__(self, facts: Facts, steps: Steps, distance: Callable[[str, str], float]) -> None:
        """`distance` gives metres of walking between named entities."""
        self._facts, self._steps, self._distance = facts, steps, distance

    def nearest(self, agent: str, jobs: Sequence[Job]) -> Job:
        """Of the jobs for what an agent holds, the next: what waits for another thing is last.

        Jobs for one thing keep their order.
        """
        firsts = {job.thing: job for job in reversed(jobs)}

        def rank(job: Job) -> tuple[bool, float, str]:
            target = job.spot[1] if job.spot is not None else job.beside or agent
            return job.after in firsts, self._distance(agent, target), job.thing

        return min(firsts.values(), key=rank)

    def on_the_way(self, agent: str, job: Job, others: Iterable[Job]) -> Job | None:
        """The job whose thing an agent fetches before it goes on with a load; None for none.

        It must save walking.
        """
        if self._facts.free_hands(agent) < 1 or not self._is_settled(job) or job.spot is None:
            return None
        savings = [
            (self._saving_m(agent, job.spot[1], other, other.spot[1]), other)
            for other in others
            if other.spot is not None and self._is_settled(other)
        ]
        most, best = max(savings, key=lambda pair: pair[0], default=(0.0, None))
        return best if most >= MIN_SAVING_M else None

    def _is_settled(self, job: Job) -> bool:
        """Whether a thing can go where it belongs with both hands full, whatever else moves.

        Opening needs a free hand, and the place of a thing that goes next to another one is open
        until that one is down.
        """
        return job.after is None and self._steps.to_open(job) is None

    def _saving_m(self, agent: str, end: str, other: Job, other_end: str) -> float:
        """The walking saved by fetching another thing first, instead of afterwards."""
        far = self._distance
        fetch, beyond = far(agent, other.thing), far(other.thing, other_end)
        together = fetch + far(end, other_end) + min(far(other.thing, end), beyond)
        return far(agent, end) + far(end, other.thing) + beyond - together
