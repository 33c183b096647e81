"""The episode file (version 1): a house, agents, objects, instruction and goal.

The evaluation is plain JSON here; `planner.evaluation` interprets it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from planner.world.bounds import MAX_TEXT_LENGTH
from planner.world.checklist import Checklist
from planner.world.dialogue import Dialogue
from planner.world.errors import PlannerError
from planner.world.files import FileModel
from planner.world.house import MAX_THINGS, EntityName, ObjectPlacement
from planner.world.states import GivenStates
from planner.world.versions import read_versioned
from planner.world.vocabulary import AgentKind

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
Triple = tuple[Literal["CLOSE", "INSIDE", "ON", "FACING"], str, str]
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
    closed, and a drawer that `furniture` opens moves its contents along.
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
