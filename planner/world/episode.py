"""The episode file: house, agents, instruction, goal, and a task's checklist or dialogue."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from planner.world.bounds import MAX_TEXT_LENGTH
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, parse_json, parse_model, read_versioned, upgraded
from planner.world.house import HOUSE_VERSION, MAX_THINGS, EntityName, House, ObjectPlacement
from planner.world.person import MAX_PEOPLE, PersonPlacement, repeated_name
from planner.world.states import GivenStates
from planner.world.vocabulary import AgentKind

# LLaMAR's checklist of a task: its subtasks and the entities that it is about (LLAMAR-D40).
#
# A subtask is written as in the public task list: `PickupObject(apple_0)`, or with what the agent
# holds, `PutObject(fridge_0, apple_0)`. Bars separate alternatives: `NavigateTo(table_0|table_1)`.


class Act(StrEnum):
    """What an agent does in a subtask; the values are the names of the public task list."""

    NAVIGATE = "NavigateTo"
    PICK_UP = "PickupObject"
    PUT = "PutObject"
    OPEN = "OpenObject"
    CLOSE = "CloseObject"
    SLICE = "SliceObject"
    CLEAN = "CleanObject"
    TOGGLE_ON = "ToggleObjectOn"
    TOGGLE_OFF = "ToggleObjectOff"
    # Of search and rescue (LLAMAR-A6).
    GET_SUPPLY = "GetSupply"
    USE_SUPPLY = "UseSupply"
    END_FIRE = "EndFire"
    SPOT = "Spot"
    CARRY = "Carry"
    DROP_OFF = "DropOff"


# Acts that may depend on what the agent holds; PUT always does.
HOLDING = frozenset({Act.NAVIGATE, Act.PUT, Act.OPEN, Act.CLOSE})

_NAMES = r"[A-Za-z0-9_.-]+(?:\|[A-Za-z0-9_.-]+)*"
_SUBTASK = re.compile(rf"([A-Za-z]+)\(({_NAMES})(?:, ?({_NAMES}))?\)")


@dataclass(frozen=True, slots=True)
class Subtask:
    """An act on any of `entities`, and unless `held` is empty while any of these is held."""

    act: Act
    entities: tuple[str, ...]
    held: tuple[str, ...] = ()

    def __str__(self) -> str:
        held = f", {'|'.join(self.held)}" if self.held else ""
        return f"{self.act}({'|'.join(self.entities)}{held})"


def parse_subtask(text: str) -> Subtask:
    """Reads a subtask.

    Raises:
        ValueError: with the text and the reason.
    """
    match = _SUBTASK.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a subtask such as PutObject(fridge_0, apple_0)")
    word, entities, held = match.groups()
    if word not in set(Act):
        raise ValueError(f"{text!r} has the unknown act {word}; known are {', '.join(Act)}")
    act = Act(word)
    if held is not None and act not in HOLDING:
        raise ValueError(f"{text!r}: {act} does not depend on what is held")
    if held is None and act is Act.PUT:
        raise ValueError(f"{text!r}: {act} needs what is put, as in PutObject(fridge_0, apple_0)")
    return Subtask(act, tuple(entities.split("|")), tuple(held.split("|")) if held else ())


def _written_normally(text: str) -> str:
    return str(parse_subtask(text))


SubtaskText = Annotated[str, AfterValidator(_written_normally)]
Names = Annotated[tuple[str, ...], Field(min_length=1)]


class Checklist(FileModel):
    """The true subtasks of a task and its targets; planners do not see it.

    Attributes:
        ambiguity: LLaMAR's type of the task. 1: things, their number and the target are explicit;
            2: the number is implicit; 3: also the things; 4: also the target.
        subtasks: what has to be done, by any agent; one that is there twice counts twice, and what
            does it does both.
        targets: groups of entities, one of each of which has to be interacted with.
    """

    ambiguity: Literal[1, 2, 3, 4]
    subtasks: Annotated[tuple[SubtaskText, ...], Field(min_length=1, max_length=200)]
    targets: Annotated[tuple[Names, ...], Field(min_length=1)]

    def items(self) -> tuple[Subtask, ...]:
        """The subtasks, read."""
        return tuple(parse_subtask(text) for text in self.subtasks)


# A dialogue of TEACh: what Commander and Driver say, and what was done between (HELPER-D80).


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


EPISODE_VERSION = 1
MAX_AGENTS = 6
# The largest that a ROS message can bring.
MAX_SEED = 2**63 - 1


class AgentPlacement(FileModel):
    """An agent and its start: [x, y, yaw], or absent for a random free position."""

    uid: Annotated[str, Field(pattern=r"^agent_[0-9]$")]
    kind: AgentKind
    start: tuple[float, float, float] | None = None


class FurnitureChange(FileModel):
    """How a piece of furniture differs from the house file at the start."""

    open: bool | None = None
    states: GivenStates = Field(default_factory=dict)


class Requirement(FileModel):
    """PARTNR's initial-state record (PARTNR-2.5), kept for information."""

    number: Annotated[int, Field(ge=1)] = 1
    object_classes: tuple[str, ...]
    furniture_names: tuple[str, ...]
    allowed_regions: tuple[str, ...] = ()
    states: GivenStates = Field(default_factory=dict)


