"""Which subtasks are complete by the structured goal: in the Verifier's place (LLAMAR-D83)."""

from __future__ import annotations

from planner.planning.expert.expert import Expert
from planner.planning.llamar.right_actions import subtask_words
from planner.planning.planner import Context, Task
from planner.world.errors import PlannerError

NO_GOAL = (
    "verifier:=oracle reads a structured goal, and this instruction has none: name an episode, or "
    "leave the option out"
)


class Oracle:
    """Judges the goal's propositions by the memory; it is privileged."""

    def __init__(self, task: Task) -> None:
        """Reads the goal.

        Raises:
            PlannerError: if the task has none.
            FileError: if it cannot be read.
        """
        if task.goal is None:
            raise PlannerError(NO_GOAL)
        self._judge = Expert(task)

    def completed(self, context: Context) -> tuple[str, ...]:
        """The propositions that hold now, in words."""
        holds = self._judge.judged(context)
        return tuple(subtask_words(w) for w in self._judge.subgoals if holds[w.index])
