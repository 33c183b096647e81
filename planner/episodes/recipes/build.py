"""Builds our own episodes from recipes: equal recipes and houses give equal files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from planner.episodes.arrangement import Arrangement, arrangements
from planner.episodes.episode_file import write_episode
from planner.episodes.recipes.file import (
    Recipe,
    Target,
    Things,
    evaluation_of,
    read_recipes,
    recipe_folder,
    targets,
    task_types,
)
from planner.episodes.wording import Lexicon, Noun, NounKind, build_lexicon
from planner.houses.clutter import ObjectRequest, Unplaced, place_objects
from planner.world.catalogue import Catalogue, default_catalogue, slice_names
from planner.world.episode import (
    EPISODE_VERSION,
    AgentPlacement,
    Episode,
    FurnitureChange,
    Requirement,
)
from planner.world.errors import FileError, PlannerError
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.house_checks import load_house
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind, Relation, floor_name

# PARTNR-D31: number of additional objects, of no class that the task is about.
MIN_CLUTTER, MAX_CLUTTER = 2, 8
_ARRANGEMENTS_TRIED = 8
_DRAWS = 60
TEAM = (
    AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT),
    AgentPlacement(uid="agent_1", kind=AgentKind.HUMAN),
)
# An episode's split follows from its house: held-out houses are never used for training.
SPLIT_OF_HOUSE = {"train": "train", "heldout": "val", "none": "none"}


class RecipeError(PlannerError):
    """A recipe that cannot be built; names the recipe and the reason."""

    def __init__(self, recipe: Recipe, reason: str) -> None:
        super().__init__(f"recipe {recipe.name}: {reason}")


class UnattainableError(RecipeError):
    """A recipe for whose goal no arrangement of its things was found."""


@dataclass(frozen=True, slots=True)
class Built:
    """An episode.

    Attributes:
        folder: its folder under config/episodes/.
        targets: its propositions, as in the recipe.
        rehearsal: where its objects lie after each step in one solution.
    """

    episode: Episode
    folder: str
    targets: tuple[Target, ...]
    rehearsal: tuple[Arrangement, ...]


def shipped_recipes() -> tuple[Recipe, ...]:
    """The recipes of the shipped episodes.

    Raises:
        PlannerError: if a name is used twice.
    """
    found = read_recipes(recipe_folder())
    seen: set[str] = set()
    for recipe in found:
        if recipe.name in seen:
            raise RecipeError(recipe, "the name is used twice")
        seen.add(recipe.name)
    return found


def shipped_episodes() -> list[Path]:
    """The files of the shipped episodes in order of folder and name."""
    return sorted((config_dir() / "episodes").glob("*/*.json"))


def build(recipe: Recipe, house: House | None = None) -> Built:
    """Builds a recipe's episode.

    Args:
        recipe: the task.
        house: None: the recipe's, among the shipped ones.

    Raises:
        RecipeError: if a class, place or room is missing, there is not enough space, or no
            arrangement satisfies the goal.
    """
    return _Building(recipe, house or load_house(recipe.house)).built()


class _Building:
    """The construction of an episode from one recipe."""

    def __init__(self, recipe: Recipe, house: House) -> None:
        self._recipe = recipe
        self._house = house
        self._catalogue: Catalogue = default_catalogue()
        self._seed = _seed_of(recipe)
        self._rng = np.random.default_rng(self._seed)
        self._room_class = {room.name: room.class_name for room in house.rooms}

    def built(self) -> Built:
        recipe = self._recipe
        places = {label: self._place(label) for label in recipe.places}
        things = self._placed()
        names = {**places, **{label: [t.name for t in items] for label, items in things.items()}}
        names |= {label: self._slices(things[whole]) for whole, label in recipe.slices.items()}
        asked = [item for items in things.values() for item in items]
        found = targets(recipe, names)
        self._check(found)
        objects = asked + self._clutter(asked, names)
        episode = Episode.model_validate(
            {
                "version": EPISODE_VERSION,
                "episode_id": recipe.name,
                "house": recipe.house,
                "split": SPLIT_OF_HOUSE[self._house.split],
                "task_types": task_types(found),
                "instruction": " ".join(recipe.instruction.split()),
                "seed": self._seed,
                "agents": TEAM,
                "objects": objects,
                "furniture": self._changes(places),
                "initial_state": [self._record(item, things) for item in recipe.things.values()],
                "evaluation": evaluation_of(found, {item.name: item.parent for item in asked}),
            }
        )
        rehearsal = arrangements(self._house, self._sliced(objects), found, self._rng)
        if rehearsal is None:
            reason = "no arrangement of its things was found that meets the goal"
            raise UnattainableError(recipe, reason)
        return Built(episode, self._house.split, found, tuple(rehearsal))

    def _rooms(self, word: str | None) -> list[str]:
        """The rooms that a room class or name refers to; all if None."""
        found = [r for r, cls in self._room_class.items() if word in (None, r, cls)]
        if not found:
            raise RecipeError(self._recipe, f"{self._house.name} has no room {word!r}")
        return found

    def _pieces(self, word: str, room: str | None) -> list[Furniture]:
        """The furniture that a class or name refers to."""
        rooms = self._rooms(room)
        found = [
            piece
            for piece in self._house.furniture
            if word in (piece.name, piece.class_name) and piece.room in rooms
        ]
        if not found:
            where = f" in {room}" if room else ""
            raise RecipeError(self._recipe, f"{self._house.name} has no {word}{where}")
        return found

    def _place(self, label: str) -> list[str]:
        place = self._recipe.places[label]
        if place.furniture is None:
            return self._rooms(place.room)
        return [piece.name for piece in self._pieces(place.furniture, place.room)]

    def _start(
        self, item: Things, placed: Mapping[str, Sequence[ObjectPlacement]]
    ) -> tuple[Relation, tuple[str, ...]]:
        """How, and on or in what, things start; `placed` has the things of labels before."""
        holder = item.inside or str(item.on_top)
        if holder in self._recipe.things:
            relation = Relation.WITHIN if item.inside is not None else Relation.ON
            return relation, tuple(thing.name for thing in placed.get(holder, ()))
        if item.inside is not None:
            return Relation.WITHIN, tuple(p.name for p in self._pieces(item.inside, item.room))
        if item.on_top == "floor":
            return Relation.ON, tuple(floor_name(room) for room in self._rooms(item.room))
        pieces = self._pieces(str(item.on_top), item.room)
        return Relation.ON, tuple(piece.name for piece in pieces)

    def _placed(self) -> dict[str, list[ObjectPlacement]]:
        """Places every label's objects, difficult ones first if space is short."""
        placed: dict[str, list[ObjectPlacement]] = {}
        waiting = dict(self._recipe.things)
        while waiting:
            # What starts in or on things of another label has to wait for those.
            ready = [n for n, item in waiting.items() if _holder(item) not in waiting]
            placed |= self._placed_in_turn({n: waiting.pop(n) for n in ready}, placed)
        return {label: placed[label] for label in self._recipe.things}

    def _placed_in_turn(
        self, items: Mapping[str, Things], before: Mapping[str, Sequence[ObjectPlacement]]
    ) -> dict[str, list[ObjectPlacement]]:
        labelled = [
            (label, ObjectRequest((item.class_name,), *self._start(item, before), item.states))
            for label, item in items.items()
            for _ in range(item.count)
        ]
        occupied = [thing for things in before.values() for thing in things]
        reason = ""
        for _ in range(_ARRANGEMENTS_TRIED):
            requests = [request for _, request in labelled]
            outcome = place_objects(self._house, requests, self._rng, occupied)
            failed = [item for item in outcome if isinstance(item, Unplaced)]
            if not failed:
                placed: dict[str, list[ObjectPlacement]] = {}
                for (label, _), item in zip(labelled, outcome, strict=True):
                    if isinstance(item, ObjectPlacement):
                        placed.setdefault(label, []).append(item)
                return placed
            reason = failed[0].reason
            hard = [failed[0].request is not request for _, request in labelled]
            labelled = [labelled[i] for i in sorted(range(len(hard)), key=hard.__getitem__)]
        raise RecipeError(self._recipe, reason)

    def _slices(self, things: Sequence[ObjectPlacement]) -> list[str]:
        """The names of the slices that things become."""
        names: list[str] = []
        for item in things:
            slices = self._catalogue.objects[item.class_name].slices
            if slices is None:
                raise RecipeError(self._recipe, f"{item.class_name} has no slices")
            names += slice_names(item.name, slices)
        return names

    def _sliced(self, objects: Sequence[ObjectPlacement]) -> list[ObjectPlacement]:
        """The objects once what the goal wants sliced has become slices."""
        lying = list(objects)
        classes = {self._recipe.things[label].class_name for label in self._recipe.slices}
        for item in [item for item in lying if item.class_name in classes]:
            lying.remove(item)
            for name in self._slices([item]):
                kind = (name.rpartition("_")[0],)
                request = ObjectRequest(kind, Relation(item.relation), (item.parent,))
                (outcome,) = place_objects(self._house, [request], self._rng, lying)
                if isinstance(outcome, Unplaced):
                    raise RecipeError(self._recipe, outcome.reason)
                lying.append(outcome.model_copy(update={"name": name}))
        return lying

    def _check(self, found: Sequence[Target]) -> None:
        for target in found:
            if target.number > len(target.names):
                reason = f"{target.number} of {len(target.names)} can never be met"
                raise RecipeError(self._recipe, f"{target.predicate}: {reason}")

    def _clutter(
        self, asked: Sequence[ObjectPlacement], names: Mapping[str, Sequence[str]]
    ) -> list[ObjectPlacement]:
        """Additional objects in likely places, of no class that the task has or names."""
        clear = {name for label in self._recipe.clear for name in names[label]}
        barred = {item.class_name for item in asked} | _named(self._recipe.instruction)
        barred |= self._barred()
        owned = {piece.class_name for piece in self._house.furniture}
        likely = [
            name
            for name, cls in self._catalogue.objects.items()
            if name not in barred and any(place.furniture in owned for place in cls.places)
        ]
        placed: list[ObjectPlacement] = []
        for _ in range(int(self._rng.integers(MIN_CLUTTER, MAX_CLUTTER + 1))):
            placed.append(self._one_more(likely, [*asked, *placed], clear))
        return placed

    def _barred(self) -> set[str]:
        """The classes that the recipe wants no clutter of."""
        found: set[str] = set()
        for word in self._recipe.no_clutter:
            classes = self._catalogue.objects
            named = {name for name, cls in classes.items() if word in (name, *cls.groups)}
            if not named:
                raise RecipeError(self._recipe, f"no_clutter: there is no class or group {word!r}")
            found |= named
        return found

    def _one_more(
        self, likely: Sequence[str], occupied: Sequence[ObjectPlacement], clear: set[str]
    ) -> ObjectPlacement:
        for _ in range(_DRAWS):
            cls = self._catalogue.objects[likely[int(self._rng.integers(len(likely)))]]
            place = cls.places[int(self._rng.integers(len(cls.places)))]
            request = ObjectRequest((cls.name,), place.relation)
            (outcome,) = place_objects(self._house, [request], self._rng, occupied)
            if isinstance(outcome, ObjectPlacement) and outcome.parent not in clear:
                return outcome
        raise RecipeError(self._recipe, "no likely place has room for more clutter")

    def _changes(self, places: Mapping[str, Sequence[str]]) -> dict[str, FurnitureChange]:
        return {
            name: FurnitureChange(states=place.states)
            for label, place in self._recipe.places.items()
            if place.states
            for name in places[label]
        }

    def _record(self, item: Things, placed: Mapping[str, Sequence[ObjectPlacement]]) -> Requirement:
        _, furniture = self._start(item, placed)
        rooms = {piece.room for piece in self._house.furniture if piece.name in furniture}
        rooms |= {room.name for room in self._house.rooms if floor_name(room.name) in furniture}
        return Requirement(
            number=item.count,
            object_classes=(item.class_name,),
            furniture_names=furniture,
            allowed_regions=tuple(room.name for room in self._house.rooms if room.name in rooms),
            states=item.states,
        )


