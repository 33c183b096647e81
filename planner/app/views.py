"""Renders labelled views of random places in random houses, for training detectors.

Each shard is one house: a shipped training house, or one generated from a seed that no shipped
house uses; never a held-out one. Its objects are rearranged several times, and some furniture
is open. The hand camera of a robot or person looks at things from where a body can stand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from planner.houses.clutter import ObjectRequest, place_objects, scatter
from planner.houses.generator import generate_house, recipes
from planner.training.detector import classes_in_pictures
from planner.training.frames import (
    FrameRecord,
    FurnitureTruth,
    Manifest,
    ThingTruth,
    missing_shards,
    read_shard,
    shard_path,
    write_manifest,
    write_shard,
)
from planner.world.catalogue import default_catalogue
from planner.world.episode import AgentPlacement, Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House, ObjectPlacement
from planner.world.house_checks import load_house
from planner.world.observation import CameraFrame
from planner.world.vocabulary import AgentKind, Relation
from sim_bridge.embedded.entities import Agent, Thing
from sim_bridge.embedded.house_ground import HouseGround
from sim_bridge.embedded.options import default_options
from sim_bridge.embedded.renderer import Renderer, make_renderer
from sim_bridge.embedded.scene import Scene, house_spec
from sim_bridge.embedded.sensing import View, camera_on_base, intrinsics_of, taken
from sim_bridge.embedded.world import KinematicWorld

FIRST_SEED = 100_000
_AGENTS = (AgentKind.ROBOT, AgentKind.HUMAN)
# The range of camera distances to the target, and the maximum deviation of pan and tilt from it.
_NEAREST_M, _MAX_DISTANCE_M, _ASTRAY_RAD, _TILT_ASTRAY_RAD = 0.5, 4.0, 0.45, 0.2
_TILT_LIMITS_RAD = (-0.1, 1.2)
_TRIES = 40
# A view into open furniture is tried again from elsewhere until the thing covers so many pixels;
# places count as different if they are so far apart.
_INSIDE_TRIES, _SHOWN_PX, _APART_M = 4, 20, 0.7


@dataclass(frozen=True, slots=True)
class ViewRecipe:
    """How a data set of views is made.

    Attributes:
        seed: determines everything.
        houses: number of shards; shipped training houses first, then generated ones.
        strewings: number of object placements per house.
        views: images per placement.
        things: number of objects per house.
        open_share: share of furniture that stands open.
        aimless_share: share of views in a random direction instead of at an object.
        held_share: share of views in which the other agent may be seen holding an object.
        into_open_share: share of looks at things in furniture that stands open, from where they can
            be seen; where there are none, looks are as usual.
        places: how many different places each thing is looked at from, in views that follow one
            another.
        even: whether all classes are equally likely, wherever they fit, instead of likely objects
            in likely places; classes seen least are then looked at next.
        recolored_share: share of things in one of the colours that their class may have, so that
            a class is not told by the colour of its first thing.
        sensors: how depth and colours err, as of `planner run --sensors`; poses stay true.
    """

    seed: int = 1
    houses: int = 40
    strewings: int = 4
    views: int = 25
    things: int = 140
    open_share: float = 0.3
    aimless_share: float = 0.15
    held_share: float = 0.1
    into_open_share: float = 0.0
    places: int = 1
    even: bool = False
    recolored_share: float = 0.0
    sensors: str = ""


def make_views(root: Path, recipe: ViewRecipe) -> Manifest:
    """Writes missing shards and the manifest.

    Raises:
        FileError: if something cannot be written.
        PlannerError: if no renderer works.
    """
    for index in missing_shards(root, recipe.houses):
        write_shard(root, index, _house_views(index, recipe))
    counts: dict[str, int] = {}
    frames = 0
    for index in range(recipe.houses):
        for frame in read_shard(shard_path(root, index)):
            frames += 1
            for thing in frame.record.things:
                counts[thing.class_name] = counts.get(thing.class_name, 0) + 1
    manifest = Manifest(
        kind="views",
        seed=recipe.seed,
        recipe={name: getattr(recipe, name) for name in ViewRecipe.__slots__ if name != "seed"},
        shards=recipe.houses,
        frames=frames,
        counts=dict(sorted(counts.items())),
    )
    write_manifest(root, manifest)
    return manifest


def training_house(index: int, seed: int) -> House:
    """The house of a shard: the shipped training houses, then generated ones.

    Raises:
        PlannerError: if no house can be generated, whatever the seed.
    """
    shipped = [recipe for recipe in recipes() if recipe.split == "train"]
    if index < len(shipped):
        return load_house(shipped[index].name)
    taken = {recipe.seed for recipe in recipes()}
    first = FIRST_SEED + 10_000 * seed + 10 * index
    for number in range(first, first + 10):
        if number in taken:
            continue
        try:
            return generate_house(f"views_{number}", number, split="train")
        except PlannerError:
            continue
    raise PlannerError(f"no house could be generated from the seeds {first} to {first + 9}")


def _house_views(index: int, recipe: ViewRecipe) -> Iterator[tuple[FrameRecord, CameraFrame]]:
    rng = np.random.default_rng([recipe.seed, 7, index])
    house = training_house(index, recipe.seed)
    ground, spec = HouseGround(house), house_spec(house, default_catalogue())
    renderer = make_renderer("auto", 384, 384)
    if renderer is None:
        raise PlannerError("views need a renderer")
    number = 0
    looks = _Looks()
    try:
        for _ in range(recipe.strewings):
            world = _world(ground, recipe, rng)
            scene = Scene(world, spec, default_catalogue())
            looks.thing = None
            for _ in range(recipe.views):
                frame = _view(world, scene, renderer, recipe, rng, looks)
                yield frame_record(number, world, *frame), frame[1]
                number += 1
    finally:
        renderer.close()


def _world(ground: HouseGround, recipe: ViewRecipe, rng: np.random.Generator) -> KinematicWorld:
    episode = Episode(
        version=1,
        episode_id="views",
        house=ground.house.name,
        instruction="",
        agents=tuple(AgentPlacement(uid=f"agent_{n}", kind=k) for n, k in enumerate(_AGENTS)),
        objects=_recolored(_strewn(ground.house, recipe, rng), recipe.recolored_share, rng),
    )
    seed = int(rng.integers(1 << 31))
    options = default_options().with_sensors(recipe.sensors)
    world = KinematicWorld(ground, episode, seed, default_catalogue(), options)
    for piece in world.pieces.values():
        if piece.opening and rng.random() < recipe.open_share:
            for joint in piece.opening:
                if rng.random() < 0.7:
                    world.set_opening(piece, joint, float(rng.choice((1.0, 1.0, 0.7))))
    return world


def _strewn(
    house: House, recipe: ViewRecipe, rng: np.random.Generator
) -> tuple[ObjectPlacement, ...]:
    if not recipe.even:
        return scatter(house, recipe.things, rng)
    classes = classes_in_pictures(default_catalogue())
    anywhere = tuple(piece.name for piece in house.furniture if piece.surfaces)
    requested = [
        ObjectRequest((classes[int(index)],), furniture=anywhere)
        for index in rng.permutation(len(classes))[: recipe.things]
    ]
    return tuple(o for o in place_objects(house, requested, rng) if isinstance(o, ObjectPlacement))


def _recolored(
    placed: tuple[ObjectPlacement, ...], share: float, rng: np.random.Generator
) -> tuple[ObjectPlacement, ...]:
    """The things, a share of them in a random one of their class's colours."""
    # Where none are asked for, nothing is drawn: the same seed gives the same views.
    if not share:
        return placed
    made = []
    for thing in placed:
        colors = default_catalogue().objects[thing.class_name].colors
        if colors and rng.random() < share:
            color = colors[int(rng.integers(len(colors)))]
            thing = thing.model_copy(update={"color": color})
        made.append(thing)
    return tuple(made)


