"""`planner episodes correct`: applies correction files to a set of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.episodes.corrections import correction_path, read_correction
from planner.episodes.episode_file import episodes_in
from planner.episodes.pack import write_set
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import find_house_of, load_house
from planner.world.share import config_dir


def correct(places: Sequence[Path], corrections: Path, output: Path) -> int:
    """Writes the episodes of files and folders as corrected, without those that are skipped.

    Args:
        places: files and folders of episodes.
        corrections: the folder of correction files.
        output: a folder, or a pack by its name.

    Raises:
        PlannerError: if the folder does not exist or fits none of the episodes.
        FileError: for the first file that is invalid.
    """
    if not corrections.is_dir():
        raise PlannerError(f"{corrections}: there is no such folder")
    kept: list[Episode] = []
    houses: dict[str, House] = {}
    changed = skipped = found = 0
    for path, episode in episodes_in(places):
        if not isinstance(episode, Episode):
            raise episode
        file = correction_path(corrections, episode.episode_id)
        result = episode
        if file.is_file():
            found += 1
            correction = read_correction(file, episode)
            if correction.skipped:
                skipped += 1
                print(f"{episode.episode_id}: left out: {correction.skipped}")
                continue
            result = correction.episode
            changed += result != episode
        kept.append(result)
        house = find_house_of(path, episode.house)
        if config_dir() not in house.parents:
            houses[episode.house] = load_house(house)
    if not found:
        raise PlannerError(f"{corrections}: has a correction file of none of the episodes")
    write_set(output, kept, list(houses.values()))
    print(f"wrote {len(kept)} episodes to {output}: {changed} changed, {skipped} left out")
    return 0
