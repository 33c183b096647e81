"""LLaMAR's public task list as episodes in rooms of ours (LLAMAR-D48)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from planner.episodes.imported import Imported
from planner.episodes.lint.linting import Linter
from planner.episodes.llamar.public_file import PublicTask, read_public
from planner.episodes.llamar.public_task import PublicRecipe
from planner.episodes.llamar.public_words import room_of
from planner.episodes.llamar.tasks import equals
from planner.episodes.partnr.houses import scene_seed
from planner.episodes.partnr.instruction_file import Fault
from planner.episodes.partnr.placement import UnplaceableError
from planner.episodes.recipes.build import build
from planner.houses.generator import generate_house
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode, Source
from planner.world.errors import FileError, PlannerError, from_validation
from planner.world.house import House
from planner.world.house_checks import check_house
from planner.world.vocabulary import AgentKind

DATASET = "llamar"
_SEEDS_TRIED = 24


def import_public(paths: Sequence[Path], seed: int, checkers: Path | None = None) -> Imported:
    """Makes an episode of each task on each of its floor plans.

    Args:
        paths: configurations.
        seed: determines rooms and places.
        checkers: see `read_public`.

    Raises:
        FileError: if a file is not a configuration, or two share a name.
    """
    made = _Importer(seed)
    for path in paths:
        made.read(path, checkers)
    return made.imported()


class _Importer:
    """The state of an import."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._catalogue = default_catalogue()
        self._read: dict[str, int] = {}
        self._sha256: dict[str, str] = {}
        self._left_out: list[Fault] = []
        self._recipes: list[PublicRecipe] = []
        self._linter = Linter()

    def read(self, path: Path, checkers: Path | None) -> None:
        if path.name in self._read:
            raise FileError(path, "", "a file of this name was given already")
        file = read_public(path, checkers)
        self._read[path.name] = file.count
        self._sha256[path.name] = file.sha256
        self._left_out += file.faults
        for task in file.tasks:
            rng = np.random.default_rng(scene_seed(self._seed, task.name, task.floor_plan))
            try:
                room_of(task.floor_plan)
                self._recipes.append(PublicRecipe(task, self._catalogue, rng))
            except UnplaceableError as error:
                self._leave_out(task, str(error))

    def imported(self) -> Imported:
        houses = self._houses()
        episodes: list[Episode] = []
        for recipe in self._recipes:
            task = recipe.task
            house = houses.get(task.floor_plan)
            if isinstance(house, str) or house is None:
                self._leave_out(task, house or "no room could be made")
                continue
            try:
                episode = self._episode(recipe, house)
            except ValidationError as error:
                plain = from_validation(task.file, error)
                self._leave_out(task, f"{plain.field}: {plain.reason}")
                continue
            except (UnplaceableError, PlannerError) as error:
                self._leave_out(task, str(error))
                continue
            if episode.episode_id in {known.episode_id for known in episodes}:
                self._leave_out(task, "another task gives the same name")
                continue
            episodes.append(episode)
        used = {episode.house for episode in episodes}
        found = {h.name: h for h in houses.values() if isinstance(h, House) and h.name in used}
        return Imported(DATASET, self._read, tuple(episodes), tuple(self._left_out), found)

    def _leave_out(self, task: PublicTask, reason: str) -> None:
        self._left_out.append(Fault(task.file, f"{task.name}-{task.floor_plan}", reason))

    def _houses(self) -> dict[str, House | str]:
        """One room per floor plan, with what its tasks need; or why there is none."""
        needed: dict[str, dict[str, int]] = {}
        for recipe in self._recipes:
            counts = needed.setdefault(recipe.task.floor_plan, {})
            for name, count in recipe.furniture().items():
                counts[name] = max(counts.get(name, 0), count)
        return {plan: self._house(plan, counts) for plan, counts in needed.items()}

    def _house(self, plan: str, required: dict[str, int]) -> House | str:
        room, name = room_of(plan), f"llamar-{plan}"
        problem = ""
        for attempt in range(_SEEDS_TRIED):
            try:
                house = generate_house(
                    name,
                    scene_seed(self._seed, name) + attempt,
                    rooms={room: 1},
                    required={f"{room}_0": required},
                    objects=0,
                )
            except PlannerError as error:
                problem = str(error)
                continue
            findings = check_house(house, self._catalogue)
            if not findings:
                return house
            problem = str(findings[0])
        return f"no room has the furniture of its tasks: {problem}"

    def _episode(self, recipe: PublicRecipe, house: House) -> Episode:
        task = recipe.task
        built = build(recipe.recipe(house), house).episode
        kind = AgentKind.HUMAN if recipe.changes_states else AgentKind.ROBOT
        episode = built.model_copy(
            update={
                "episode_id": f"{task.name}-{task.floor_plan}",
                "seed": scene_seed(self._seed, task.name, task.floor_plan),
                "agents": equals(kind),
                "checklist": recipe.checklist(built, house),
                "source": Source(
                    dataset=DATASET,
                    file=task.file,
                    scene_id=task.floor_plan,
                    episode_id=task.name,
                    sha256=self._sha256[task.file],
                    fitted=True,
                    not_taken=task.not_taken,
                ),
            }
        )
        for finding in self._linter.errors(episode, house):
            raise FileError(task.file, finding.field, finding.reason)
        return episode
