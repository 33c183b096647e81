"""An episode's goal: PARTNR's evaluation, ET-Plan-Bench's criteria, or both."""

from __future__ import annotations

from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Evaluation
from planner.world.episode import Episode
from planner.world.errors import PlannerError


def evaluation_of(episode: Episode) -> Evaluation:
    """The episode's evaluation; one without propositions if it has only criteria.

    Raises:
        PlannerError: if the episode has no goal.
        FileError: if the evaluation is invalid.
    """
    if episode.evaluation is not None:
        return read_evaluation(episode.evaluation, episode.episode_id)
    if episode.criteria is None:
        raise PlannerError(f"episode {episode.episode_id} has no goal, so nothing can be judged")
    return Evaluation(())
