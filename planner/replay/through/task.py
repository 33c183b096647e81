"""The house and the episode of each world that a bag tells of."""

from __future__ import annotations

from typing import Any

from planner.replay.through.recorded import STATES, STATUS, VERDICTS, Recorded, StateSeen
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.state import WorldState


class RecordedTask:
    """Finds houses and episodes by what the bag says of them."""

    def __init__(self, recorded: Recorded) -> None:
        """Takes the bag."""
        self._recorded = recorded

    def first(self) -> tuple[Episode | None, House]:
        """The first world of the bag.

        Raises:
            FileError: where the bag does not tell of one.
            PlannerError: where it tells of one that is not known here.
        """
        state = self._first_state()
        if state is not None:
            return self.of(state)
        for topic in (STATUS, VERDICTS):
            content: Any = self._recorded.first(topic)
            if content is not None and content.episode_id:
                return load_episode(str(content.episode_id))
        raise FileError(
            self._recorded.bag.folder, "", "does not say which house and episode it is of"
        )

    def of(self, state: WorldState) -> tuple[Episode | None, House]:
        """The world of a state.

        Raises:
            PlannerError: where it is not known here.
        """
        if not state.episode_id:
            return None, load_house(state.house)
        episode, house = load_episode(state.episode_id)
        if house.name != state.house:
            raise PlannerError(
                f"episode {episode.episode_id} is of house {house.name}, "
                f"the recording of {state.house}"
            )
        return episode, house

    def _first_state(self) -> WorldState | None:
        for event in self._recorded.events((STATES,)):
            if isinstance(event, StateSeen):
                return event.state
        return None
