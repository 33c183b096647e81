"""The updater with the memory's own network; it needs the layout, but no ground truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from planner.memory.camera import in_image, point_at_pixel, project
from planner.memory.learned.detector import Detection, FrameDetections, Rising
from planner.memory.learned.evidence import Evidence, Openings, anchor, is_remembered, seen_twice
from planner.memory.updater import Facts, Operation
from planner.memory.wording import describe
from planner.world.belief import Entity, OperationKind, Source
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.observation import CameraFrame, Observation

CAMERA: Final = "hand"
# A thing counts as absent where its place is this share of the image width inside the image, it
# would be large enough to be seen, nothing nearer hides it, and nothing is detected beside it.
_MARGIN, _FILL, _HIDING_M, _BESIDE_M = 1 / 16, 0.5, 0.03, 0.15
# Something lies where a point is seen in a thing's box, and not at its bottom; at its top within.
_BOTTOM_SHARE, _TOP_M = 0.4, 0.01
_DEFAULT_SIZE_M = (0.05, 0.1, 0.1)


class FrameDetector(Protocol):
    """Detects movable things in a frame; see `Detector`."""

    def look(self, frame: CameraFrame, rising: Rising | None = None) -> FrameDetections:
        """What the frame shows, also of what rises from furniture without standing out."""

    def knows(self, class_name: str) -> bool:
        """Whether it can tell things of a class."""


@dataclass(frozen=True, slots=True)
class UpdaterOptions:
    """How detections become edits.

    Attributes:
        min_distance_m: smallest distance of accepted detections.
        max_distance_m: greatest distance of accepted detections.
        same_m: a detection this near a remembered thing of its class is that thing; `inferred_m`
            where an action placed it.
        moved_m: a thing seen farther than this from its stored position has moved.
        looks: detections from different viewpoints before a new thing is added.
        confident_score: a detection with at least this score counts twice.
        margin: log ratio of its best class to the next before it is added; with twice as many
            detections it is added anyway.
        replace_margin: log ratio of another class before a thing's class is changed.
        frames_to_remove: consecutive frames from different viewpoints without the thing before it
            is removed; twice as many where an action placed it.
        missing_to_m: greatest distance at which a thing can be found absent.
        missing_share: smallest share of the image that it would fill to be found absent.
        hand_m: a thing this near an agent's hand is in it, where the agent holds something.
        forget_s: a candidate that is not seen again for so long is dropped.
        off_m: how far off its place a thing is seen, because poses and depth err.
    """

    min_distance_m: float = 0.2
    max_distance_m: float = 6.0
    same_m: float = 0.35
    inferred_m: float = 1.2
    moved_m: float = 0.15
    looks: int = 4
    confident_score: float = 0.8
    margin: float = 1.0
    replace_margin: float = 3.0
    frames_to_remove: int = 5
    missing_to_m: float = 3.5
    missing_share: float = 0.0006
    hand_m: float = 0.35
    forget_s: float = 30.0
    off_m: float = 0.0


@dataclass(slots=True)
class _Candidate:
    """A thing that was not seen often enough yet."""

    evidence: Evidence
    center_m: Vec3
    distance_m: float
    looks: float
    seen_s: float
    pose: Pose

    @property
    def class_name(self) -> str:
        return self.evidence.best


@dataclass(slots=True)
class _Record:
    """Tracking state of a remembered thing.

    Attributes:
        missed: frames without it, the last one from `missed_from`.
        handled: whether an agent had it in its hand: it is no mistake of the camera.
        evidence: what it looks like, last from `pose`.
    """

    missed: int = 0
    handled: bool = False
    missed_from: Pose | None = None
    evidence: Evidence = field(default_factory=Evidence)
    pose: Pose | None = None


@dataclass(frozen=True, slots=True)
class _Grasp:
    """An agent's hand in `map` and whether it holds something."""

    point_m: Vec3
    holding: bool


