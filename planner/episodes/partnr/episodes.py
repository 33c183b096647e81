"""Imports PARTNR's episodes, in their own scene or in a house generated to fit.

By default an episode keeps its scene: house `hssd-SCENE`, with the data set's names and poses; it
can be read and linted. With a downloaded HSSD the scene itself is read as a house. With `fit` a
house is generated that has the rooms and furniture that the scene's episodes need, and objects get
new poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.episodes.imported import Imported
from planner.episodes.partnr.episode_file import (
    open_pieces,
    read_partnr_file,
    region_of,
)
from planner.episodes.partnr.evaluation import FieldError
from planner.episodes.partnr.fit import Fitting
from planner.episodes.partnr.importing import Underived
from planner.episodes.partnr.instruction_file import Fault
from planner.episodes.partnr.placement import UnplaceableError
from planner.episodes.partnr.scenes import Scenes, poses_of
from planner.episodes.partnr.task import (
    DATASET,
    PartnrTask,
    TaskObject,
    episode_head,
    finished,
    read_task,
    task_notes,
    task_objects,
)
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.vocabulary import Relation, floor_name


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