class Source(FileModel):
    """The origin of an imported episode, and what was changed by the import.

    `sha256` is of the file; `fitted`: the house was generated to fit, so poses are ours;
    `needs_scene`: `house` is the data set's own scene, which must be downloaded there; `not_taken`
    lists content of the file that this episode lacks.
    """

    dataset: str
    file: str
    scene_id: str
    episode_id: str
    sha256: str = ""
    fitted: bool = False
    needs_scene: bool = False
    not_taken: tuple[str, ...] = ()


ROBOT = "robot"
# `HELD` is ours: the first is in a hand of the second.
Triple = tuple[Literal["CLOSE", "INSIDE", "ON", "FACING", "HELD"], str, str]
Split = Literal["train", "val", "test", "none"]
# What an agent knows at the start: visible things, furniture too, or everything (ETPLAN-1.2).
Prior = Literal["P", "FP", "G"]


class Criteria(FileModel):
    """ET-Plan-Bench's criteria (ETPLAN-4.3), in the names of this house.

    Triples refer to variables, each of which stands for one of the listed entities, the same one in
    both lists; `robot` is the first agent. `reference_plan` is the data set's own solution, with a
    verb and its arguments in each step, in its words; `reference_calls` the same as skill calls in
    this house, if every step has one. `variants` are the rows of a table that the task counts for
    besides its category's (ETPLAN-4.4), `arms` how many things may be carried at a time,
    `max_actions` the number of actions after which it has failed; None = by what is brought.
    """

    variables: dict[str, tuple[str, ...]]
    success: tuple[Triple, ...] = Field(min_length=1)
    intermediate: tuple[Triple, ...] = ()
    category: str = ""
    variants: tuple[str, ...] = ()
    prior: Prior = "P"
    arms: Literal[1, 2] = 1
    max_actions: Annotated[int, Field(ge=1, le=1000)] | None = None
    reference_plan: tuple[tuple[str, ...], ...] = ()
    reference_calls: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _variables_are_known(self) -> Criteria:
        for _, one, other in (*self.success, *self.intermediate):
            for word in (one, other):
                if word != ROBOT and word not in self.variables:
                    raise ValueError(f"{word!r} is not a variable")
        return self