class LearnedUpdater:
    """Adds what was seen often enough, follows what moved, removes what is gone."""

    def __init__(
        self,
        layout: House,
        detector: FrameDetector,
        options: UpdaterOptions | None = None,
        *,
        name: str = "learned",
    ) -> None:
        """Takes the house's layout, which the robot knows, and who looks at pictures."""
        self.name = name
        self._layout = layout
        self._detector = detector
        self._options = options or UpdaterOptions()
        self._objects = default_catalogue().objects
        self._candidates: list[_Candidate] = []
        self._fresh: list[_Candidate] = []
        self._records: dict[int, _Record] = {}
        self._hands: dict[str, _Grasp] = {}
        self._openings = Openings(layout)
        # Where poses err, backs and boards of furniture rise from its surfaces as things do.
        self._rising = None if self._options.off_m else Rising(layout)
        self._looks: dict[str, tuple[CameraFrame, FrameDetections]] = {}

    def update(
        self,
        observation: Observation,
        entities: Sequence[Entity],
        last_action: str,  # noqa: ARG002 - what it did is in the memory already
    ) -> list[Operation]:
        """The edits that an observation calls for; see `MemoryUpdater`."""
        hand = observation.base.compose(observation.hand).position_m
        self._hands[observation.agent] = _Grasp(hand, observation.holding)
        frame = observation.cameras.get(CAMERA)
        if frame is None:
            return []
        look = self._look(observation.agent, frame)
        options = self._options
        held = {e.class_name for e in entities if e.picked}
        seen = [
            d
            for d in look.detections
            if options.min_distance_m <= d.distance_m <= options.max_distance_m
            and not self._in_hand(d, held)
        ]
        things = [e for e in entities if not e.is_furniture and not e.picked]
        self._records = {e.entity_id: self._record(e) for e in entities if not e.is_furniture}
        for entity in entities:
            if entity.picked or (entity.source is Source.INFERRED and not entity.is_furniture):
                self._records[entity.entity_id].handled = True
        openness = {e.name: e.openness for e in entities if e.openness is not None}
        pairs = _pairs(things, seen, self._radius)
        operations = self._openings.update(look, entities)
        openness.update({n: v for n, v in self._openings.seen.items() if n not in openness})
        numbers = {e.name: e.entity_id for e in entities if e.is_furniture}
        for entity, detection in pairs:
            self._note(entity, detection, frame.pose)
            operations.append(self._followed(entity, detection, openness, numbers))
        used = {id(detection) for _, detection in pairs}
        free = [d for d in seen if id(d) not in used]
        matched = {e.entity_id for e, _ in pairs}
        gone, known, free = self._contradicted(things, matched, free, frame.pose)
        operations += [self._followed(e, d, openness, numbers) for e, d in known]
        matched |= {e.entity_id for e, _ in known}
        twice = seen_twice(
            things, matched, lambda e: self._records[e.entity_id].handled, options.off_m
        )
        stay = [e for e in things if e not in gone and e not in twice]
        added = self._new(self._believed(free, frame.pose, observation.stamp_s), stay)
        # What cannot be told from other things is neither missed nor another.
        told = [e for e in things if self._detector.knows(e.class_name)]
        missed = self._missed([e for e in told if e.entity_id not in matched], seen, frame)
        for number in {e.entity_id for e in (*gone, *twice, *missed)}:
            operations.append(Operation(OperationKind.REMOVE, entity_id=number))
        operations += [self._added(c, openness, numbers) for c in added]
        return operations

    def _look(self, agent: str, frame: CameraFrame) -> FrameDetections:
        """What the frame shows; the same picture from the same place is looked at once."""
        last = self._looks.get(agent)
        if (
            last is None
            or last[0].pose != frame.pose
            or not np.array_equal(last[0].depth_m, frame.depth_m)
            or not np.array_equal(last[0].rgb, frame.rgb)
        ):
            last = (frame, self._detector.look(frame, self._rising))
            self._looks[agent] = last
        return last[1]

    # What is in hands

    def _in_hand(self, detection: Detection, held: set[str]) -> bool:
        return any(
            math.dist(detection.center_m, grasp.point_m) <= self._options.hand_m
            and (grasp.holding or detection.class_name in held)
            for grasp in self._hands.values()
        )

    # What is remembered

    def _radius(self, entity: Entity) -> float:
        seen = entity.source is Source.SEEN
        return self._options.same_m if seen else self._options.inferred_m

    def _record(self, entity: Entity) -> _Record:
        """What is known of an entity; of a new one, what it was believed for."""
        known = self._records.get(entity.entity_id)
        if known is not None:
            return known
        for candidate in self._fresh:
            if (candidate.class_name, candidate.center_m) == (
                entity.class_name,
                entity.position_m,
            ):
                return _Record(evidence=candidate.evidence, pose=candidate.pose)
        return _Record()

    def _note(self, entity: Entity, detection: Detection, pose: Pose) -> _Record:
        """A thing was seen where it should be, whatever it looked like."""
        record = self._records[entity.entity_id]
        record.missed, record.missed_from = 0, None
        # The same picture again says nothing new.
        if record.pose is None or not _same_view(record.pose, pose):
            record.evidence.add(detection.probabilities, detection.cells, detection.colors)
            record.pose = pose
        return record

    def _followed(
        self,
        entity: Entity,
        detection: Detection,
        openness: Mapping[str, float],
        numbers: Mapping[str, int],
    ) -> Operation:
        """The update of a thing that was seen again; its stored place where it did not move."""
        moved = math.dist(entity.position_m, detection.center_m) > self._options.moved_m
        evidence = self._records[entity.entity_id].evidence
        nearer = detection.distance_m <= 1.2 * (entity.seen_distance_m or math.inf)
        if entity.source is Source.SEEN and not (moved and nearer):
            return Operation(
                OperationKind.UPDATE,
                entity_id=entity.entity_id,
                description=entity.description,
                position_m=entity.position_m,
                distance_m=min(detection.distance_m, entity.seen_distance_m or math.inf),
                facts=_facts_of(entity, evidence),
            )
        facts = self._facts(entity.class_name, detection.center_m, openness, evidence)
        if entity.source is not Source.SEEN and entity.relation is not None and not facts.parent:
            # An action put it there; that geometry does not tell where is no news.
            facts = _facts_of(entity, evidence)
        return Operation(
            OperationKind.UPDATE,
            entity_id=entity.entity_id,
            description=describe(
                entity.class_name, entity.states, "", numbers.get(facts.parent or "")
            ),
            position_m=detection.center_m,
            distance_m=detection.distance_m,
            facts=facts,
        )

    def _contradicted(
        self, things: Sequence[Entity], matched: set[int], free: list[Detection], pose: Pose
    ) -> tuple[list[Entity], list[tuple[Entity, Detection]], list[Detection]]:
        """Things that look like another class by all looks, those that stay, and what is left."""
        gone: list[Entity] = []
        known: list[tuple[Entity, Detection]] = []
        left: list[Detection] = []
        for detection in free:
            reach = self._half_width(detection.class_name)
            same_place = [e for e in things if math.dist(e.position_m, detection.center_m) <= reach]
            if not same_place:
                left.append(detection)
                continue
            entity = min(same_place, key=lambda e: math.dist(e.position_m, detection.center_m))
            if entity.entity_id in matched or not self._detector.knows(entity.class_name):
                continue
            record = self._note(entity, detection, pose)
            if record.handled:
                # Whoever put it there knows it by its name, whatever it looks like.
                known.append((entity, detection))
            elif record.evidence.margin_over(entity.class_name) >= self._options.replace_margin:
                gone.append(entity)
                self._candidates.append(
                    _taken_for_another(entity, record, detection, self._options)
                )
        return gone, known, left

    def _half_width(self, class_name: str) -> float:
        breadth_m = sorted(self._objects[class_name].size_m)[1]
        return max(0.08, 0.5 * breadth_m) + self._options.off_m

    def _missed(
        self, hidden: Sequence[Entity], seen: Sequence[Detection], frame: CameraFrame
    ) -> list[Entity]:
        """Things whose place was in view often enough without them."""
        if not hidden:
            return []
        options = self._options
        points = np.array([e.position_m for e in hidden], float)
        projected = project(frame.intrinsics, frame.pose, points)
        intrinsics, hiding_m = frame.intrinsics, _HIDING_M + options.off_m
        inside = in_image(intrinsics, projected, intrinsics.width_px * _MARGIN)
        inside &= (projected[:, 2] >= options.min_distance_m) & (
            projected[:, 2] <= options.missing_to_m
        )
        gone = []
        for index in np.flatnonzero(inside).tolist():
            entity = hidden[index]
            u, v, depth_m = (float(value) for value in projected[index])
            measured = float(frame.depth_m[int(v), int(u)])
            _, height_m, width_m = sorted(entity.size_m) if any(entity.size_m) else _DEFAULT_SIZE_M
            share = (intrinsics.fx_px / depth_m) ** 2 * height_m * width_m * _FILL
            share /= intrinsics.width_px * intrinsics.height_px
            bare = share >= options.missing_share and measured >= depth_m - hiding_m
            near = any(math.dist(d.center_m, entity.position_m) <= _BESIDE_M for d in seen)
            if not bare or near:
                continue
            record = self._records[entity.entity_id]
            if record.handled and _is_filled(frame, entity, (u, v)):
                continue
            # The same picture again misses nothing anew.
            if record.missed_from is not None and _same_view(record.missed_from, frame.pose):
                continue
            record.missed, record.missed_from = record.missed + 1, frame.pose
            # Where an action put it is surer than where it looked to be.
            enough = options.frames_to_remove * (1 if entity.source is Source.SEEN else 2)
            if record.missed >= enough:
                gone.append(entity)
        return gone

    # What is new

    def _believed(self, free: Sequence[Detection], pose: Pose, stamp_s: float) -> list[_Candidate]:
        """Takes detections in; returns the candidates that were seen often enough."""
        options = self._options
        for detection in free:
            weight = 2.0 if detection.score >= options.confident_score else 1.0
            known = self._candidate(detection)
            if known is None:
                known = _Candidate(
                    Evidence(), detection.center_m, detection.distance_m, weight, stamp_s, pose
                )
                known.evidence.add(detection.probabilities, detection.cells, detection.colors)
                self._candidates.append(known)
                continue
            # The same picture again says nothing new.
            if not _same_view(known.pose, pose):
                known.looks += weight
                known.pose = pose
                known.evidence.add(detection.probabilities, detection.cells, detection.colors)
            known.seen_s = stamp_s
            if detection.distance_m <= 1.1 * known.distance_m:
                known.center_m, known.distance_m = detection.center_m, detection.distance_m
        believed = [c for c in self._candidates if self._is_believed(c)]
        self._candidates = [
            c
            for c in self._candidates
            if c not in believed and stamp_s - c.seen_s <= options.forget_s
        ]
        self._fresh = believed
        return believed

    def _new(self, believed: list[_Candidate], things: Sequence[Entity]) -> list[_Candidate]:
        """Those that are not the second view of a thing that is remembered already."""
        off_m = self._options.off_m
        return [
            c
            for c in believed
            if not is_remembered(
                c.class_name, self._objects[c.class_name].size_m, c.center_m, things, off_m
            )
        ]

    def _candidate(self, detection: Detection) -> _Candidate | None:
        """The candidate that a detection shows: of its class nearby, or anything in its place."""
        reach = self._half_width(detection.class_name)
        near = []
        for number, candidate in enumerate(self._candidates):
            away_m = math.dist(candidate.center_m, detection.center_m)
            other = candidate.class_name != detection.class_name
            if away_m <= (reach if other else self._options.same_m):
                near.append((other, away_m, number))
        return self._candidates[min(near)[2]] if near else None

    def _is_believed(self, candidate: _Candidate) -> bool:
        options = self._options
        certain = candidate.evidence.margin >= options.margin
        return candidate.looks >= (options.looks if certain else 2 * options.looks)

    def _added(
        self, candidate: _Candidate, openness: Mapping[str, float], numbers: Mapping[str, int]
    ) -> Operation:
        facts = self._facts(candidate.class_name, candidate.center_m, openness, candidate.evidence)
        return Operation(
            OperationKind.ADD,
            description=describe(candidate.class_name, {}, "", numbers.get(facts.parent or "")),
            position_m=candidate.center_m,
            distance_m=candidate.distance_m,
            facts=facts,
        )

    def _facts(
        self, class_name: str, center_m: Vec3, openness: Mapping[str, float], evidence: Evidence
    ) -> Facts:
        size_m = self._objects[class_name].size_m
        support = anchor(self._layout, center_m, size_m, openness)
        return Facts(
            class_name,
            size_m,
            support.parent,
            support.relation,
            support.room,
            look=evidence.look,
            maybe=evidence.second_guesses(class_name),
        )


