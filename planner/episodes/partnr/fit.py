"""PARTNR's episodes in houses generated to fit: one per scene, or one per episode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from planner.episodes.foreign.scene import ForeignScene, ForeignThing, place_things
from planner.episodes.partnr.episode_file import open_pieces, region_of, split_name
from planner.episodes.partnr.evaluation import FieldError
from planner.episodes.partnr.houses import scene_seed
from planner.episodes.partnr.placement import UnplaceableError
from planner.episodes.partnr.task import (
    PartnrTask,
    TaskObject,
    episode_head,
    evaluation_in,
    finished,
    room_class,
    task_notes,
    task_objects,
)
from planner.evaluation.entity_checks import entity_findings, facts_of_episode
from planner.evaluation.language import read_evaluation
from planner.world.catalogue import Catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import check_episode
from planner.world.states import default_states
from planner.world.vocabulary import floor_name


class Fitting:
    """The houses of an import, and the episodes in them."""

    def __init__(self, seed: int, catalogue: Catalogue) -> None:
        self._seed = seed
        self._catalogue = catalogue
        self._houses: dict[str, tuple[House, ForeignScene]] = {}
        self._reasons: dict[str, str] = {}

    def houses(self, tasks: Sequence[PartnrTask]) -> dict[str, House]:
        """One house per scene; if none has all that its episodes need, one per episode."""
        scenes: dict[str, list[PartnrTask]] = defaultdict(list)
        for task in tasks:
            scenes[task.episode.scene_id].append(task)
        for scene_id, members in sorted(scenes.items()):
            fitting: list[PartnrTask] = []
            whole = ForeignScene()
            for task in members:
                try:
                    self._need(task, ForeignScene())
                    self._need(task, whole)
                    fitting.append(task)
                except (UnplaceableError, FieldError) as error:
                    self._reasons[task.name] = str(error)
            if not fitting:
                continue
            if self._build(f"partnr-{scene_id}", fitting, whole):
                continue
            for task in fitting:
                alone = ForeignScene()
                self._need(task, alone)
                self._build(f"partnr-{scene_id}-{task.episode.task}", [task], alone)
        return {house.name: house for house, _ in self._houses.values()}

    def _build(self, name: str, tasks: Sequence[PartnrTask], scene: ForeignScene) -> bool:
        try:
            made = scene.house(name, scene_seed(self._seed, name), self._catalogue)
        except PlannerError as error:
            self._reasons.update((task.name, str(error)) for task in tasks)
            return False
        for task in tasks:
            self._houses[task.name] = (made.house, scene)
            self._reasons.pop(task.name, None)
        return True

    def _need(self, task: PartnrTask, scene: ForeignScene) -> None:
        """Adds what an episode needs to a scene."""
        for item in task_objects(task, self._catalogue)[0]:
            if item.receptacle == "floor":
                region = region_of(item.handle, task.episode)
                if region is not None:
                    self._room(region, scene)
            elif (piece := task.names.furniture.get(item.receptacle)) is not None:
                self._piece(piece, task, scene)
            elif item.name in task.words:
                reason = f"what {item.name} is on has no name; see --metadata"
                raise FieldError("name_to_receptacle", reason)
        furniture = set(task.names.furniture.values())
        objects = set(task.names.objects.values())
        for word in sorted(task.words):
            if word in furniture:
                self._piece(word, task, scene)
            elif word not in objects:
                self._room(word, scene)

    def _room(self, region: str, scene: ForeignScene) -> str:
        class_name = room_class(region, self._catalogue)
        if class_name is None:
            raise UnplaceableError(f"region {region!r} has no known class")
        return scene.add_room(region, class_name)

    def _piece(self, name: str, task: PartnrTask, scene: ForeignScene) -> None:
        split = split_name(name)
        class_name = self._catalogue.furniture_name(split[0]) if split is not None else None
        if class_name is None:
            raise UnplaceableError(f"furniture {name!r} has no known class")
        region = task.names.room_of.get(name)
        if region is None:
            raise UnplaceableError(f"nothing says which room {name!r} is in; see --metadata")
        scene.add_piece(name, class_name, self._room(region, scene))

    def episode(self, task: PartnrTask) -> Episode:
        """An episode in its house.

        Raises:
            UnplaceableError: if it has no house, or something does not fit.
            FileError: if the evaluation is invalid there.
        """
        if task.name not in self._houses:
            raise UnplaceableError(self._reasons.get(task.name, "it has no house"))
        house, scene = self._houses[task.name]
        objects, notes = task_objects(task, self._catalogue)
        things, homeless = self._things(task, objects, scene)
        own_seed = scene_seed(self._seed, task.file, task.episode.task)
        rng = np.random.default_rng(own_seed)
        placed, crowded = place_things(house, things, rng, self._catalogue)
        names = {name: item.name for name, item in placed.items()} | scene.rooms
        evaluation = evaluation_in(task, names)
        changes, unfit = furniture_changes(task, house)
        notes += [*task_notes(task), *homeless, *crowded, *unfit]
        document = {
            **episode_head(task, house.name, notes, fitted=True),
            "seed": own_seed,
            "objects": tuple(placed.values()),
            "furniture": changes,
        }
        episode = finished(task, document, evaluation)
        self._check(task, episode, house)
        return episode

    def _things(
        self, task: PartnrTask, objects: Sequence[TaskObject], scene: ForeignScene
    ) -> tuple[list[ForeignThing], list[str]]:
        things: list[ForeignThing] = []
        notes: list[str] = []
        for item in objects:
            needed = item.name in task.words
            parent = task.names.furniture.get(item.receptacle)
            if item.receptacle == "floor":
                region = region_of(item.handle, task.episode)
                parent = floor_name(scene.rooms[region]) if region is not None else None
            if parent is None:
                if needed:
                    raise UnplaceableError(f"nothing says where {item.name} is; see --metadata")
                notes.append(f"nothing says where {item.name} is")
                continue
            things.append(
                ForeignThing(item.name, item.class_name, parent, None, item.states, needed)
            )
        return things, notes

    def _check(self, task: PartnrTask, episode: Episode, house: House) -> None:
        for finding in check_episode(episode, house, self._catalogue):
            raise FileError(task.file, finding.field, finding.reason)
        if episode.evaluation is None:
            return
        facts = facts_of_episode(episode, house, self._catalogue)
        evaluation = read_evaluation(episode.evaluation, task.file)
        for field, reason in entity_findings(evaluation, facts):
            raise FileError(task.file, f"evaluation.{field}", reason)


def furniture_changes(task: PartnrTask, house: House) -> tuple[dict[str, object], list[str]]:
    """How the house's furniture differs at the start, and which differences are impossible."""
    changes: dict[str, dict[str, object]] = defaultdict(dict)
    notes: list[str] = []
    for handle in open_pieces(task.episode.ao_states):
        name = task.names.furniture.get(handle, "")
        piece = house.furniture_by_name.get(name)
        if piece is not None and piece.joints:
            changes[name]["open"] = True
        elif piece is not None:
            notes.append(f"{name} stands open, which it cannot do here")
    states: dict[str, dict[str, bool]] = defaultdict(dict)
    for word, values in sorted(task.episode.object_states.items()):
        for handle, value in values.items():
            name = task.names.furniture.get(handle, "")
            piece = house.furniture_by_name.get(name)
            if piece is None or word not in default_states().predicates:
                continue
            state, affirmed = default_states().predicates[word]
            if default_states().affordance_of[state] in piece.affordances:
                states[name][state] = value == affirmed
    for name, found in states.items():
        changes[name]["states"] = found
    return dict(changes), notes
