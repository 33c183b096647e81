"""The house and the episode of each world in a bag."""

from __future__ import annotations

from typing import Any

from planner.replay.bag import Bag
from planner.replay.states import STATES
from planner.replay.task import load_task, task_of
from planner.replay.through.recorded import STATUS, VERDICTS, Recorded, StateReceived
from planner.replay.world_info import WORLD_INFO
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import load_shipped_episode
from planner.world.state import WorldState


class RecordedTask:
    """Finds houses and episodes by a bag's messages."""

    def __init__(self, recorded: Recorded) -> None:
        """Takes the bag."""
        self._recorded = recorded

    def first(self) -> tuple[Episode | None, House]:
        """The first world in the selected part of the bag.

        Raises:
            FileError: if the bag does not name one.
            PlannerError: if it is not known here.
        """
        state = self._first_state()
        if state is not None:
            return self.of(state)
        bag = self._recorded.bag
        if WORLD_INFO in bag.topics:
            return load_task(bag)
        name = _judged(self._recorded)
        if not name:
            raise FileError(bag.folder, "", "does not say which house and episode it is of")
        return load_shipped_episode(name)

    def of(self, state: WorldState) -> tuple[Episode | None, House]:
        """The world of a state.

        Raises:
            PlannerError: if it is not known here.
        """
        return _of(self._recorded.bag, state)

    def named(self, house: str, episode_id: str) -> tuple[Episode | None, House]:
        """The world of a house and an episode; "" = none.

        Raises:
            PlannerError: if it is not known here.
        """
        return task_of(self._recorded.bag, episode_id, house)

    def _first_state(self) -> WorldState | None:
        for event in self._recorded.events((STATES,)):
            if isinstance(event, StateReceived):
                return event.state
        return None


def _of(bag: Bag, state: WorldState) -> tuple[Episode | None, House]:
    episode, house = task_of(bag, state.episode_id, state.house)
    if house.name != state.house:
        raise PlannerError(
            f"episode {state.episode_id} is of house {house.name}, the recording of {state.house}"
        )
    return episode, house


def _judged(recorded: Recorded) -> str:
    """The episode named by a planner or an evaluator; "" = none."""
    for topic in (STATUS, VERDICTS):
        content: Any = recorded.first(topic)
        if content is not None and content.episode_id:
            return str(content.episode_id)
    return ""
