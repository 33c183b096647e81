"""The result of an import and its report: every task read is in exactly one list."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from planner.episodes.episode_file import REPORT_NAME, write_episode, write_text
from planner.episodes.partnr.importing import Underived
from planner.episodes.partnr.instruction_file import Fault
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.house import House, write_house

REPORT_VERSION = 1


@dataclass(frozen=True)
class Imported:
    """An import: `read` counts the tasks in each file, `left_out` says why some are missing.

    Attributes:
        dataset: the format's name on the command line.
        read: by file name; the sum equals the number of episodes and tasks left out.
        houses: generated houses, by name.
        without_goal: episodes that cannot be evaluated, and why.
    """

    dataset: str
    read: Mapping[str, int]
    episodes: tuple[Episode, ...]
    left_out: tuple[Fault, ...]
    houses: Mapping[str, House] = field(default_factory=dict)
    without_goal: tuple[Underived, ...] = ()

    @property
    def report(self) -> dict[str, object]:
        """The report, as in `import_report.json`."""
        waiting = [e for e in self.episodes if e.source is not None and e.source.needs_scene]
        return {
            "version": REPORT_VERSION,
            "dataset": self.dataset,
            "files": dict(self.read),
            "episodes": len(self.episodes),
            "with_goal": sum(episode.evaluation is not None for episode in self.episodes),
            "left_out": [asdict(fault) for fault in self.left_out],
            "without_goal": [asdict(item) for item in self.without_goal],
            "needs_scene": _by_scene(waiting),
            "not_taken": {
                episode.episode_id: list(episode.source.not_taken)
                for episode in self.episodes
                if episode.source is not None and episode.source.not_taken
            },
        }


def _by_scene(episodes: Sequence[Episode]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for episode in episodes:
        if episode.source is not None:
            found.setdefault(episode.source.scene_id, []).append(episode.episode_id)
    return dict(sorted(found.items()))


def write_imported(result: Imported, folder: Path) -> None:
    """Writes episodes, houses and the report under a folder.

    Raises:
        FileError: if something cannot be written.
    """
    houses = folder / "houses"
    try:
        (houses if result.houses else folder).mkdir(parents=True, exist_ok=True)
        for house in result.houses.values():
            write_house(house, houses / f"{house.name}.json")
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error}") from None
    for episode in result.episodes:
        write_episode(episode, folder)
    write_text(folder / REPORT_NAME, json.dumps(result.report, indent=1) + "\n")


def summary(result: Imported) -> str:
    """The report as text: the figures, then a line for each task left out."""
    total, taken = sum(result.read.values()), len(result.episodes)
    goals = sum(
        episode.evaluation is not None or episode.criteria is not None
        for episode in result.episodes
    )
    lines = [
        f"read {total} tasks from {len(result.read)} files",
        f"imported {taken}, of which {goals} can be judged; {len(result.houses)} houses made",
    ]
    waiting = sum(e.source is not None and e.source.needs_scene for e in result.episodes)
    if waiting:
        lines.append(f"{waiting} need a scene that is not here (--fit makes a house instead)")
    if result.left_out:
        lines.append(f"left out: {len(result.left_out)}")
        lines += [f"  {f.file}  {f.episode_id}  {f.reason}" for f in result.left_out]
    return "\n".join(lines)
