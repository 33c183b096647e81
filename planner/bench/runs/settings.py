"""What a run of a benchmark is: everything that its results depend on, kept in its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from planner.evaluation.progress import Mode
from planner.parts.kinds import PLANNERS
from planner.parts.option import OptionValue, read_options
from planner.planning.asking import AskOptions
from planner.planning.axes import Axes, Control, MemorySource, Observability, Privilege, Skills
from planner.planning.llm.ledger import Prices
from planner.planning.making import PlannerChoice
from planner.planning.part import PlannerPart, needs_model
from planner.world.errors import PlannerError
from planner.world.files import FileModel

Count = Annotated[int, Field(ge=0)]
Price = Annotated[float, Field(ge=0)]


class MemoryKind(StrEnum):
    """What the memory learns from.

    RAYS: the simulator tells what is seen, by rays. PICTURES: it tells so of rendered pictures.
    LEARNED: a detector of ours looks at pictures, nobody tells the truth. FULL: no memory;
    planners and skills know everything from the start (PARTNR-1.3).
    """

    RAYS = "privileged"
    PICTURES = "pictures"
    LEARNED = "learned"
    FULL = "full"


_SEEN = {
    MemoryKind.RAYS: (Observability.PARTIAL, Privilege.PERCEPTION),
    MemoryKind.PICTURES: (Observability.PARTIAL, Privilege.PERCEPTION),
    MemoryKind.LEARNED: (Observability.CONCEPTGRAPH, Privilege.NONE),
    MemoryKind.FULL: (Observability.FULL, Privilege.PERCEPTION),
}


class RunSettings(FileModel):
    """One cell of the experiment; what may differ between resumptions is not in here.

    Attributes:
        model: as the node's parameter; `scripted:FOLDER` has a file EPISODE.txt for each
            episode, `recorded:RUN` replays the dialogues of another run.
        agents: how many act; 0 = all of the episode. Of one alone the person is taken, as only
            it can change states (PARTNR-D1).
        seed: added to each episode's.
        most_cycles: planning cycles of a dialogue; 0 = the paper's.
        options: of the planner, those that are not as by default.
        prompt_price, cached_price, reply_price: money for a million tokens.
    """

    planner: str = "expert"
    model: str = ""
    model_url: str = ""
    temperature: Annotated[float, Field(ge=0, le=10)] = 0.0
    agents: Count = 0
    memory: MemoryKind = MemoryKind.RAYS
    control: Control = Control.DECENTRALIZED
    memory_source: MemorySource = MemorySource.SUMMARY
    mode: Mode = Mode.STRICT
    seed: int = 0
    most_cycles: Count = 0
    show_states: bool = False
    model_deadline_s: Annotated[float, Field(gt=0)] = 60.0
    model_wait_s: Annotated[float, Field(ge=0)] = 600.0
    options: Mapping[str, OptionValue] = Field(default_factory=dict)
    prompt_price: Price = 0.0
    cached_price: Price = 0.0
    reply_price: Price = 0.0

    @model_validator(mode="before")
    @classmethod
    def _read_former_names(cls, given: object) -> object:
        """Manifests of before had two of the options as settings of their own."""
        if not isinstance(given, dict):
            return given
        former = {name: given[name] for name in ("traces", "encoder") if name in given}
        rest = {name: value for name, value in given.items() if name not in former}
        named = {name: value for name, value in former.items() if value}
        return (
            {**rest, "options": {**named, **rest["options"]}}
            if "options" in rest
            else ({**rest, "options": named} if named else rest)
        )

    def check(self) -> None:
        """Refuses what cannot be run.

        Raises:
            PlannerError: naming the setting and the reason.
        """
        part, full = self.part, self.memory is MemoryKind.FULL
        if part.needs_model and not self.model:
            raise PlannerError(needs_model(self.planner))
        if self.model and not part.needs_model:
            raise PlannerError(f"the planner {self.planner} asks no model; leave out --model")
        if part.needs_full_memory and not full:
            raise PlannerError(f"the planner {self.planner} needs full knowledge: --memory full")
        if part.reads_changes and full:
            raise PlannerError(
                f"the planner {self.planner} is told what changes in the memory, which "
                "--memory full has not"
            )
        read_options(part.options, self.options)

    @property
    def part(self) -> PlannerPart:
        """The planner's record.

        Raises:
            PartError: where there is none of this name, or it cannot be used.
        """
        return PLANNERS.get(self.planner)

    def axes(self, agents: int) -> Axes:
        """The cell; `agents` act."""
        seen, told = _SEEN[self.memory]
        axes = Axes(self.control, seen, Skills.ORACLE, told, self.memory_source)
        if self.part.needs_goal and not self.part.needs_model:
            axes = replace(
                axes,
                control=Control.CENTRALIZED,
                privilege=Privilege.GOAL,
                memory_source=MemorySource.BELIEF,
            )
        return replace(axes, control=Control.SINGLE) if agents == 1 else axes

    def choice(self, agents: int) -> PlannerChoice:
        """The planner's settings."""
        return PlannerChoice(
            self.planner,
            self.axes(agents),
            AskOptions(
                most_cycles=self.most_cycles,
                deadline_s=self.model_deadline_s,
                show_states=self.show_states,
            ),
            self.options,
        )

    @property
    def prices(self) -> Prices:
        """Money for a million tokens."""
        return Prices(self.prompt_price, self.cached_price, self.reply_price)
