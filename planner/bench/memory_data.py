"""EPM's data set, from rollouts of the expert on a simulator with pictures (EPM-2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from planner.app.embedded_run import run_embedded
from planner.app.part_flags import DEFAULT
from planner.app.run_options import RunOptions
from planner.evaluation.language import read_evaluation
from planner.memory.entity_list import EntityList, Provenance
from planner.memory.memory import Memory
from planner.memory.operations import CoordinateFrame, to_pixel, write
from planner.memory.updater import Operation
from planner.memory.vlm import model_image, update_prompt, view_points
from planner.planning.expert.expert import Expert
from planner.planning.session import Event
from planner.training.frames import Manifest, missing_shards, write_manifest
from planner.training.vision_tuning import (
    LabelRules,
    Sample,
    kind_of,
    labels,
    phantom,
    write_balanced,
    write_samples,
)
from planner.world.belief import OperationKind, Source
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode
from planner.world.observation import CameraFrame, Observation
from planner.world.skill import SkillCall
from planner.world.states import default_states
from sim_bridge.backend import Backend, make_backend
from sim_bridge.embedded.kinematic import KinematicBackend

AGENT, CAMERA = "agent_0", "hand"


@dataclass(frozen=True, slots=True)
class DataRecipe:
    """How the data set is made: episodes, one shard each, seed, rules and simulator."""

    episodes: tuple[str, ...]
    seed: int = 1
    rules: LabelRules = field(default_factory=LabelRules)
    backend: str = DEFAULT
    backend_config: str = ""


def make_memory_data(root: Path, recipe: DataRecipe) -> Manifest:
    """Runs missing episodes, then balances all samples and writes the manifest.

    Uses single-agent runs that succeed, of tasks without changes of object states.

    Raises:
        FileError: if something cannot be written, or an episode is invalid.
    """
    for index in missing_shards(root, len(recipe.episodes)):
        name = recipe.episodes[index]
        write_samples(root, index, name, _rollout(name, index, recipe))
    before, after = write_balanced(root, len(recipe.episodes), recipe.seed)
    kept = sum(after.values())
    manifest = Manifest(
        kind="epm",
        seed=recipe.seed,
        recipe={
            "episodes": len(recipe.episodes),
            "least_fraction": recipe.rules.visibility.min_fraction,
            "farthest_m": recipe.rules.visibility.max_distance_m,
            "phantom_share": recipe.rules.phantom_share,
            "update_known": int(recipe.rules.update_known),
        }
        | ({} if recipe.backend == DEFAULT else {"backend": recipe.backend}),
        shards=len(recipe.episodes),
        frames=kept,
        counts={**after, **{f"{kind} before balancing": n for kind, n in before.items()}},
    )
    write_manifest(root, manifest)
    return manifest


def changes_states(episode: Episode) -> bool:
    """Whether a task requires an object's state, which EPM's data leaves out."""
    if episode.evaluation is None:
        return False
    evaluation = read_evaluation(episode.evaluation, episode.episode_id)
    return any(p.predicate in default_states().predicates for p in evaluation.propositions)


def _rollout(name: str, index: int, recipe: DataRecipe) -> Sequence[Sample]:
    """The samples of one episode; none if the run failed or the task is left out."""
    episode, house = load_episode(name)
    if episode.evaluation is None or changes_states(episode):
        return ()
    backend = make_backend(recipe.backend, recipe.backend_config)
    if not isinstance(backend, KinematicBackend):
        backend.close()
        raise PlannerError(f"the backend {recipe.backend} has no pictures of bodies that move")
    recorder = _Recorder(backend, house, recipe, np.random.default_rng([recipe.seed, 9, index]))
    try:
        result = run_embedded(
            backend,
            house,
            episode,
            Expert,
            RunOptions(on_event=recorder.on_event, watch=recorder.watch),
            agents=1,
        )
    finally:
        backend.close()
    return recorder.samples if result.verdict.success else ()


class _Recorder:
    """Maintains an entity list from the labels, and makes a sample of each frame."""

    def __init__(
        self, backend: Backend, house: House, recipe: DataRecipe, rng: np.random.Generator
    ) -> None:
        self._backend = backend
        self._list = EntityList(house.layout)
        self._rules = recipe.rules
        self._rng = rng
        self._classes = sorted(default_catalogue().objects)
        self._action = ""
        self.samples: list[Sample] = []

    def on_event(self, event: Event) -> None:
        """Records the running action, as the prompt names it."""
        if event.agent == AGENT and event.result is None:
            words = [self._status_name(word) for word in event.call.arguments]
            self._action = str(SkillCall(event.call.name, tuple(words)))

    def _status_name(self, word: str | None) -> str | None:
        entity = self._list.find(word) if word is not None else None
        return word if entity is None else f"Object.{entity.entity_id}"

    def watch(self, observation: Observation, _memory: Memory) -> None:
        """Makes a sample of a frame, then applies its labels to the list."""
        frame, state = observation.cameras.get(CAMERA), self._backend.world_state()
        if observation.agent != AGENT or frame is None or state is None:
            return
        known = list(self._list.entities)
        made = labels(frame, state, known, self._rules)
        operations = list(made)
        if self._rng.random() < self._rules.phantom_share:
            false_entity = phantom(frame, self._classes, self._list.next_id, self._rng)
            if false_entity is not None:
                known.append(false_entity)
                operations.append(Operation(OperationKind.REMOVE, entity_id=false_entity.entity_id))
        prompt = update_prompt(view_points(frame), known, self._action)
        answer = write(operations)
        self.samples.append(Sample(model_image(frame), prompt, answer, kind_of(operations)))
        provenance = Provenance(observation.stamp_s, "labels", Source.SEEN, AGENT, frame)
        self._list.apply([_in_frame(operation, frame) for operation in made], provenance)


def _in_frame(operation: Operation, frame: CameraFrame) -> Operation:
    """The operation with pixel coordinates of the camera's image instead of the model's."""
    if operation.pixel is None:
        return operation
    intrinsics = frame.intrinsics
    pixel = to_pixel(
        operation.pixel, CoordinateFrame.PIXEL_384, intrinsics.width_px, intrinsics.height_px
    )
    return Operation(
        operation.kind, operation.entity_id, pixel, operation.description, name=operation.name
    )