@dataclass(slots=True)
class _Looks:
    """What is looked at next, and how often classes were.

    Attributes:
        thing: None: in any direction.
        inside: whether it is in furniture that stands open, chosen because of that.
        stood: where agents stood to look at it.
        counts: looks at things of each class, where all classes are to be seen alike.
    """

    thing: Thing | None = None
    inside: bool = False
    stood: list[tuple[float, float]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def choose(
        self,
        world: KinematicWorld,
        shown: Sequence[Thing],
        recipe: ViewRecipe,
        rng: np.random.Generator,
    ) -> None:
        """Keeps the thing until it was looked at from all places, then takes another."""
        if self.thing in shown and len(self.stood) < recipe.places:
            return
        self.thing, self.inside = None, False
        self.stood.clear()
        # Where no such looks are asked for, nothing is drawn: the same seed gives the same views.
        if recipe.into_open_share and rng.random() < recipe.into_open_share:
            within = [thing for thing in shown if _is_behind_a_door(world, thing)]
            if within:
                self.thing, self.inside = within[int(rng.integers(len(within)))], True
                return
        if not shown or rng.random() < recipe.aimless_share:
            return
        self.thing = shown[int(rng.integers(len(shown)))]
        if recipe.even:
            min_count = min(self.counts[t.class_name] for t in shown)
            self.thing = next(t for t in shown if self.counts[t.class_name] == min_count)
            self.counts[self.thing.class_name] += 1


def _is_behind_a_door(world: KinematicWorld, thing: Thing) -> bool:
    """Whether a thing is in what closes of its furniture."""
    base = world.base_of(thing)
    piece = world.pieces.get(base.parent)
    if piece is None or base.relation is not Relation.WITHIN:
        return False
    return any(i.name == base.part and i.joint is not None for i in piece.record.interiors)


def _view(
    world: KinematicWorld,
    scene: Scene,
    renderer: Renderer,
    recipe: ViewRecipe,
    rng: np.random.Generator,
    looks: _Looks,
) -> tuple[Agent, CameraFrame]:
    names = list(world.agents)
    agent = world.agents[names[int(rng.integers(len(names)))]]
    other = next(a for a in world.agents.values() if a is not agent)
    shown = [t for t in world.things.values() if not world.is_enclosed(t) and t.part != "hand"]
    looks.choose(world, shown, recipe, rng)
    if looks.thing is None:
        _stand_anywhere(world, agent, rng)
    else:
        looks.stood.append(_look_at(world, agent, looks.thing, rng, looks.stood))
    for _ in range(_INSIDE_TRIES if looks.inside else 0):
        images = _picture(scene, renderer, agent).instances
        if looks.thing is None or np.count_nonzero(images == looks.thing.instance_id) >= _SHOWN_PX:
            break
        looks.stood[-1] = _look_at(world, agent, looks.thing, rng, looks.stood[:-1])
    if not other.held and shown and rng.random() < recipe.held_share:
        world.take(other, shown[int(rng.integers(len(shown)))])
        _stand_near(world, other, agent, rng)
    if world.errs is not None:
        # Else nothing is drawn: the same seed gives the same views.
        world.steps = int(rng.integers(1 << 31))
    return agent, _picture(scene, renderer, agent, world)


def _picture(
    scene: Scene, renderer: Renderer, agent: Agent, erring: KinematicWorld | None = None
) -> CameraFrame:
    """What an agent's camera shows; as the sensors of a world have it, if it is given."""
    mount = agent.body.cameras["hand"]
    pose = Pose.planar(agent.x_m, agent.y_m, agent.yaw_rad)
    view = View(
        pose=pose.compose(camera_on_base(agent, "hand", mount)),
        intrinsics=intrinsics_of(mount),
        near_m=mount.near_m,
        far_m=mount.far_m,
        hidden=agent.instance_id,
    )
    images = renderer.render(scene, view)
    rgb, depth_m = images.rgb, images.depth_m
    if erring is not None:
        rgb, depth_m = taken(erring, agent, "hand", images, view.intrinsics, erring.steps)
    return CameraFrame(rgb, depth_m, images.instances, view.intrinsics, view.pose)


def _stand_anywhere(world: KinematicWorld, agent: Agent, rng: np.random.Generator) -> None:
    points = world.ground.grid(agent.body.radius_m).free_points_m
    x, y = points[int(rng.integers(len(points)))]
    agent.tilt_rad = float(rng.uniform(0.1, 0.8))
    agent.pan_rad = 0.0
    world.move_agent(agent, float(x), float(y), float(rng.uniform(-math.pi, math.pi)))


def _look_at(
    world: KinematicWorld,
    agent: Agent,
    thing: Thing,
    rng: np.random.Generator,
    stood: Sequence[tuple[float, float]] = (),
) -> tuple[float, float]:
    """Stands where a body can in the thing's room, looking roughly at the thing.

    It stands away from where it `stood` before, if there is such a place; returns where.
    """
    points = world.ground.grid(agent.body.radius_m).free_points_m
    x, y, z = thing.center_m
    away = np.hypot(points[:, 0] - x, points[:, 1] - y)
    # Near places are few but matter most, so distances are drawn uniformly.
    requested = float(rng.uniform(_NEAREST_M, _MAX_DISTANCE_M))
    fit = np.flatnonzero(np.abs(away - requested) < 0.25)
    if not fit.size:
        fit = np.argsort(away)[:_TRIES]
    for _ in range(_TRIES):
        px, py = (float(v) for v in points[int(rng.choice(fit))])
        apart = all(math.dist((px, py), before) >= _APART_M for before in stood)
        if apart and world.house.room_at(px, py) == thing.room:
            break
    bearing = math.atan2(y - py, x - px)
    height = agent.body.cameras["hand"].position_m[2]
    drop = math.atan2(height - z, max(0.2, math.hypot(x - px, y - py)))
    low, high = _TILT_LIMITS_RAD
    tilt = drop + float(rng.uniform(-_TILT_ASTRAY_RAD, _TILT_ASTRAY_RAD))
    agent.tilt_rad = min(high, max(low, tilt))
    agent.pan_rad = 0.0
    astray = float(rng.uniform(-_ASTRAY_RAD, _ASTRAY_RAD))
    world.move_agent(agent, px, py, bearing + astray)
    return px, py


def _stand_near(
    world: KinematicWorld, other: Agent, agent: Agent, rng: np.random.Generator
) -> None:
    points = world.ground.grid(other.body.radius_m).free_points_m
    ahead_m = float(rng.uniform(1.0, 2.5))
    x = agent.x_m + ahead_m * math.cos(agent.yaw_rad)
    y = agent.y_m + ahead_m * math.sin(agent.yaw_rad)
    nearest = int(np.argmin(np.hypot(points[:, 0] - x, points[:, 1] - y)))
    px, py = (float(v) for v in points[nearest])
    world.move_agent(other, px, py, float(rng.uniform(-math.pi, math.pi)))


def frame_record(
    number: int, world: KinematicWorld, agent: Agent, frame: CameraFrame
) -> FrameRecord:
    """The ground truth of what a frame shows."""
    shown = set(np.unique(frame.instances).tolist()) if frame.instances is not None else set()
    return FrameRecord(
        number=number,
        house=world.house.name,
        agent_kind=agent.body.kind.value,
        position_m=frame.pose.position_m,
        quaternion=frame.pose.orientation,
        lens=frame.intrinsics,
        things=tuple(
            ThingTruth(
                instance=thing.instance_id,
                name=thing.name,
                class_name=thing.class_name,
                center_m=thing.center_m,
                parent=thing.parent,
            )
            for thing in world.things.values()
            if thing.instance_id in shown
        ),
        furniture=tuple(
            FurnitureTruth(
                instance=piece.instance_id,
                name=piece.name,
                class_name=piece.record.class_name,
                openness=piece.openness(),
            )
            for piece in world.pieces.values()
            if piece.instance_id in shown
        ),
    )
