"""Derives goals from statements: which things should be where, in which step, with which ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.episodes.goals.lookup import (
    Selection,
    Spot,
    UnclearError,
    is_at,
    named_rooms,
    pieces_at,
    predicate,
    select,
    start_spots,
)
from planner.episodes.goals.scene import Scene, Thing
from planner.episodes.goals.statements import Amount, Move, Occasion, Place, Statement, Things


@dataclass(frozen=True, slots=True)
class Goal:
    """One future proposition: each of the things may use any of `candidates`.

    Attributes:
        group: goals of one group with `tied` set use the same candidate.
        keep: true from the start and must stay so.
    """

    selection: Selection
    function: str
    candidates: tuple[str, ...]
    step: int
    group: int
    tied: bool = False
    keep: bool = False


def goals_of(statements: Sequence[Statement], scene: Scene) -> list[Goal]:
    """The goals that the statements express in this scene.

    Raises:
        UnclearError: if they do not have exactly one meaning here.
    """
    reading = _Reading(scene, [s for s in statements if isinstance(s, Move)])
    for index, statement in enumerate(statements):
        more = any(isinstance(later, Move) for later in statements[index + 1 :])
        reading.read(statement, more_follows=more)
    return reading.finish()


class _Reading:
    """The state while reading: goals so far, and referents of pronouns and bare nouns."""

    def __init__(self, scene: Scene, moves: Sequence[Move]) -> None:
        self._scene = scene
        self._origins = [move.origin for move in moves if move.origin is not None]
        asked = [move for move in moves if not self._is_preview(move.things)]
        self._destinations = [m.destination for m in asked if m.destination is not None]
        self._spots = start_spots(scene)
        self._goals: list[Goal] = []
        self._groups = 0
        self._spoken: dict[int, list[tuple[Selection, ...]]] = {}
        self._room_context: list[str] | None = None
        self._preview: set[str] | None = None
        self._owed: set[str] = set()
        # "the table" named twice is the same table: the group of goals that share it.
        self._shared: dict[tuple[str, tuple[str, ...]], int] = {}

    def read(self, statement: Statement, *, more_follows: bool) -> None:
        """Processes one statement."""
        if isinstance(statement, Occasion):
            self._occasion(statement)
        elif self._is_preview(statement.things) and more_follows:
            self._announce(statement)
        else:
            self._move(statement)

    def finish(self) -> list[Goal]:
        """The goals, after checking that everything announced was also requested."""
        served = {name for goal in self._goals for name in goal.selection.names}
        if self._owed - served:
            raise UnclearError(f"nothing says where {sorted(self._owed - served)[0]} shall be")
        moved = [goal for goal in self._goals if not goal.keep]
        if not moved:
            raise UnclearError("nothing is to be done")
        self._check_neighbours_meet()
        if self._preview is not None:
            for goal in moved:
                if goal.function != "is_next_to" and not self._within_preview(goal):
                    raise UnclearError("the parts go elsewhere than the whole")
        return self._tied()

    def _check_neighbours_meet(self) -> None:
        """Refuses "next to" for things with destinations in different rooms."""
        for goal in self._goals:
            if goal.function != "is_next_to":
                continue
            own = self._rooms_at(goal.selection.names, goal.step)
            theirs = self._rooms_at(goal.candidates, goal.step)
            if not own & theirs:
                raise UnclearError("what shall be next to each other is sent to different rooms")

    def _rooms_at(self, names: Sequence[str], step: int) -> set[str]:
        """The rooms that any of these things may be in after a step."""
        found: set[str] = set()
        for name in names:
            placed = [
                goal
                for goal in self._goals
                if name in goal.selection.names
                and goal.step <= step
                and goal.candidates
                and goal.function != "is_next_to"
            ]
            last = max((goal.step for goal in placed), default=-1)
            rooms = {
                self._room_of(place)
                for goal in placed
                if goal.step == last
                for place in goal.candidates
            }
            found |= rooms or {t.room for t in self._scene.objects if t.name == name}
        return found

    def _tied(self) -> list[Goal]:
        """The goals, with ties between all clauses that name the same definite place."""
        shared = {(group, function) for (function, _), group in self._shared.items()}
        found: list[Goal] = []
        for goal in self._goals:
            key = (goal.group, goal.function)
            members = [g for g in self._goals if (g.group, g.function) == key]
            tied = goal.tied or (key in shared and len(members) > 1)
            common = set.intersection(*(set(member.candidates) for member in members))
            if tied and not common:
                raise UnclearError("things are to be at one place that not all of them can be at")
            single = all(len(member.candidates) == 1 for member in members)
            found.append(replace(goal, tied=tied and not single))
        return found

    # Announcing sentences.

    def _occasion(self, occasion: Occasion) -> None:
        if occasion.rooms:
            classes = {name for room in occasion.rooms for name in room.noun.classes}
            rooms = self._scene.rooms_of_class(classes)
            used = {thing.room for thing in self._scene.objects} if occasion.here else set()
            self._room_context = [room for room in rooms if room in used] or rooms
        class_names = {name for noun in occasion.nouns for name in noun.classes}
        self._owed |= {
            thing.name for thing in self._scene.objects if thing.class_name in class_names
        }

    @staticmethod
    def _is_preview(things: Things) -> bool:
        return things.vague or any(phrase.amount is Amount.SOME for phrase in things.phrases)

    def _announce(self, move: Move) -> None:
        """For "Move these objects to the kitchen. The cup should be ...": handles the summary."""
        place = move.destination
        if place is None:
            return
        if place.other or place.same or place.holder or place.floor or move.together:
            raise UnclearError("the announcement is more than a place")
        rooms = self._rooms_for(place, (), move.step)
        self._room_context = rooms
        if place.furniture is None:
            self._preview = set(rooms)
        else:
            self._preview = {p.name for p in pieces_at(place, rooms, self._scene, self._spots)}

    def _within_preview(self, goal: Goal) -> bool:
        rooms = {self._room_of(name) for name in goal.candidates}
        allowed = self._preview or set()
        return set(goal.candidates) <= allowed or rooms <= allowed

    # Requesting sentences.

    def _move(self, move: Move) -> None:
        selections = self._selections(move)
        things = tuple(thing for selection in selections for thing in selection.things)
        self._remember(move.step, selections)
        self._groups += 1
        if move.keep:
            self._keep(move, selections)
        elif move.destination is not None:
            self._place(move, selections, things)
        elif move.beside is None and not move.together:
            self._owed |= {thing.name for thing in things}
            return
        if move.together or move.beside is not None:
            self._neighbours(move, selections)

    def _selections(self, move: Move) -> tuple[Selection, ...]:
        if move.things.again:
            return self._antecedent(move)
        if move.things.vague:
            if self._spoken:
                raise UnclearError('"these objects" may be the last ones or all of them')
            return self._everything(move.origin)
        return tuple(select(move.things, move.origin, self._scene, self._spots))

    def _antecedent(self, move: Move) -> tuple[Selection, ...]:
        step = max((step for step in self._spoken if step <= move.step), default=-1)
        groups = self._spoken.get(step, [])
        if not groups:
            raise UnclearError("a pronoun has nothing to stand for")
        if move.things.single:
            if len(groups[-1]) != 1:
                raise UnclearError('"it" may be several things')
            return groups[-1]
        if len(groups) > 1:
            raise UnclearError('"them" may be the last things or all of them')
        for selection in groups[0]:
            for thing in selection.things:
                if move.origin and not is_at(move.origin, thing, self._scene, self._spots):
                    raise UnclearError(f"{thing.name} is not where the instruction says")
        return groups[0]

    def _everything(self, origin: Place | None) -> tuple[Selection, ...]:
        things = self._scene.objects
        if origin is not None:
            things = tuple(t for t in things if is_at(origin, t, self._scene, self._spots))
        if not things:
            raise UnclearError("no objects are where the instruction says")
        return tuple(Selection((thing,)) for thing in things)

    def _remember(self, step: int, selections: tuple[Selection, ...]) -> None:
        groups = self._spoken.setdefault(step, [])
        if selections not in groups:
            groups.append(selections)

    # Places.

    def _rooms_for(self, place: Place, things: Sequence[Thing], step: int) -> list[str]:
        """The rooms allowed by the words of a place, its use and the context."""
        said = named_rooms(place, things, self._scene, self._spots)
        hint = place.furniture.room_hint if place.furniture is not None else None
        spots = [self._spots[thing.name] for thing in things]
        planned = bool(spots) and all(spot.planned for spot in spots)
        context = self._room_context
        if planned:
            context = [r for r in self._scene.rooms if all(r in spot.rooms for spot in spots)]
        if place.rooms:
            return said
        if planned and len(context or ()) > 1 and any(spot.step < step for spot in spots):
            raise UnclearError("it is not clear which of the rooms they were brought to is meant")
        if not planned and hint is None:
            self._refuse_if_named_elsewhere(place)
        if hint is not None:
            hinted = self._scene.rooms_of_class((hint,))
            if not hinted:
                raise UnclearError(f"the house has no {hint}")
            if context is not None and not set(hinted) & set(context):
                raise UnclearError(
                    f'"{place.furniture and place.furniture.text}" is in another room'
                )
            return hinted
        return said if context is None else context

    def _refuse_if_named_elsewhere(self, place: Place) -> None:
        """Refuses "the table" after "a table in the kitchen", since either may be meant."""
        if place.furniture is None or not place.definite or place.holder:
            return
        others = [*self._origins, *(p for p in self._destinations if p != place)]
        for other in others:
            if other.furniture is None:
                continue
            if other.furniture.classes & place.furniture.classes:
                raise UnclearError(f'"the {place.furniture.text}" may be one named elsewhere')

    def _place(self, move: Move, group: tuple[Selection, ...], things: tuple[Thing, ...]) -> None:
        place = move.destination
        if place is None:
            return
        if place.same:
            raise UnclearError('"the same" does not say as what')
        if place.floor:
            self._floor(move, group, things)
            return
        if place.other and place.plural:
            raise UnclearError('"different" may mean from before or from each other')
        if place.furniture is None:
            function = "is_in_room"
            candidates = named_rooms(place, things, self._scene, self._spots)
        else:
            rooms = self._rooms_for(place, things, move.step)
            pieces = pieces_at(place, rooms, self._scene, self._spots)
            function, pieces = predicate(move.relation, pieces)
            candidates = [piece.name for piece in pieces]
        if move.beside is not None:
            candidates = self._where_neighbours_are(move, function, candidates)
        self._refuse_if_some_are_there(move, things, candidates)
        self._add(move.step, place, group, function, candidates)

    def _refuse_if_some_are_there(
        self, move: Move, things: Sequence[Thing], candidates: Sequence[str]
    ) -> None:
        """Refuses "the table" if it may be one that some of the things are already on."""
        place = move.destination
        if place is None or place.other or not (place.definite or place.furniture is None):
            return
        if any(self._spots[thing.name].planned for thing in things):
            return
        here = {thing.parent if place.furniture else thing.room for thing in things}
        if not here & set(candidates):
            return
        named = move.origin is not None or (place.furniture and place.furniture.room_hint)
        if len(here) > 1 or not named:
            raise UnclearError("some of it is at such a place already")

    def _where_neighbours_are(self, move: Move, function: str, candidates: list[str]) -> list[str]:
        """For "next to the book on the table": the table that the book is on."""
        place = move.destination
        spots = [self._spots[name].furniture for name in self._beside(move)]
        left = [name for name in candidates if all(name in spot for spot in spots)]
        if not left:
            raise UnclearError("what to be next to is elsewhere")
        named = place is not None and place.definite
        if len(left) > 1 and not (named and (function, tuple(candidates)) in self._shared):
            raise UnclearError("it is not clear which place what to be next to is at")
        return candidates if len(left) > 1 else left

    def _add(
        self,
        step: int,
        place: Place,
        group: tuple[Selection, ...],
        function: str,
        candidates: list[str],
    ) -> None:
        """Adds a goal for each selection; a thing to be moved may not stay where it is."""
        number = self._groups
        if place.definite:
            number = self._shared.setdefault((function, tuple(candidates)), number)
        together = not place.plural and sum(s.number or 1 for s in group) > 1
        everyone = [thing for selection in group for thing in selection.things]
        goals: list[Goal] = []
        for selection in group:
            leaving = everyone if together else list(selection.things)
            here = {
                name for thing in leaving for name in self._here(thing, function, step, candidates)
            }
            left = tuple(name for name in candidates if name not in here)
            if not left:
                what = selection.things[0].name
                raise UnclearError(f"{what} is there already and there is no other such place")
            tied = together and len(left) > 1
            goals.append(Goal(selection, function, left, step, number, tied))
        before = list(self._goals)
        for goal in goals:
            self._goals.append(self._refined(goal, before, goals))
        self._update_spots(goals)

    def _here(self, thing: Thing, function: str, step: int, candidates: Sequence[str]) -> set[str]:
        """Where the thing is now, in the form of a predicate's candidates."""
        spot = self._spots[thing.name]
        names = spot.rooms if function == "is_in_room" else spot.furniture
        if not spot.planned:
            return set(names)
        earlier = [g for g in self._goals if thing.name in g.selection.names and g.step < step]
        if any(g.function == function for g in earlier):
            if len(names) > 1 and names & set(candidates):
                raise UnclearError("two steps may end at the same place")
            return set(names)
        return set()

    def _refined(self, goal: Goal, before: Sequence[Goal], group: Sequence[Goal]) -> Goal:
        """Drops what the goal makes redundant: "to the kitchen" before "on the table"."""
        for earlier in [g for g in before if g.step == goal.step and not g.keep]:
            if not set(earlier.selection.names) & set(goal.selection.names):
                continue
            if earlier.function == "is_next_to":
                continue
            if earlier.selection != goal.selection or earlier.function == "is_on_floor":
                raise UnclearError("one thing is sent to two places at once")
            goal = self._narrowed(earlier, goal)
            if earlier.function != "is_in_room" or not self._still_needed(earlier, group):
                self._goals.remove(earlier)
        return goal

    def _narrowed(self, earlier: Goal, goal: Goal) -> Goal:
        if earlier.function == "is_in_room":
            rooms = set(earlier.candidates)
            left = tuple(n for n in goal.candidates if self._room_of(n) in rooms)
        elif earlier.function == goal.function:
            left = tuple(n for n in goal.candidates if n in earlier.candidates)
        else:
            left = ()
        if not left:
            raise UnclearError("one thing is sent to two places at once")
        return replace(goal, candidates=left, tied=goal.tied and len(left) > 1)

    def _still_needed(self, earlier: Goal, group: Sequence[Goal]) -> bool:
        """Whether a tie on the room is not replaced by a tie of all members in the new goals."""
        if not earlier.tied:
            return False
        members = {g.selection for g in self._goals if g.group == earlier.group}
        covered = {g.selection for g in group if g.tied or len(g.candidates) == 1}
        everyone = members | {g.selection for g in group}
        return not everyone <= covered

    def _update_spots(self, goals: Sequence[Goal]) -> None:
        for goal in goals:
            added = next(g for g in reversed(self._goals) if g.selection == goal.selection)
            rooms = frozenset(self._room_of(name) for name in added.candidates)
            furniture = (
                frozenset(added.candidates) if goal.function != "is_in_room" else frozenset()
            )
            for thing in goal.selection.things:
                self._spots[thing.name] = Spot(furniture, rooms, planned=True, step=goal.step)

    def _room_of(self, name: str) -> str:
        return name if name in self._scene.rooms else self._scene.pieces[name].room

    def _floor(self, move: Move, group: tuple[Selection, ...], things: tuple[Thing, ...]) -> None:
        place = move.destination
        rooms = named_rooms(place, things, self._scene, self._spots) if place else []
        for selection in group:
            if any(t.parent not in self._scene.pieces for t in selection.things):
                raise UnclearError("it is on the floor already")
            floor = Goal(selection, "is_on_floor", (), move.step, self._groups)
            self._goals.append(floor)
            tied = len(rooms) > 1 and len(group) > 1
            if place is not None and place.rooms:
                room = Goal(selection, "is_in_room", tuple(rooms), move.step, self._groups, tied)
                self._goals.append(room)
            for thing in selection.things:
                self._spots[thing.name] = Spot(
                    frozenset(), frozenset(rooms), planned=True, step=move.step
                )

    def _keep(self, move: Move, group: tuple[Selection, ...]) -> None:
        place = move.destination
        if place is None or place.furniture is None or place.other:
            raise UnclearError("it is not said where to leave it")
        for selection in group:
            for thing in selection.things:
                where = replace(place, same=False)
                if self._spots[thing.name].planned or not is_at(
                    where, thing, self._scene, self._spots
                ):
                    raise UnclearError(f"{thing.name} is not where it is to be left")
                piece = self._scene.pieces[thing.parent]
                function, _ = predicate(move.relation, [piece])
                if function != ("is_inside" if thing.relation == "within" else "is_on_top"):
                    raise UnclearError(f"{thing.name} is not as it is to be left")
                one = Selection((thing,))
                goal = Goal(one, function, (piece.name,), move.step, self._groups, keep=True)
                self._goals.append(goal)

    # Neighbours.

    def _neighbours(self, move: Move, group: tuple[Selection, ...]) -> None:
        if move.together:
            names = tuple(name for selection in group for name in selection.names)
            if not all(self._spots[name].planned for name in names):
                raise UnclearError("it is not said where they shall be next to each other")
            if len(names) < 2 or any(selection.number for selection in group):
                raise UnclearError("things next to each other cannot be told apart")
            pairs = [(s, tuple(n for n in names if n not in s.names)) for s in group]
            if len(group) == 2:
                pairs = pairs[:1]
        else:
            others = self._beside(move)
            pairs = [(selection, others) for selection in group]
        for selection, names in pairs:
            if set(names) & set(selection.names):
                raise UnclearError("a thing is to be next to itself")
            goal = Goal(selection, "is_next_to", names, move.step, self._groups)
            self._goals.append(goal)

    def _beside(self, move: Move) -> tuple[str, ...]:
        things = move.beside
        if things is None or things.again or things.vague or len(things.phrases) != 1:
            raise UnclearError("it is not clear what to be next to")
        found = select(things, None, self._scene, self._spots)
        if len(found) != 1 or found[0].number not in {None, 1}:
            raise UnclearError("it is not clear what to be next to")
        return found[0].names
