"""The partial file of a generation of ET-Plan-Bench's tasks: a line for each portion."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import Field

from planner.episodes.et_generation.generating import Step
from planner.episodes.et_generation.house_tasks import Kept, Portion
from planner.episodes.generation.partial_file import Numbered, PartialLines
from planner.world.errors import FileError
from planner.world.files import FileModel

_MOST_PORTIONS = 1_000_000


class Asked(FileModel):
    """The first line: the arguments that decide what the tasks are.

    Attributes:
        houses: SHA-256 of each house's file by name, in the order of use.
    """

    version: Literal[1] = 1
    world: str
    rows: tuple[str, ...]
    variant: tuple[str, ...]
    count: int = Field(ge=1)
    seed: int = Field(ge=0)
    model: str
    houses: dict[str, str]


class Block(Numbered):
    """A portion."""

    tasks: tuple[Kept, ...]
    keys: tuple[str, ...]


class PartialTasks:
    """What is done so far, and what was."""

    def __init__(self, output: Path, asked: Asked) -> None:
        """As `PartialLines`."""
        self.lines: PartialLines[Asked, Block] = PartialLines(output, asked, Block, _MOST_PORTIONS)
        self._earlier = {block.number: block for block in self.lines.done}

    @property
    def tasks(self) -> int:
        """How many tasks an earlier run made."""
        return sum(len(block.tasks) for block in self._earlier.values())

    def known(self, step: Step, keys: set[str]) -> Portion | None:
        """An earlier run's portion.

        Raises:
            FileError: if it is not of this step's kind.
        """
        block = self._earlier.get(step.number)
        if block is None:
            return None
        names = [f"{step.house.house.name}-{step.row.name}-" for _ in block.tasks]
        if any(not t.episode_id.startswith(n) for t, n in zip(block.tasks, names, strict=True)):
            reason = "is of another house or kind than now; delete this file to begin again"
            raise FileError(self.lines.path, f"portion {step.number}", reason)
        keys.update(block.keys)
        episodes = [step.house.again(task) for task in block.tasks]
        return Portion(episodes, list(block.keys), Counter(block.rejected))

    def keep(self, step: Step, portion: Portion) -> None:
        """Writes a portion, unless an earlier run did.

        Raises:
            FileError: if it cannot be written.
        """
        if step.number in self._earlier:
            return
        tasks = []
        for episode in portion.episodes:
            start, criteria = episode.agents[0].start, episode.criteria
            if start is None or criteria is None:
                raise ValueError(f"{episode.episode_id} has no start or no criteria")
            kept = Kept(
                episode_id=episode.episode_id,
                instruction=episode.instruction,
                start=start,
                criteria=criteria,
                evaluation=episode.evaluation,
            )
            tasks.append(kept)
        self.lines.append(
            Block(
                number=step.number,
                rejected=dict(portion.rejected),
                tasks=tuple(tasks),
                keys=tuple(portion.keys),
            )
        )
