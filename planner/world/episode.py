"""The episode file (version 1): a house, who is in it, what lies where, what is asked.

The world needs the first three. The evaluation is carried as plain JSON here
and given its meaning by `planner.evaluation`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from planner.world.files import FileModel
from planner.world.house import EntityName, ObjectPlacement
from planner.world.states import GivenStates
from planner.world.versions import read_versioned
from planner.world.vocabulary import AgentKind

EPISODE_VERSION = 1
MAX_AGENTS = 6


class AgentPlacement(FileModel):
    """An agent and where it starts: [x, y, yaw], or absent for a free place by the seed."""

    uid: Annotated[str, Field(pattern=r"^agent_[0-9]$")]
    kind: AgentKind
    start: tuple[float, float, float] | None = None


class FurnitureChange(FileModel):
    """How a piece of furniture differs from the house file at the start."""

    open: bool | None = None
    states: GivenStates = Field(default_factory=dict)


class Requirement(FileModel):
    """PARTNR's initial-state record (PARTNR-2.5), kept for the reader."""

    number: Annotated[int, Field(ge=1)] = 1
    object_classes: tuple[str, ...]
    furniture_names: tuple[str, ...]
    allowed_regions: tuple[str, ...] = ()
    states: GivenStates = Field(default_factory=dict)


class Source(FileModel):
    """Where an imported episode comes from, and what became of it on the way.

    `sha256` is of the file's bytes; `fitted` says that the house was generated to fit and the
    places in it are ours; `needs_scene` that `house` is the dataset's own scene, which has to
    be had from there; `not_taken` lists what the file says and this episode does not.
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


class Criteria(FileModel):
    """ET-Plan-Bench's criteria (ETPLAN-4.3), in the names of this house.

    Triples speak of variables, each of which stands for one of the entities listed, the same
    one in both lists; `robot` is the first agent. `reference_plan` is the dataset's own
    solution, a verb and its arguments a step, in the dataset's words; `reference_calls` the same
    as skill calls in this house, where every step has one.
    """

    variables: dict[str, tuple[str, ...]]
    success: tuple[Triple, ...] = Field(min_length=1)
    intermediate: tuple[Triple, ...] = ()
    category: str = ""
    reference_plan: tuple[tuple[str, ...], ...] = ()
    reference_calls: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _variables_are_known(self) -> Criteria:
        for _, one, other in (*self.success, *self.intermediate):
            for word in (one, other):
                if word != ROBOT and word not in self.variables:
                    raise ValueError(f"{word!r} is no variable")
        return self


class Episode(FileModel):
    """One task in one house.

    `objects` replaces the things of the house file; their poses are those with
    all furniture closed, and a drawer that `furniture` opens takes its things along.
    """

    version: Literal[1]
    episode_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    house: str
    split: Literal["train", "val", "test", "none"] = "none"
    task_types: tuple[Literal["constraint_free", "spatial", "temporal", "heterogeneous"], ...] = ()
    instruction: str
    seed: int = 0
    agents: tuple[AgentPlacement, ...] = Field(min_length=1, max_length=MAX_AGENTS)
    objects: tuple[ObjectPlacement, ...] = ()
    furniture: dict[EntityName, FurnitureChange] = Field(default_factory=dict)
    initial_state: tuple[Requirement, ...] = ()
    evaluation: dict[str, JsonValue] | None = None
    criteria: Criteria | None = None
    source: Source | None = None

    @property
    def title(self) -> str:
        """Its id, for errors; that of a house without an episode is empty."""
        return self.episode_id or f"{self.house} without an episode"

    @model_validator(mode="after")
    def _names(self) -> Episode:
        for names in ([a.uid for a in self.agents], [o.name for o in self.objects]):
            twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
            if twice is not None:
                raise ValueError(f"the name {twice!r} is used twice")
        return self


def read_episode(path: Path) -> Episode:
    """Reads an episode file of this or an older version; `house_checks` judges it in its house.

    Raises:
        FileError: naming the file, the field and the reason.
    """
    return read_versioned(path, Episode, EPISODE_VERSION)
