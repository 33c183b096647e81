"""The translator with a sentence encoder, in the paper's two stages (LLAMAR-2.6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from planner.planning.llamar.actions import (
    IDLE,
    INTERACTIONS,
    Action,
    Verb,
    fits,
    fixed_actions,
)
from planner.planning.llamar.instances import class_of, instance_for, numbers_in
from planner.planning.llamar.known import KnownThing, usual_relation
from planner.planning.llamar.plain_translator import PlainTranslator
from planner.planning.llamar.translator import Translation, Translator, literally, relation_in
from planner.world.catalogue import FurnitureClass, ObjectClass, default_catalogue
from planner.world.embedding import Embedder, Vectors, load_encoder
from planner.world.vocabulary import Relation

# Cosine; below it a reply means nothing (LLAMAR-D24).
DEFAULT_SIMILARITY = 0.4
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MAX_CHARACTERS = 500


def spoken_class(name: str) -> str:
    """A class in words: "chest of drawers" for `ChestOfDrawers`."""
    return _HUMP.sub(" ", name).replace("_", " ").lower()


def templates() -> tuple[Action, ...]:
    """The static list of the first stage: actions on nothing, and on each class of thing."""
    catalogue = default_catalogue()
    things = [_class_as_thing(cls) for cls in catalogue.objects.values()]
    things += [_class_as_thing(cls) for cls in catalogue.furniture.values()]
    on_classes = [
        Action(verb, thing.name)
        for verb in (Verb.NAVIGATE_TO, *INTERACTIONS)
        for thing in things
        if fits(verb, thing)
    ]
    return (*on_classes, *fixed_actions())


def _class_as_thing(cls: ObjectClass | FurnitureClass) -> KnownThing:
    name = spoken_class(cls.name)
    if isinstance(cls, ObjectClass):
        puts = Relation.WITHIN if cls.hollow is not None else Relation.ON
        return KnownThing(
            name,
            "",
            cls.name,
            is_movable=True,
            puts=puts if cls.holds_things else None,
            affordances=frozenset(cls.affordances),
        )
    holds = bool(cls.surfaces or cls.interiors)
    return KnownThing(
        name,
        "",
        cls.name,
        is_movable=False,
        opens=bool(cls.joints),
        puts=usual_relation().get(cls.name, Relation.WITHIN) if holds else None,
        affordances=frozenset(cls.affordances),
    )


class EncoderTranslator:
    """Takes the nearest template by cosine, then the nearest known class and its instance."""

    def __init__(self, encoder: Embedder, threshold: float = DEFAULT_SIMILARITY) -> None:
        """Embeds the static list, which takes some seconds.

        Args:
            encoder: of sentences.
            threshold: least cosine of both stages.
        """
        self._encoder, self._threshold = encoder, threshold
        self._templates = templates()
        self._vectors = encoder.embed([action.words for action in self._templates])
        self._classes: dict[str, Vectors] = {}

    @property
    def translator_id(self) -> str:
        """Of its encoder."""
        return f"encoder {self._encoder.embedder_id}"

    def translate(self, text: str, admissible: Sequence[Action]) -> Translation:
        """See `Translator`; the similarity is the cosine, of the worse of both stages."""
        literal = literally(text, admissible)
        if literal is not None:
            return Translation(literal, text, 1.0, understood=True)
        said = self._encoder.embed([text[:_MAX_CHARACTERS]])[0]
        template, similarity = self._nearest(said, admissible)
        if similarity < self._threshold:
            return Translation(IDLE, text, similarity, understood=False)
        if not template.verb.takes_thing:
            return Translation(template, text, similarity, understood=True)
        names = [action.argument for action in admissible if action.verb is template.verb]
        name, alike = self._instance(template.argument, names, text)
        similarity = min(similarity, alike)
        if name is None or similarity < self._threshold:
            return Translation(IDLE, text, similarity, understood=False)
        relation = relation_in(text)[1] if template.verb is Verb.PUT else None
        return Translation(Action(template.verb, name, relation), text, similarity, understood=True)

    def _nearest(self, said: Vectors, admissible: Sequence[Action]) -> tuple[Action, float]:
        """The first stage; templates of the catalogue, and of known classes that it lacks."""
        listed, vectors = list(self._templates), self._vectors
        fixed = {action for action in admissible if not action.verb.takes_thing}
        allowed = np.array([a.verb.takes_thing or a in fixed for a in listed])
        scores = np.where(allowed, vectors @ said, -1.0)
        best = int(scores.argmax())
        action, similarity = listed[best], float(scores[best])
        known = set(listed)
        others = {
            Action(a.verb, spoken_class(class_of(a.argument)))
            for a in admissible
            if a.verb.takes_thing
        } - known
        if others:
            more = sorted(others, key=str)
            cosines = self._class_vectors([other.words for other in more]) @ said
            if float(cosines.max()) > similarity:
                return more[int(cosines.argmax())], float(cosines.max())
        return action, similarity

    def _instance(self, wanted: str, names: Sequence[str], text: str) -> tuple[str | None, float]:
        """The second stage: the known instance of the nearest class."""
        classes = {spoken_class(class_of(name)): class_of(name) for name in names}
        if not classes:
            return None, 0.0
        nearest, alike = wanted, 1.0
        if wanted not in classes:
            listed = list(classes)
            cosines = self._class_vectors(listed) @ self._class_vectors([wanted])[0]
            nearest, alike = listed[int(cosines.argmax())], float(cosines.max())
        own = [name for name in names if class_of(name) == classes[nearest]]
        return instance_for(own, numbers_in(text)), alike

    def _class_vectors(self, words: Iterable[str]) -> Vectors:
        listed = list(words)
        new = [word for word in listed if word not in self._classes]
        if new:
            self._classes.update(zip(new, self._encoder.embed(new), strict=True))
        return np.stack([self._classes[word] for word in listed])


def make_translator(folder: Path | None, threshold: float | None = None) -> Translator:
    """The translator with an encoder's folder; the plain one if there is none.

    Args:
        folder: of a sentence encoder; see `planner.world.embedding.load_encoder`.
        threshold: below which a reply is not understood; None = the translator's own.

    Raises:
        PlannerError: for a folder that is not an encoder, or without the extra that it needs.
    """
    if folder is None:
        return PlainTranslator() if threshold is None else PlainTranslator(threshold)
    return _loaded(folder, DEFAULT_SIMILARITY if threshold is None else threshold)


@lru_cache(maxsize=4)
def _loaded(folder: Path, threshold: float) -> EncoderTranslator:
    # One for all tasks of a process, since reading the folder and the static list take seconds.
    return EncoderTranslator(load_encoder(folder), threshold)
