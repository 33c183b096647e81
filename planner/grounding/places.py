"""Propositions about where things shall be."""

from __future__ import annotations

from collections.abc import Sequence

from planner.grounding.binding import Binding, Bindings
from planner.grounding.drafts import Draft, Drafts, Hold
from planner.grounding.records import Alternative, Missing, Question, Unbound, Why, words_of
from planner.grounding.scene import Scene, Thing, classes_of
from planner.grounding.spots import (
    Target,
    elsewhere_for,
    likely_pieces,
    start_of,
    too_small_for,
    usual_for,
)
from planner.language.goal_form import Anchor, Description, NounPhrase, Place, PlaceOf
from planner.language.lexicon import Amount, Relation, Spot
from planner.language.reading import AskReason
from planner.world.catalogue import word_key
from planner.world.vocabulary import EntityKind

Things = Sequence[tuple[NounPhrase, Binding]]
# PARTNR has no predicates for these.
UNMEASURED = frozenset(
    {Relation.UNDER, Relation.BEHIND, Relation.IN_FRONT_OF, Relation.LEFT_OF, Relation.RIGHT_OF}
)
_LIKE_ON_TOP = frozenset({"sink", "bathtub"})


class Places:
    """Adds propositions for the places of one goal."""

    def __init__(self, scene: Scene, bindings: Bindings, drafts: Drafts) -> None:
        self._scene, self._bindings, self._drafts = scene, bindings, drafts

    def put(
        self,
        things: Things,
        place: Place,
        request: int,
        step: int | None,
        path: str,
        *,
        meant: Sequence[NounPhrase] = (),
        hold: Hold = Hold.ACHIEVED,
    ) -> None:
        """Things shall be at a place, or never be there; `meant` describes them."""
        anchor = place.anchor
        if isinstance(anchor, Spot) and anchor not in (Spot.ME, Spot.HERE):
            self._at_spot(things, anchor, request, step, hold)
            return
        if isinstance(anchor, PlaceOf):
            self._at_former(things, anchor, request, step, path, hold)
            return
        binding = self._anchor(anchor, request, path, things, meant, place.relation)
        target = None if binding is None else self._target(place, binding, request)
        if binding is None or target is None:
            return
        predicate, second = target
        if isinstance(anchor, Description) and anchor.each and anchor.count is not Amount.ALL:
            self._each_at_its_own(things, target, request, step, hold)
        elif not binding.is_choice and len(second) > 1 and predicate != "is_on_floor":
            self._some_at_each(things, target, request, step, hold)
        else:
            for _, thing in things:
                for names, number in thing.parts:
                    lists = (names, second) if second else (names,)
                    keys = (thing.tie, binding.tie)
                    self._drafts.add(
                        Draft(request, step, predicate, lists, number, keys, hold=hold)
                    )

    def anchors(self, place: Place, request: int, path: str) -> tuple[str, ...]:
        """The names that a place may be at; empty if none is known or it must be asked which."""
        if isinstance(place.anchor, PlaceOf) or place.anchor in (
            Spot.BACK,
            Spot.USUAL,
            Spot.ELSEWHERE,
        ):
            self._note(request, Why.UNSAYABLE, "Nothing measures whether an agent is there.")
            return ()
        binding = self._anchor(place.anchor, request, path, (), ())
        return () if binding is None else binding.names

    def _anchor(
        self,
        anchor: Anchor,
        request: int,
        path: str,
        things: Things,
        meant: Sequence[NounPhrase],
        relation: Relation | None = None,
    ) -> Binding | None:
        if isinstance(anchor, Spot):
            return self._speakers_room(request)
        unable: dict[str, str] = {}
        if isinstance(anchor, Description) and anchor.elsewhere:
            here = {
                holder.name
                for _, binding in things
                for name in binding.names
                for holder in self._scene.holders(name)
            } | {self._scene.things[name].room or "" for _, b in things for name in b.names}
            unable = {name: f"{name} is where it is." for name in here}
        kinds = [phrase.kind for phrase in meant if isinstance(phrase, Description)]
        if relation is Relation.IN and isinstance(anchor, Description):
            small = too_small_for(self._scene, kinds, self._bindings.fitting.names(anchor))
            unable |= {name: f"It does not fit into {name}." for name in small}
        likely = likely_pieces(self._scene, kinds)
        return self._bindings.bind(anchor, path, request, able=unable, likely=likely)

    def _speakers_room(self, request: int) -> Binding | None:
        """The room of the person; where nobody is seen, it is asked."""
        speaker = self._scene.speaker
        if speaker is not None and speaker.room is not None:
            return Binding("speaker", (speaker.room,), 1)
        rooms = self._scene.of_kind(EntityKind.ROOM)
        names, choice = self._bindings.chosen("speaker", [room.name for room in rooms])
        if choice is not None or len(names) == 1:
            return Binding("speaker", tuple(names), 1)
        if self._bindings.settle:
            self._note(request, Why.UNSAYABLE, "Nobody knows where the speaker is.")
            return None
        options = tuple(
            Alternative(f"in the {word_key(room.class_name)}", (room.name,), (room.name,))
            for room in rooms
        )
        self._bindings.open.questions["speaker", request] = Question(
            "speaker", request, "are you", AskReason.WHERE, options
        )
        return None

    def _target(self, place: Place, binding: Binding, request: int) -> Target | None:
        """The predicate, and which of the anchors it can be about."""
        anchors = [self._scene.things[name] for name in binding.names]
        if all(anchor.kind is EntityKind.ROOM for anchor in anchors):
            if place.relation in (Relation.IN, Relation.AT, Relation.ON_TOP):
                return "is_in_room", binding.names
        elif place.relation is Relation.NEXT_TO:
            return "is_next_to", binding.names
        elif place.relation in (Relation.ON_TOP, Relation.IN, Relation.AT):
            if all(anchor.is_floor for anchor in anchors) and self._is_any_floor(anchors):
                return "is_on_floor", ()
            found = _resting(place.relation, anchors)
            if found is None:
                self._note(request, Why.UNFIT, f"Nothing can be put there: {anchors[0].name}.")
            return found
        words = place.relation.replace("_", " ")
        self._note(request, Why.UNSAYABLE, f"Nothing measures whether something is {words} it.")
        return None

    def _is_any_floor(self, anchors: Sequence[Thing]) -> bool:
        return len(anchors) == len(self._scene.of_kind(EntityKind.ROOM))

    def _each_at_its_own(
        self, things: Things, target: Target, request: int, step: int | None, hold: Hold
    ) -> None:
        predicate, second = target
        members = []
        for _, thing in things:
            for names, number in thing.parts:
                for _ in range(number):
                    draft = Draft(request, step, predicate, (names, second), hold=hold)
                    members.append((self._drafts.add(draft), 1))
        if len(members) > 1 and hold is not Hold.NEVER:
            self._drafts.different.append(tuple(members))

    def _some_at_each(
        self, things: Things, target: Target, request: int, step: int | None, hold: Hold
    ) -> None:
        """As many as are meant at every one of the places; different ones at each."""
        predicate, second = target
        for phrase, thing in things:
            members = []
            never = hold is Hold.NEVER
            for anchor in second if never else self._as_many_as(phrase, thing, second, request):
                for names, number in thing.parts:
                    lists = (names, (anchor,))
                    draft = Draft(request, step, predicate, lists, number, hold=hold)
                    members.append((self._drafts.add(draft), 0))
            if thing.is_choice and len(members) > 1 and hold is not Hold.NEVER:
                self._drafts.different.append(tuple(members))

    def _as_many_as(
        self, phrase: NounPhrase, thing: Binding, anchors: Sequence[str], request: int
    ) -> Sequence[str]:
        """The places for which there are different things; more things are looked for."""
        if not isinstance(phrase, Description) or phrase.definite or phrase.count is Amount.ALL:
            return anchors
        lacking = thing.number * len(anchors) - len(thing.names)
        if lacking <= 0:
            return anchors
        if not self._bindings.is_settled(thing.key):
            words, where = words_of(phrase), self._bindings.places_of(phrase)
            self._bindings.open.missing[thing.key, request] = Missing(
                thing.key, request, words, classes_of(phrase.kind), where, lacking
            )
            return ()
        text = f"There are too few for {len(anchors)} places: only {', '.join(thing.names)}."
        self._note(request, Why.TOO_FEW, text)
        return anchors[: len(thing.names) // thing.number]

    def _at_spot(
        self, things: Things, spot: Spot, request: int, step: int | None, hold: Hold
    ) -> None:
        for phrase, binding in things:
            for names, number in binding.parts:
                thing = self._scene.things[names[0]]
                target = self._spot(spot, thing, phrase, step)
                if target is None:
                    self._note(request, Why.UNSAYABLE, f"Nobody knows where {names[0]} belongs.")
                    continue
                predicate, second = target
                second = tuple(name for name in second if name not in names)
                self._drafts.add(
                    Draft(
                        request,
                        step,
                        predicate,
                        (names, second),
                        number,
                        (binding.tie, ""),
                        hold=hold,
                    )
                )

    def _spot(
        self, spot: Spot, thing: Thing, phrase: NounPhrase, step: int | None
    ) -> Target | None:
        if spot is Spot.ELSEWHERE:
            return elsewhere_for(self._scene, thing, self._said_room(phrase))
        moved = any(
            thing.name in draft.lists[0]
            and draft.step is not None
            and step is not None
            and draft.step < step
            for draft in self._drafts.items
        )
        if spot is Spot.BACK and moved:
            return start_of(self._scene, thing)
        # What was not moved before has been away already; it goes where it belongs.
        return usual_for(self._scene, thing) or start_of(self._scene, thing)

    def _said_room(self, phrase: NounPhrase) -> str | None:
        """The room that things shall leave, where a room is all that is said."""
        if not isinstance(phrase, Description) or not phrase.where:
            return None
        names = {n for place in phrase.where for n in self._bindings.fitting.names(place.anchor)}
        only = [self._scene.things[name] for name in names]
        rooms = [thing.name for thing in only if thing.kind is EntityKind.ROOM]
        return rooms[0] if len(rooms) == len(only) == 1 else None

    def _at_former(
        self, things: Things, anchor: PlaceOf, request: int, step: int | None, path: str, hold: Hold
    ) -> None:
        former = self._bindings.bind(anchor.place_of, path, request)
        if former is None:
            return
        target = _start_of_any(self._scene, former)
        if target is None:
            self._note(request, Why.UNSAYABLE, f"Nobody knows {words_of(anchor)}.")
            return
        predicate, second = target
        for _, binding in things:
            for names, number in binding.parts:
                draft = Draft(request, step, predicate, (names, second), number, hold=hold)
                self._drafts.add(draft)

    def _note(self, request: int, why: Why, text: str) -> None:
        self._bindings.open.unbound.append(Unbound(request, "", why, text))


def _start_of_any(scene: Scene, former: Binding) -> Target | None:
    """Where a thing was; wherever one of several was, if any of them may be meant."""
    starts = [start_of(scene, thing) for thing in map(scene.things.__getitem__, former.names)]
    first = starts[0]
    if first is None or not former.is_choice:
        return first
    alike = [start[1] for start in starts if start is not None and start[0] == first[0]]
    return first[0], tuple(dict.fromkeys(name for names in alike for name in names))


def _resting(relation: Relation, anchors: Sequence[Thing]) -> Target | None:
    """On or in, as the preposition says and as far as the furniture allows it."""
    hollow = tuple(anchor.name for anchor in anchors if anchor.hollow)
    top = tuple(anchor.name for anchor in anchors if anchor.surface)
    if relation is Relation.AT:
        # What has a top is used for its top, except basins.
        basins = all(anchor.class_name in _LIKE_ON_TOP for anchor in anchors)
        relation = Relation.IN if hollow and (basins or not top) else Relation.ON_TOP
    if relation is Relation.IN:
        return ("is_inside", hollow) if hollow else ("is_on_top", top) if top else None
    return ("is_on_top", top) if top else None