def _is_filled(frame: CameraFrame, entity: Entity, pixel: tuple[float, float]) -> bool:
    """Whether something rises where a thing should be, though the camera does not tell what."""
    found = point_at_pixel(frame, pixel)
    if isinstance(found, str):
        return False
    (seen_x, seen_y, seen_z), _ = found
    x, y, z = entity.position_m
    long, broad, height = entity.size_m
    aside_m = math.hypot(seen_x - x, seen_y - y)
    above_m = seen_z - z + height / 2
    in_box = _BOTTOM_SHARE * height <= above_m <= height + _TOP_M
    return in_box and aside_m <= max(long, broad) / 2


def _taken_for_another(
    entity: Entity, record: _Record, detection: Detection, options: UpdaterOptions
) -> _Candidate:
    """What takes the place of a thing that is another: it is believed at once."""
    before_m = entity.seen_distance_m or math.inf
    return _Candidate(
        record.evidence,
        detection.center_m if detection.distance_m <= before_m else entity.position_m,
        min(detection.distance_m, before_m),
        2 * options.looks,
        math.inf,
        record.pose or Pose((0.0, 0.0, 0.0)),
    )


def _pairs(
    things: Sequence[Entity],
    seen: Sequence[Detection],
    radius: Callable[[Entity], float],
) -> list[tuple[Entity, Detection]]:
    """Remembered things and detections of the same class, nearest first, each once."""
    near = sorted(
        (away_m, i, j)
        for i, entity in enumerate(things)
        for j, detection in enumerate(seen)
        if entity.class_name == detection.class_name
        and (away_m := math.dist(entity.position_m, detection.center_m)) <= radius(entity)
    )
    found: dict[int, int] = {}
    for _, i, j in near:
        if i not in found and j not in found.values():
            found[i] = j
    return [(things[i], seen[j]) for i, j in found.items()]


def _facts_of(entity: Entity, evidence: Evidence) -> Facts:
    return Facts(
        entity.class_name,
        entity.size_m,
        entity.parent,
        entity.relation,
        entity.room,
        entity.states,
        entity.openness,
        look=evidence.look,
        maybe=evidence.second_guesses(entity.class_name),
    )


def _same_view(a: Pose, b: Pose) -> bool:
    apart = math.dist(a.position_m, b.position_m)
    turned = abs(sum(p * q for p, q in zip(a.orientation, b.orientation, strict=True)))
    return apart < 0.02 and turned > 1 - 1e-4
