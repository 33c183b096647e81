"""A game's task as a recipe: what has to be there, and what must hold in the end (HELPER-D86)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.episodes.llamar.public_words import meaning_of
from planner.episodes.partnr.placement import UnplaceableError
from planner.episodes.recipes.file import Recipe
from planner.episodes.teach.game_file import Game
from planner.world.catalogue import FurnitureClass, ObjectClass, default_catalogue
from planner.world.dialogue import Dialogue, TeachTask

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
        meaning = meaning_of(word, default_catalogue())
        if not isinstance(meaning, ObjectClass):
            raise UnplaceableError(f"{word!r} is furniture here and cannot be carried")
        label = meaning.name
        states = _DIRTY if dirty and "cleanable" in meaning.affordances else {}
        self._things.setdefault(
            label,
            {"class_name": label, "count": count, "on_top": "counter", "states": states},
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
        meaning = meaning_of(word, default_catalogue())
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
