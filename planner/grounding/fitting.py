"""Which known things fit a description."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from planner.grounding.kinds import is_room_kind, of_kind
from planner.grounding.placing import is_at, leftmost
from planner.grounding.scene import Scene, Thing
from planner.language.description import Anchor, Description, Mention, NounPhrase, OneOf, Place
from planner.language.fitness import affordance_of
from planner.language.words import JOINT_STATES, Pick, Relation, Size, Spot
from planner.world.look import AS_SEEN, Color
from planner.world.openness import is_open
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind

_BY_VOLUME = {Pick.BIGGEST: True, Pick.SMALLEST: False}
_BY_DISTANCE = {Pick.NEAREST: False, Pick.FARTHEST: True}
_SIZES: Mapping[Size, tuple[Callable[[Thing], float], bool]] = {
    Size.BIG: (lambda thing: math.prod(thing.box.size_m), True),
    Size.SMALL: (lambda thing: math.prod(thing.box.size_m), False),
    Size.TALL: (lambda thing: thing.box.size_m[2], True),
    Size.SHORT: (lambda thing: thing.box.size_m[2], False),
}


def has_state(thing: Thing, word: str) -> bool:
    """Whether a thing has a state, by the form's word; what is unknown is as usual."""
    if affordance_of(word) not in thing.affordances:
        return False
    if word in JOINT_STATES:
        return bool(is_open(thing.openness)) is (word == "open")
    table = default_states()
    state, value = table.by_word()[word]
    return thing.states.get(state, table.usual(state)) is value


class Fitting:
    """Descriptions in one scene, in which they hold.

    Args:
        scene: as things were when the instruction was given.
        labelled: names of the things of each label so far.
    """

    def __init__(self, scene: Scene, labelled: Mapping[str, Sequence[str]]) -> None:
        self._scene = scene
        self._labelled = labelled
        self._kinds: dict[tuple[str, bool], list[Thing]] = {}

    def names(self, phrase: NounPhrase | Anchor) -> list[str]:
        """All known things that fit, by name, however many are meant."""
        if isinstance(phrase, Mention):
            return list(self._labelled.get(phrase.label, ()))
        if isinstance(phrase, OneOf):
            return list(dict.fromkeys(n for inner in phrase.one_of for n in self.names(inner)))
        if isinstance(phrase, Description):
            return [thing.name for thing in self.things(phrase)]
        if phrase in (Spot.ME, Spot.HERE):
            speaker = self._scene.speaker
            here = speaker and (speaker.name if phrase is Spot.ME else speaker.room)
            return [here] if here else []
        return []

    def things(self, described: Description) -> list[Thing]:
        """All known things that a description fits, by name."""
        apart = _given_anchor(described)
        in_room = any(
            isinstance(place.anchor, Description) and is_room_kind(place.anchor.kind)
            for place in described.where
        )
        places = [(p.relation, self._anchors(p)) for p in described.where if p is not apart]
        found = [
            thing
            for thing in self._of_kind(described.kind, anywhere=in_room)
            if all(has_state(thing, word) for word in described.states)
            and all(self._is_at(thing, relation, anchors) for relation, anchors in places)
        ]
        found = _looking(found, described.color, lambda thing: thing.color)
        found = _looking(found, described.material, lambda thing: thing.material)
        if described.holding:
            found = [thing for thing in found if self._holds(thing, described)]
        unwanted = {name for phrase in described.but for name in self.names(phrase)}
        for label in described.other_than:
            names = self._labelled.get(label, ())
            # Of several that a label may stand for, it is not known which one differs.
            unwanted |= set(names) if len(names) == 1 else set()
        found = [thing for thing in found if thing.name not in unwanted]
        found = _sized(found, described)
        return self._picked(found, described, apart)

    def _of_kind(self, kind: str, *, anywhere: bool) -> list[Thing]:
        if (kind, anywhere) not in self._kinds:
            self._kinds[kind, anywhere] = of_kind(kind, self._scene, anywhere=anywhere)
        return self._kinds[kind, anywhere]

    def _is_at(self, thing: Thing, relation: Relation, anchors: Sequence[Thing]) -> bool:
        return any(is_at(self._scene, thing, relation, anchor) for anchor in anchors)

    def _holds(self, thing: Thing, described: Description) -> bool:
        return all(
            any(self._is_at(self._scene.things[name], Relation.AT, [thing]) for name in names)
            for names in map(self.names, described.holding)
        )

    def _picked(
        self, found: list[Thing], described: Description, apart: Place | None
    ) -> list[Thing]:
        pick, count = described.pick, described.count
        if pick is None or not isinstance(count, int) or len(found) <= count:
            return found
        if pick in _BY_VOLUME:
            key = _SIZES[Size.BIG][0]
            ranked = sorted(found, key=key, reverse=_BY_VOLUME[pick])
        elif pick in _BY_DISTANCE:
            near = self._viewpoint() if apart is None else None
            near = near or next(iter(self._anchors(apart)), None)
            if near is None:
                return found
            x, y, _ = near.position_m
            ranked = sorted(
                found,
                key=lambda t: math.hypot(t.position_m[0] - x, t.position_m[1] - y),
                reverse=_BY_DISTANCE[pick],
            )
        else:
            ranked = leftmost(found, self._viewpoint())
            ranked = ranked if pick is Pick.LEFTMOST else ranked[::-1]
        return ranked[:count]

    def _anchors(self, place: Place | None) -> list[Thing]:
        return [] if place is None else [self._scene.things[n] for n in self.names(place.anchor)]

    def _viewpoint(self) -> Thing | None:
        agents = self._scene.of_kind(EntityKind.AGENT)
        return self._scene.speaker or next(iter(agents), None)


def _given_anchor(described: Description) -> Place | None:
    """What "the lamp nearest to the bed" is near to."""
    if described.pick not in _BY_DISTANCE:
        return None
    return next((p for p in described.where if p.relation is Relation.NEXT_TO), None)


def _looking(
    found: list[Thing], wanted: str | None, look: Callable[[Thing], str | None]
) -> list[Thing]:
    """Those that look so; where nobody knows of any, those that may."""
    if wanted is None:
        return found
    certain = [thing for thing in found if look(thing) == wanted]
    if not certain and isinstance(wanted, Color) and wanted in AS_SEEN:
        certain = [thing for thing in found if look(thing) == AS_SEEN[wanted]]
    return certain or [thing for thing in found if look(thing) is None]


def _sized(found: list[Thing], described: Description) -> list[Thing]:
    """The big ones are those above the middle; "the two big ones" are the two biggest."""
    if described.size is None or len(found) < 2:
        return found
    measure, big = _SIZES[described.size]
    if described.definite and isinstance(described.count, int):
        ranked = sorted(found, key=measure, reverse=big)[: described.count]
    else:
        middle = median(measure(thing) for thing in found)
        ranked = [t for t in found if (measure(t) >= middle if big else measure(t) <= middle)]
    return [thing for thing in found if thing in ranked]
