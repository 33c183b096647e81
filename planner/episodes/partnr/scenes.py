"""PARTNR's episodes in their own scenes, if HSSD has been downloaded.

The scene gives the names of handles, so no metadata are needed; objects keep the data set's poses.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from planner.episodes.lint.reach import out_of_reach
from planner.episodes.partnr.episode_file import PartnrEpisode, PartnrNames
from planner.episodes.partnr.evaluation import FieldError
from planner.episodes.partnr.fit import furniture_changes
from planner.episodes.partnr.task import (
    PartnrTask,
    TaskObject,
    episode_head,
    finished,
    task_notes,
    task_objects,
)
from planner.episodes.start_state import start_entities
from planner.evaluation.entity_checks import entity_findings, facts_of_episode
from planner.evaluation.language import read_evaluation
from planner.houses.hssd.dataset import HssdDataset
from planner.houses.hssd.movables import Movables
from planner.houses.hssd.scene import HssdScene, read_scene
from planner.world.catalogue import Catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.house import House
from planner.world.house_checks import unreachable_furniture
from planner.world.reach import reach_of
from planner.world.vocabulary import Relation, floor_name

_MAX_DISTANCE_M = 10_000.0
Pose = tuple[float, float, float, float]


class Scenes:
    """The scenes that episodes name, each read once."""

    def __init__(self, folder: Path, objects: Sequence[Path], catalogue: Catalogue) -> None:
        """Opens a downloaded HSSD.

        Args:
            folder: of the data set, or its configuration.
            objects: folders of the movable models' configurations; for models in none of them,
                sizes are the catalogue's.
            catalogue: of the classes.

        Raises:
            PlannerError: if the data set is missing; says what to download.
        """
        self._dataset = HssdDataset(folder)
        self._movables = Movables(objects)
        self._catalogue = catalogue
        self._scenes: dict[str, HssdScene | FileError] = {}

    def scene(self, scene_id: str) -> HssdScene:
        """A scene.

        Raises:
            FileError: if it is missing or invalid; the same error each time.
        """
        found = self._scenes.get(scene_id)
        if found is None:
            try:
                found = read_scene(self._dataset, scene_id, self._catalogue)
            except FileError as error:
                found = error
            self._scenes[scene_id] = found
        if isinstance(found, FileError):
            raise FileError(found.file, found.field, found.reason)
        return found

    def houses(self) -> dict[str, House]:
        """All houses read so far, by name."""
        read = [found.house for found in self._scenes.values() if isinstance(found, HssdScene)]
        return {house.name: house for house in read}

    def name(self, names: PartnrNames, episode: PartnrEpisode) -> None:
        """Adds the names of an episode's handles in its scene.

        Raises:
            FileError: if the scene is missing or invalid.
        """
        scene = self.scene(episode.scene_id)
        names.furniture = dict(scene.furniture)
        names.rooms = {**scene.regions.by_id, **scene.regions.by_name}
        names.room_of = {piece.name: piece.room for piece in scene.house.furniture}
        counts = Counter(name.rpartition("_")[0] for name in names.objects.values())
        for handle in episode.name_to_receptacle:
            word = scene.object_classes.get(handle.rpartition("_:")[0])
            if handle not in names.objects and word is not None:
                names.objects[handle] = f"{word}_{counts[word]}"
                counts[word] += 1

    def episode(self, task: PartnrTask) -> Episode:
        """An episode in its scene.

        Raises:
            FieldError: if something that it needs has no place.
            FileError: if the scene is invalid, or the evaluation is invalid there.
        """
        scene = self.scene(task.episode.scene_id)
        objects, notes = task_objects(task, self._catalogue)
        poses = poses_of(task.episode)
        placed: list[dict[str, object]] = []
        for item in objects:
            made = self._placed(item, task, scene, poses)
            if isinstance(made, str):
                if item.name in task.words:
                    raise FieldError("name_to_receptacle", made)
                notes.append(made)
                continue
            placed.append(made)
        changes, unfit = furniture_changes(task, scene.house)
        head = episode_head(
            task,
            scene.house.name,
            [*notes, *task_notes(task), *unfit],
            fitted=False,
            needs_scene=False,
        )
        document = {**head, "objects": placed, "furniture": changes}
        episode = finished(task, document, task.evaluation or None)
        if episode.evaluation is not None:
            facts = facts_of_episode(episode, scene.house, self._catalogue)
            evaluation = read_evaluation(episode.evaluation, task.file)
            for field, reason in entity_findings(evaluation, facts):
                raise FileError(task.file, f"evaluation.{field}", reason)
            entities = start_entities(episode, scene.house, self._catalogue)
            unreachable = unreachable_furniture(scene.house, reach_of(scene.house))
            for field, reason in out_of_reach(evaluation, entities, unreachable):
                raise FileError(task.file, f"evaluation.{field}", reason)
        return episode

    def _placed(
        self, item: TaskObject, task: PartnrTask, scene: HssdScene, poses: Mapping[str, Pose]
    ) -> dict[str, object] | str:
        """An object in our format, or why it has no place."""
        if item.handle not in poses:
            return f"rigid_objs has no pose of {item.name}"
        size = self._movables.size_of(item.handle.rpartition("_:")[0])
        size = size or self._catalogue.objects[item.class_name].size_m
        x, y, z, yaw = poses[item.handle]
        z -= scene.floor_m + size[2] / 2
        rest = self._rest(item, task.episode.name_to_receptacle[item.handle], (x, y, z), scene)
        if isinstance(rest, str):
            return rest
        parent, relation, part = rest
        return {
            "name": item.name,
            "class_name": item.class_name,
            "size_m": size,
            "pose": (x, y, z, yaw),
            "parent": parent,
            "relation": relation,
            "part": part,
            "states": item.states,
        }

    def _rest(
        self,
        item: TaskObject,
        receptacle: str,
        at: tuple[float, float, float],
        scene: HssdScene,
    ) -> tuple[str, Relation, str] | str:
        if item.receptacle == "floor":
            room = scene.house.room_at(at[0], at[1])
            if room is None:
                return f"{item.name} lies in no room"
            return floor_name(room), Relation.ON, "floor"
        if receptacle in scene.parts:
            return scene.parts[receptacle]
        # Older files name only the furniture: use its receptacle directly below the object.
        known = scene.house.furniture_by_name.get(scene.furniture.get(item.receptacle, ""))
        if known is None:
            return f"{item.name} is on {item.receptacle}, which is not in our house"
        tops = [(abs(part.center[2] - at[2]), part.name) for part in known.surfaces]
        if tops:
            return known.name, Relation.ON, min(tops)[1]
        if known.interiors:
            return known.name, Relation.WITHIN, known.interiors[0].name
        return f"{known.name} has no place for {item.name}"


def poses_of(episode: PartnrEpisode) -> dict[str, Pose]:
    """Pose of each object's centre in our axes, by handle: the k-th of a model is `_:000k`.

    In Habitat y is up, here z: (x, y, z) there is (x, -z, y) here.

    Raises:
        FieldError: if a pose is impossible in a house.
    """
    counts: dict[str, int] = defaultdict(int)
    found: dict[str, Pose] = {}
    for config, matrix in episode.rigid_objs:
        model = config.split("/")[-1].split(".")[0]
        handle = f"{model}_:{counts[model]:04d}"
        counts[model] += 1
        x, y, z = matrix[0][3], matrix[1][3], matrix[2][3]
        if max(abs(x), abs(y), abs(z)) > _MAX_DISTANCE_M:
            raise FieldError("rigid_objs", f"{config} is not a place in a house")
        yaw = float(np.arctan2(matrix[0][2], matrix[0][0]))
        found[handle] = (x, -z, y, yaw)
    return found
