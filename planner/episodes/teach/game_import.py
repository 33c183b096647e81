"""Games of the published TEACh data set as episodes in rooms of ours (HELPER-D86)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from planner.episodes.imported import Imported
from planner.episodes.lint.linting import Linter
from planner.episodes.llamar.public_words import room_of
from planner.episodes.partnr.houses import scene_seed
from planner.episodes.partnr.instruction_file import Fault
from planner.episodes.partnr.placement import UnplaceableError
from planner.episodes.recipes.build import UnattainableError, build
from planner.episodes.teach.game_file import Game, read_game
from planner.episodes.teach.game_recipe import GameRecipe
from planner.episodes.teach.tasks import DRIVER
from planner.houses.generator import generate_house
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode, Source
from planner.world.errors import FileError, PlannerError, from_validation
from planner.world.house import House
from planner.world.house_checks import check_house

DATASET = "teach"
_SEEDS_TRIED = 24
# Things start on counters, which only our kitchens have; bathrooms have none that fit much.
_ROOM = "kitchen"
_ALWAYS = {"counter": 2, "table": 1, "sink": 1, "oven": 1}


def import_games(paths: Sequence[Path], seed: int) -> Imported:
    """Makes an episode of each game.

    Args:
        paths: games.
        seed: determines rooms and places.

    Raises:
        FileError: if a file is not a game, or two share a name.
    """
    made = _Importer(seed)
    for path in paths:
        made.read(path)
    return made.imported()


class _Importer:
    """The state of an import."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._read: dict[str, int] = {}
        self._sha256: dict[str, str] = {}
        self._left_out: list[Fault] = []
        self._recipes: list[GameRecipe] = []
        self._linter = Linter()

    def read(self, path: Path) -> None:
        if path.name in self._read:
            raise FileError(path, "", "a file of this name was given already")
        file = read_game(path)
        self._read[path.name] = file.count
        self._sha256[path.name] = file.sha256
        self._left_out += file.faults
        for game in file.games:
            try:
                if room_of(game.floor_plan) != _ROOM:
                    raise UnplaceableError(f"{game.floor_plan} is not a kitchen")
                self._recipes.append(GameRecipe(game))
            except UnplaceableError as error:
                self._leave_out(game, str(error))

    def imported(self) -> Imported:
        episodes: dict[str, Episode] = {}
        houses: dict[str, House] = {}
        for recipe in self._recipes:
            game = recipe.game
            try:
                house = self._house(recipe)
                episode = self._episode(recipe, house)
            except ValidationError as error:
                plain = from_validation(game.file, error)
                self._leave_out(game, f"{plain.field}: {plain.reason}")
                continue
            except (UnplaceableError, PlannerError) as error:
                self._leave_out(game, str(error))
                continue
            if episode.episode_id in episodes:
                self._leave_out(game, "another game has the same name")
                continue
            episodes[episode.episode_id] = episode
            houses[house.name] = house
        found = tuple(episodes.values())
        return Imported(DATASET, self._read, found, tuple(self._left_out), houses)

    def _leave_out(self, game: Game, reason: str) -> None:
        self._left_out.append(Fault(game.file, game.name, reason))

    def _house(self, recipe: GameRecipe) -> House:
        """A kitchen with what the game needs; each game has one of its own."""
        name = f"teach-{recipe.game.name}"
        problem = ""
        for attempt in range(_SEEDS_TRIED):
            try:
                house = generate_house(
                    name,
                    scene_seed(self._seed, name) + attempt,
                    rooms={_ROOM: 1},
                    required={f"{_ROOM}_0": {**recipe.furniture, **_ALWAYS}},
                    objects=0,
                )
            except PlannerError as error:
                problem = str(error)
                continue
            findings = check_house(house, default_catalogue())
            if not findings:
                return house
            problem = str(findings[0])
        raise UnplaceableError(f"no kitchen has the furniture of the game: {problem}")

    def _episode(self, recipe: GameRecipe, house: House) -> Episode:
        game = recipe.game
        source = Source(
            dataset=DATASET,
            file=game.file,
            scene_id=game.floor_plan,
            episode_id=game.name,
            sha256=self._sha256[game.file],
            fitted=True,
            not_taken=game.not_taken,
        )
        built = _built(recipe, house)
        fields = built.model_dump() | {
            "episode_id": game.name,
            "seed": scene_seed(self._seed, game.name),
            "agents": DRIVER,
            "dialogue": recipe.dialogue,
            "source": source,
        }
        episode = Episode.model_validate(fields)
        for finding in self._linter.errors(episode, house):
            raise FileError(game.file, finding.field, finding.reason)
        return episode


def _built(recipe: GameRecipe, house: House) -> Episode:
    """The first of several arrangements in which everything fits.

    Raises:
        RecipeError: if there is none.
    """
    for seed in range(_SEEDS_TRIED):
        try:
            return build(recipe.recipe(house.name, seed), house).episode
        except UnattainableError:
            if seed == _SEEDS_TRIED - 1:
                raise
    raise AssertionError("at least one seed is tried")
