"""Imports PARTNR's episodes, in their own scene or in a house generated to fit."""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from papers.partnr.episodes.episode_file import (
    PartnrEpisode,
    PartnrNames,
    open_pieces,
    read_partnr_file,
    region_of,
    split_name,
)
from papers.partnr.episodes.task import (
    DATASET,
    PartnrTask,
    TaskObject,
    episode_head,
    evaluation_in,
    finished,
    read_task,
    room_class,
    task_notes,
    task_objects,
)
from planner.episodes.evaluation_text import FieldError
from planner.episodes.importing.foreign import ForeignScene, ForeignThing, place_things
from planner.episodes.importing.importer import (
    Fault,
    Imported,
    ImporterPart,
    Underived,
    UnplaceableError,
)
from planner.episodes.importing.simulator_words import scene_seed
from planner.episodes.lint.ability import out_of_reach
from planner.episodes.start_state import start_entities
from planner.evaluation.entity_checks import entity_findings, facts_of_episode
from planner.evaluation.language import read_evaluation
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import check_episode, unreachable_furniture
from planner.world.object_checks import reach_of
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name
from sim_bridge.habitat.hssd.dataset import HssdDataset
from sim_bridge.habitat.hssd.scene import HssdScene, read_scene
from sim_bridge.habitat.hssd.urdf import Movables

# PARTNR's episodes in houses generated to fit: one per scene, or one per episode.


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


# PARTNR's episodes in their own scenes, if HSSD has been downloaded.
#
# The scene gives the names of handles, so no metadata are needed; objects keep the data set's
# poses.

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
        self, item: TaskObject, receptacle: str, at: tuple[float, float, float], scene: HssdScene
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


def import_partnr_episodes(
    paths: Sequence[Path],
    seed: int,
    *,
    fit: bool = False,
    metadata: Path | None = None,
    corrections: Path | None = None,
    scenes: Path | None = None,
    objects: Sequence[Path] = (),
) -> Imported:
    """Imports every episode that can be represented.

    Args:
        paths: `*.json.gz` or `*.json` in the published format.
        seed: determines generated houses and poses.
        fit: whether to generate houses instead of using the scene.
        metadata: folder of PARTNR's metadata files, with the names of handles.
        corrections: folder of annotators' texts (`episode_ID.py`) that replace evaluations.
        scenes: a downloaded HSSD, to be used as houses.
        objects: folders of its movable models, for their sizes.

    Raises:
        FileError: if a file has another format, or two share a name.
        PlannerError: if HSSD is missing, or requested together with `fit`.
    """
    if fit and scenes is not None:
        raise PlannerError("either --fit or --scenes: a house made to fit, or the scene itself")
    catalogue = default_catalogue()
    own = Scenes(scenes, objects, catalogue) if scenes is not None else None
    read: dict[str, int] = {}
    tasks: list[PartnrTask] = []
    left_out: list[Fault] = []
    for path in paths:
        if path.name in read:
            raise FileError(path, "", "a file of this name was given already")
        file = read_partnr_file(path)
        read[path.name] = len(file.episodes) + len(file.faults)
        left_out += file.faults
        for episode in file.episodes:
            try:
                tasks.append(
                    read_task(path, file.sha256, episode, metadata, corrections, catalogue, own)
                )
            except FieldError as error:
                left_out.append(Fault(path.name, episode.task, str(error)))
            except FileError as error:
                left_out.append(Fault(path.name, episode.task, str(error)))
    made = Fitting(seed, catalogue) if fit else None
    episodes: list[Episode] = []
    houses = made.houses(tasks) if made is not None else {}
    for task in tasks:
        try:
            if own is not None:
                episodes.append(own.episode(task))
            elif made is not None:
                episodes.append(made.episode(task))
            else:
                episodes.append(_in_scene(task, catalogue))
        except (UnplaceableError, FieldError) as error:
            left_out.append(task.fault(str(error)))
        except PlannerError as error:
            reason = (
                f"{error.field}: {error.reason}" if isinstance(error, FileError) else str(error)
            )
            left_out.append(task.fault(reason))
    goalless = tuple(
        Underived(episode.episode_id, "the file has no propositions for it")
        for episode in episodes
        if episode.evaluation is None
    )
    houses.update(own.houses() if own is not None else {})
    used = {episode.house for episode in episodes}
    kept = {name: house for name, house in houses.items() if name in used}
    return Imported(DATASET, read, tuple(episodes), tuple(left_out), kept, goalless)


# In the episode's own scene.


def _in_scene(task: PartnrTask, catalogue: Catalogue) -> Episode:
    """The episode with the data set's names and poses; sizes are the catalogue's."""
    objects, notes = task_objects(task, catalogue)
    poses = poses_of(task.episode)
    placed: list[dict[str, object]] = []
    for item in objects:
        pose = poses.get(item.handle)
        if pose is None:
            raise FieldError("rigid_objs", f"has no pose of {item.name}")
        size_m = catalogue.objects[item.class_name].size_m
        x, y, z, yaw = pose
        placed.append(
            {
                "name": item.name,
                "class_name": item.class_name,
                "size_m": size_m,
                "pose": (x, y, z - size_m[2] / 2, yaw),
                "parent": _parent_in_scene(item, task),
                "relation": Relation.ON,
                "part": "unknown",
                "states": item.states,
            }
        )
    notes += [*task_notes(task), "sizes are the catalogue's; on or within is the scene's to tell"]
    open_now = [task.names.furniture.get(h, h) for h in open_pieces(task.episode.ao_states)]
    if open_now:
        notes.append(f"{len(open_now)} pieces stand open (ao_states)")
    document = episode_head(task, f"hssd-{task.episode.scene_id}", notes, fitted=False)
    return finished(task, {**document, "objects": placed}, task.evaluation or None)


def _parent_in_scene(item: TaskObject, task: PartnrTask) -> str:
    if item.receptacle == "floor":
        region = region_of(item.handle, task.episode)
        return floor_name(region) if region is not None else "floor"
    return task.names.furniture.get(item.receptacle, item.receptacle)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fit", action="store_true", help="make houses to fit instead of asking for the scene"
    )
    parser.add_argument(
        "--metadata", type=Path, metavar="DIR", help="PARTNR's metadata: what handles stand for"
    )
    parser.add_argument(
        "--corrections", type=Path, metavar="DIR", help="annotators' texts, episode_ID.py"
    )
    parser.add_argument(
        "--scenes", type=Path, metavar="DIR", help="a downloaded HSSD: the scenes themselves"
    )
    parser.add_argument(
        "--objects",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="movable models' configurations, for their sizes (repeatable)",
    )


def _read(args: argparse.Namespace) -> Imported:
    return import_partnr_episodes(
        args.files,
        args.seed,
        fit=args.fit,
        metadata=args.metadata,
        corrections=args.corrections,
        scenes=args.scenes,
        objects=args.objects,
    )


IMPORTER = ImporterPart(
    summary="PARTNR's episode files (*.json.gz), in their scene or with --fit",
    read=_read,
    add_arguments=_add_arguments,
)