class Episode(FileModel):
    """One task in one house.

    `objects` replaces the things of the house file; their poses are those with all furniture
    closed, and a drawer that `furniture` opens moves its contents along. `people` replaces those of
    the house file; they are `person_0` and so on, in their order.
    """

    version: Literal[1]
    # It begins the names of files, which have at most 255 bytes.
    episode_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=200)]
    house: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]
    split: Split = "none"
    task_types: tuple[Literal["constraint_free", "spatial", "temporal", "heterogeneous"], ...] = ()
    instruction: Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    agents: tuple[AgentPlacement, ...] = Field(min_length=1, max_length=MAX_AGENTS)
    objects: tuple[ObjectPlacement, ...] = Field(default=(), max_length=MAX_THINGS)
    people: tuple[PersonPlacement, ...] = Field(default=(), max_length=MAX_PEOPLE)
    furniture: dict[EntityName, FurnitureChange] = Field(
        default_factory=dict, max_length=MAX_THINGS
    )
    initial_state: tuple[Requirement, ...] = Field(default=(), max_length=MAX_THINGS)
    evaluation: dict[str, JsonValue] | None = None
    criteria: Criteria | None = None
    checklist: Checklist | None = None
    dialogue: Dialogue | None = None
    source: Source | None = None

    @property
    def title(self) -> str:
        """Its id, for errors; empty for a house without an episode."""
        return self.episode_id or f"{self.house} without an episode"

    @model_validator(mode="after")
    def _names(self) -> Episode:
        for names in ([a.uid for a in self.agents], [o.name for o in self.objects]):
            counts = Counter(names)
            twice = next((name for name in names if counts[name] > 1), None)
            if twice is not None:
                raise ValueError(f"the name {twice!r} is used twice")
        if (name := repeated_name(self.people)) is not None:
            raise ValueError(f"people: two persons have the name {name!r}")
        return self


def with_team(episode: Episode, size: int) -> Episode:
    """The episode with a team of another size, if it is one of a team of equals.

    These are the episodes with a checklist: LLaMAR's tasks are done by teams of any size, whose
    agents can all do the same (LLAMAR-D47). Nobody else is in the way.

    Args:
        episode: any other one is returned as it is.
        size: number of agents; 0 = as it is.

    Raises:
        PlannerError: if a world cannot have that many agents.
    """
    if episode.checklist is None or size in (0, len(episode.agents)):
        return episode
    if not 0 < size <= MAX_AGENTS:
        raise PlannerError(f"agents: expected 0 to {MAX_AGENTS}, got {size}")
    kind = episode.agents[-1].kind
    extra = (
        AgentPlacement(uid=f"agent_{number}", kind=kind)
        for number in range(len(episode.agents), size)
    )
    return episode.model_copy(update={"agents": (*episode.agents[:size], *extra)})


def read_episode(path: Path) -> Episode:
    """Reads an episode file of this or an older version; `house_checks` checks it in its house.

    Raises:
        FileError: with file, field and reason.
    """
    return read_versioned(path, Episode, EPISODE_VERSION)


# Houses from the texts of their files, such as those that topics and bags bring.
#
# Nothing is checked here beyond schema and size, so that who only draws a house needs neither
# geometry nor path search; `house_checks` does the rest.

# Of untrusted houses. Data sets have houses of 60 m.
MAX_SIDE_M = 150.0


def parse_house(text: str, source: str) -> House:
    """A house without `check_house`: to be drawn, not to be lived in.

    Args:
        text: of the file, untrusted.
        source: its name for errors.

    Raises:
        FileError: if it does not match the schema, or is too large.
    """
    house = parse_model(upgraded(parse_json(text, source), HOUSE_VERSION, source), House, source)
    refuse_large(house, source)
    return house


def refuse_large(house: House, source: Path | str) -> None:
    """Refuses a house whose floor grid would not fit into memory.

    Raises:
        FileError: naming the limit.
    """
    x0, y0, x1, y1 = house.bounds_m
    if not (x1 - x0 <= MAX_SIDE_M and y1 - y0 <= MAX_SIDE_M):
        raise FileError(source, "rooms", f"the house is larger than {MAX_SIDE_M:g} m")
