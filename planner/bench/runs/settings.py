"""What a run of a benchmark is: everything that its results depend on, kept in its manifest."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from planner.evaluation.progress import Mode
from planner.planning.asking import AskOptions
from planner.planning.axes import Axes, Control, MemorySource, Observability, Privilege, Skills
from planner.planning.llm.ledger import Prices
from planner.planning.making import PLANNERS, PlannerChoice, needs_model
from planner.world.errors import PlannerError
from planner.world.files import FileModel

# Planners that read the structured goal and ask no model.
GOAL_READERS = ("expert", "heuristic_expert")
Count = Annotated[int, Field(ge=0)]
Price = Annotated[float, Field(ge=0)]


class MemoryKind(StrEnum):
    """What the memory learns from.

    RAYS: the simulator tells what is seen, by rays. PICTURES: it tells so of rendered pictures.
    LEARNED: a detector of ours looks at pictures, nobody tells the truth. FULL: no memory;
    planners and skills know everything from the start (spec/partnr.md 1.3).
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
            it can change states (spec/partnr.md D-1).
        seed: added to each episode's.
        most_cycles: planning cycles of a dialogue; 0 = the paper's.
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
    traces: str = ""
    encoder: str = ""
    prompt_price: Price = 0.0
    cached_price: Price = 0.0
    reply_price: Price = 0.0

    def check(self) -> None:
        """Refuses what cannot be run.

        Raises:
            PlannerError: naming the setting and the reason.
        """
        if self.planner not in PLANNERS:
            raise PlannerError(
                f"there is no planner {self.planner!r}; there are {', '.join(PLANNERS)}"
            )
        if self.planner not in GOAL_READERS and not self.model:
            raise PlannerError(needs_model(self.planner))
        if self.planner in GOAL_READERS and self.model:
            raise PlannerError(f"the planner {self.planner} asks no model; leave out --model")
        if self.planner == "heuristic_expert" and self.memory is not MemoryKind.FULL:
            raise PlannerError("the planner heuristic_expert needs full knowledge: --memory full")
        if self.planner == "react" and self.memory is MemoryKind.FULL:
            raise PlannerError(
                "the planner react is told what changes in the memory, which --memory full has not"
            )

    def axes(self, agents: int) -> Axes:
        """The cell; `agents` act."""
        seen, told = _SEEN[self.memory]
        axes = Axes(self.control, seen, Skills.ORACLE, told, self.memory_source)
        if self.planner in GOAL_READERS:
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
            traces=Path(self.traces) if self.traces else None,
            encoder=Path(self.encoder) if self.encoder else None,
        )

    @property
    def prices(self) -> Prices:
        """Money for a million tokens."""
        return Prices(self.prompt_price, self.cached_price, self.reply_price)
