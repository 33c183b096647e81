"""Games of the published TEACh data set as recipes, and as episodes in rooms of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from papers.helper.teach.game_file import Game, read_game
from papers.helper.teach.tasks import DRIVER
from planner.episodes.importing.importer import Fault, Imported, ImporterPart, UnplaceableError
from planner.episodes.importing.simulator_words import scene_seed, thor_class, thor_room
from planner.episodes.lint.linting import Linter
from planner.episodes.recipes.build import UnattainableError, build
from planner.episodes.recipes.file import Recipe
from planner.houses.generator import generate_house
from planner.world.catalogue import FurnitureClass, ObjectClass, default_catalogue
from planner.world.episode import Dialogue, Episode, Source, TeachTask
from planner.world.errors import FileError, PlannerError, from_validation
from planner.world.house import House
from planner.world.house_checks import check_house

# A game's task as a recipe: what has to be there, and what must hold in the end (HELPER-D86).

_TYPES: Mapping[str, TeachTask] = {
    "water plant": TeachTask.WATER_PLANT,
    "coffee": TeachTask.MAKE_COFFEE,
    "make coffee": TeachTask.MAKE_COFFEE,
    "clean all x": TeachTask.CLEAN_ALL,
    "put all x on y": TeachTask.PUT_ALL_ON,
    "put all x in one y": TeachTask.PUT_ALL_IN_ONE,
    "boil x": TeachTask.BOIL_POTATO,
    "n slices of x in y": TeachTask.N_SLICES,
    "n cooked slices of x in y": TeachTask.N_COOKED_SLICES,
    "plate of toast": TeachTask.PLATE_OF_TOAST,
    "breakfast": TeachTask.BREAKFAST,
    "sandwich": TeachTask.SANDWICH,
    "salad": TeachTask.SALAD,
}
# TEACh's classes of several types of objects.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Drinkware": ("Mug", "Cup"),
    "Silverware": ("Fork", "Spoon", "Knife", "ButterKnife"),
    "Tableware": ("Plate", "Bowl", "Fork", "Spoon", "Mug", "Cup"),
    "Cookware": ("Pot", "Pan", "Kettle"),
}
_MOST_ALIKE, _MOST_SLICES = 4, 4
_DIRTY = {"clean": False}


class GameRecipe:
    """What a game needs, by its task's name and parameters."""

    def __init__(self, game: Game) -> None:
        """Reads the task.

        Raises:
            UnplaceableError: if it is none of the twelve types, or a word is nothing here.
        """
        known = _TYPES.get(game.task_name.strip().lower())
        if known is None:
            raise UnplaceableError(f"{game.task_name!r} is none of TEACh's twelve types here")
        self.game, self.task_type = game, known
        self.furniture: dict[str, int] = {}
        self._things: dict[str, dict[str, object]] = {}
        self._places: dict[str, dict[str, object]] = {}
        self._slices: dict[str, str] = {}
        self._goal: list[dict[str, object]] = []
        self._parts = 0
        try:
            _MAKERS[known](self)
        except (IndexError, ValueError) as error:
            given = ", ".join(game.parameters) or "none"
            raise UnplaceableError(f"task_params: {given}: {error}") from None

    @property
    def dialogue(self) -> Dialogue:
        """The game's."""
        return Dialogue(task_type=self.task_type, turns=self.game.turns)

    def recipe(self, house: str, seed: int) -> Recipe:
        """The recipe in a house that has the furniture.

        Raises:
            ValidationError: if it is none.
        """
        return Recipe.model_validate(
            {
                "name": "game",
                "house": house,
                "seed": seed,
                "instruction": self.dialogue.text,
                "things": self._things,
                "places": self._places,
                "slices": self._slices,
                "goal": self._goal,
            }
        )

    # The parts of tasks

    def _number(self, at: int) -> int:
        number = int(self.game.parameters[at])
        if not 0 <= number <= _MOST_SLICES:
            raise ValueError(f"{number} is not 0 to {_MOST_SLICES}")
        return number

    def _thing(self, word: str, count: int = 1, *, dirty: bool = False) -> str:
        meaning = thor_class(word, default_catalogue())
        if not isinstance(meaning, ObjectClass):
            raise UnplaceableError(f"{word!r} is furniture here and cannot be carried")
        label = meaning.name
        states = _DIRTY if dirty and "cleanable" in meaning.affordances else {}
        self._things.setdefault(
            label, {"class_name": label, "count": count, "on_top": "counter", "states": states}
        )
        return label

    def _all(self, word: str, *, dirty: bool) -> list[str]:
        """The things of a type or of a group of types, as many as the scene has."""
        found = []
        for kind in _GROUPS.get(word, (word,)):
            count = self.game.counts.get(kind, 0)
            if count:
                found.append(self._thing(kind, min(count, _MOST_ALIKE), dirty=dirty))
        if not found:
            raise UnplaceableError(f"its scene has no {word!r}")
        return list(dict.fromkeys(found))

    def _place(self, word: str) -> tuple[str, str]:
        """The label of a place, and how things are put there."""
        meaning = thor_class(word, default_catalogue())
        if isinstance(meaning, FurnitureClass):
            self.furniture[meaning.name] = 1
            label = f"at_{meaning.name}"
            self._places[label] = {"furniture": meaning.name}
            inside = meaning.name in {"fridge", "cabinet", "sink", "trash_can"}
            return label, "is_inside" if inside else "is_on_top"
        label = self._thing(word)
        return label, "is_inside" if meaning.hollow is not None else "is_on_top"

    def _sliced(self, word: str) -> str:
        whole = self._thing(word)
        self._thing("Knife")
        self._slices[whole] = f"{whole}_slices"
        return self._slices[whole]

    def _serve(self, word: str, number: int, state: str, place: str, how: str) -> None:
        """So many slices at a place, each in a state ("" = any)."""
        if not number:
            return
        slices = self._sliced(word)
        if not state:
            self._want(how, [slices], number=number, at=[place])
            return
        for which in range(number):
            tie = f"part_{self._parts}_{which}"
            self._want(state, [slices], number=1, same_thing=tie, other_place=f"{slices}_apart")
            self._want(how, [slices], number=1, at=[place], same_thing=tie)
        self._parts += 1

    def _want(self, predicate: str, things: list[str], **more: object) -> None:
        self._goal.append({"predicate": predicate, "things": things, **more})

    def _coffee(self) -> None:
        mug = self._thing("Mug", dirty=True)
        self._thing("CoffeeMachine")
        self._want("is_clean", [mug])
        self._want("is_filled_with_coffee", [mug])

    def _plate(self) -> str:
        plate = self._thing("Plate", dirty=True)
        self._want("is_clean", [plate])
        return plate

    def _toast(self, number: int, plate: str) -> None:
        self._thing("Toaster")
        self._serve("Bread", number, "is_toasted", plate, "is_on_top")

    # The tasks

    def water_plant(self) -> None:
        """No parameters."""
        plants = self._thing("HousePlant")
        self._thing("WateringCan")
        self._want("is_watered", [plants])

    def make_coffee(self) -> None:
        """No parameters."""
        self._coffee()

    def clean_all(self) -> None:
        """A type or group."""
        self._want("is_clean", self._all(self.game.parameters[0], dirty=True))

    def put_all_on(self) -> None:
        """A type or group, a preposition, a place."""
        things = self._all(self.game.parameters[0], dirty=False)
        place, how = self._place(self.game.parameters[2])
        self._want(how, things, at=[place])

    def put_all_in_one(self) -> None:
        """As `put_all_on`, all of them at the same one."""
        things = self._all(self.game.parameters[0], dirty=False)
        place, how = self._place(self.game.parameters[2])
        self._want(how, things, at=[place], same_place="one")

    def boil_potato(self) -> None:
        """What is boiled."""
        thing = self._thing(self.game.parameters[0])
        self._thing("Pot")
        self._want("is_boiled", [thing])

    def n_slices(self) -> None:
        """A number, a type, a preposition, a place."""
        place, how = self._place(self.game.parameters[3])
        self._serve(self.game.parameters[1], self._number(0), "", place, how)

    def n_cooked_slices(self) -> None:
        """As `n_slices`."""
        place, how = self._place(self.game.parameters[3])
        self._serve(self.game.parameters[1], self._number(0), "is_cooked", place, how)

    def plate_of_toast(self) -> None:
        """No parameters."""
        self._toast(1, self._plate())

    def sandwich(self) -> None:
        """Numbers of slices of lettuce and tomato."""
        plate = self._plate()
        self._toast(2, plate)
        self._serve("Lettuce", self._number(0), "", plate, "is_on_top")
        self._serve("Tomato", self._number(1), "", plate, "is_on_top")

    def salad(self) -> None:
        """Numbers of slices of lettuce, tomato and cooked potato."""
        plate = self._plate()
        self._serve("Lettuce", self._number(0), "", plate, "is_on_top")
        self._serve("Tomato", self._number(1), "", plate, "is_on_top")
        self._serve("Potato", self._number(2), "is_cooked", plate, "is_on_top")

    def breakfast(self) -> None:
        """Fourteen: how many of each dish, its parts, and where all of it is served."""
        coffees, toasts, potatoes, apples, sandwiches, salads = map(
            self._number, (0, 1, 2, 4, 6, 9)
        )
        if coffees > 1 or toasts + potatoes + apples + sandwiches + salads > 1:
            raise UnplaceableError("a breakfast of several dishes is not taken")
        place, how = self._place(self.game.parameters[13])
        served: list[str] = []
        if coffees:
            self._coffee()
            served.append("cup")
        if toasts or sandwiches or salads:
            plate = self._plate()
            served.append(plate)
            self._toast(2 * sandwiches + toasts, plate)
            for word, number in (
                ("Lettuce", sandwiches * self._number(7) + salads * self._number(10)),
                ("Tomato", sandwiches * self._number(8) + salads * self._number(11)),
            ):
                self._serve(word, number, "", plate, "is_on_top")
            self._serve("Potato", salads * self._number(12), "is_cooked", plate, "is_on_top")
        for count, number, word, at, state in (
            (potatoes, 2, "Potato", 3, "is_cooked"),
            (apples, 1, "Apple", 5, ""),
        ):
            if count:
                dish, inside = self._place(self.game.parameters[at])
                served.append(dish)
                self._serve(word, number, state, dish, inside)
        self._want(how, served, at=[place])


_MAKERS: Mapping[TeachTask, Callable[[GameRecipe], None]] = {
    task: getattr(GameRecipe, task.value) for task in TeachTask
}


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
                if thor_room(game.floor_plan) != _ROOM:
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


IMPORTER = ImporterPart(
    summary="games of the published TEACh data set, in kitchens",
    read=lambda args: import_games(args.files, args.seed),
)
