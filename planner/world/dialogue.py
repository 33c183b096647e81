"""A dialogue of TEACh: what Commander and Driver say, and what was done between (HELPER-D80)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from planner.world.files import FileModel


class Speaker(StrEnum):
    """Who speaks: the person who knows the task, or the one who carries it out."""

    COMMANDER = "Commander"
    DRIVER = "Driver"


class Setting(StrEnum):
    """TFD: trajectory from dialogue. EDH: execution from dialogue history."""

    TFD = "tfd"
    EDH = "edh"


class TeachTask(StrEnum):
    """TEACh's twelve types of tasks."""

    WATER_PLANT = "water_plant"
    MAKE_COFFEE = "make_coffee"
    CLEAN_ALL = "clean_all"
    PUT_ALL_ON = "put_all_on"
    BOIL_POTATO = "boil_potato"
    PUT_ALL_IN_ONE = "put_all_in_one"
    N_SLICES = "n_slices"
    N_COOKED_SLICES = "n_cooked_slices"
    PLATE_OF_TOAST = "plate_of_toast"
    BREAKFAST = "breakfast"
    SANDWICH = "sandwich"
    SALAD = "salad"


class Turn(FileModel):
    """One utterance."""

    speaker: Speaker
    text: Annotated[str, Field(min_length=1, max_length=1000)]


class Dialogue(FileModel):
    """The dialogue that an episode's instruction is made of.

    Attributes:
        setting: what the agent gets at the start.
        task_type: TEACh's; None for another task, such as a personal routine.
        turns: in order.
        session: number of turns before the actions.
        actions: of the Driver between the turns, as skill calls; only where the agent starts in
            the middle.
    """

    setting: Setting = Setting.TFD
    task_type: TeachTask | None = None
    turns: Annotated[tuple[Turn, ...], Field(min_length=1, max_length=200)]
    session: Annotated[int, Field(ge=0)] = 0
    actions: Annotated[tuple[str, ...], Field(max_length=1000)] = ()

    @model_validator(mode="after")
    def _history(self) -> Dialogue:
        if (self.setting is Setting.EDH) != bool(self.actions):
            raise ValueError("actions belong to a dialogue history, which has some")
        if self.session > len(self.turns):
            raise ValueError(f"session is {self.session}, but there are {len(self.turns)} turns")
        return self

    @property
    def text(self) -> str:
        """All turns on one line; what was done is a turn of the Driver."""
        said = [f"<{turn.speaker}> {turn.text}" for turn in self.turns]
        if self.actions:
            said.insert(self.session, f"<{Speaker.DRIVER}> Done so far: {', '.join(self.actions)}.")
        return " ".join(said)