def _holder(item: Things) -> str:
    return item.inside or str(item.on_top)


def _seed_of(recipe: Recipe) -> int:
    """A seed unique to the recipe; a signed 32-bit integer, as messages require."""
    text = f"{recipe.name}/{recipe.seed}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return build_lexicon(default_catalogue())


def _named(instruction: str) -> set[str]:
    """Every class of objects that a word of the instruction may mean."""
    return {
        name
        for item in _lexicon().items(instruction)
        if isinstance(item, Noun) and item.kind is NounKind.OBJECT
        for name in item.classes
    }


# `planner episodes build`.


def build_shipped(output: Path | None) -> int:
    """Builds all episodes before writing the first, so that a bad recipe changes nothing.

    Args:
        output: the folder to write to; None = that of the shipped episodes.
    """
    top = output or config_dir() / "episodes"
    made = [build(recipe) for recipe in shipped_recipes()]
    current = {top / item.folder / f"{item.episode.episode_id}.json" for item in made}
    for folder in sorted({path.parent for path in current}):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(folder, "", f"cannot be made: {error.strerror}") from None
    for item in made:
        write_episode(item.episode, top / item.folder)
    print(f"wrote {len(made)} episodes to {top}")
    for path in sorted(set(top.glob("*/*.json")) - current):
        print(f"no recipe makes {path}; delete it if it is not wanted")
    return 0
