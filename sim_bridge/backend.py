"""The seam between the bridge node and a world, a simulator or a robot; and its record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NewType, Protocol, runtime_checkable

from planner.parts.catalog import Catalog
from planner.parts.option import Option
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.observation import Observation, Sighting
from planner.world.primitive import Capabilities, Primitive, PrimitiveStatus
from planner.world.state import WorldState

Handle = NewType("Handle", int)


class Backend(Protocol):
    """One world with its agents.

    Calls come from one thread. A simulator's time advances only in `step`; a real robot's `step`
    only lets pending work be done. Nothing blocks longer than `step`'s argument.
    `sim_bridge.conformance` checks these rules.
    """

    @property
    def simulated(self) -> bool:
        """Whether time is simulated: `/clock` and ground truth are published only then."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of the loaded episode, `agent_0` first; empty before `reset`."""

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode; the same arguments give the same world, bit for bit.

        Running primitives end as `CANCELED`; time starts again at 0. On an error the previous world
        stays as it was.

        Raises:
            PlannerError: if house and episode do not match.
        """

    def capabilities(self, agent: str) -> Capabilities:
        """What the agent can do in this world.

        Raises:
            PlannerError: for an unknown agent.
        """

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        """What the agent senses now; changes nothing.

        Raises:
            PlannerError: for an unknown agent or camera, or without a renderer.
        """

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Starts a primitive; never raises, a refusal is the polled result.

        An agent runs one primitive at a time: a second one ends as `BUSY` and does not affect the
        first.
        """

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """The status of a primitive; results are kept until `reset`.

        Raises:
            PlannerError: for a handle that this world never returned.
        """

    def cancel(self, handle: Handle) -> None:
        """Ends a primitive as `CANCELED` and stops its agent; has no effect on ended ones."""

    def stop(self, agent: str) -> None:
        """Stops the agent at once; its primitive ends as `STOPPED`."""

    def step(self, dt_s: float) -> None:
        """Lets `dt_s` seconds pass (finite, above 0)."""

    def world_state(self) -> WorldState | None:
        """Ground truth, or None if it is unknown."""

    def now_s(self) -> float:
        """Seconds on this world's clock."""

    def close(self) -> None:
        """Stops every agent and frees resources; safe to call twice."""


@runtime_checkable
class SightingSource(Protocol):
    """A backend without pictures, which says itself what its agents see."""

    def sightings_now(self, agent: str) -> Sequence[Sighting]:
        """The entities that an agent sees now, itself not among them; changes nothing.

        Raises:
            PlannerError: for an unknown agent.
        """


@runtime_checkable
class SensorSource(Protocol):
    """A simulator whose sensors may err."""

    @property
    def sensors_json(self) -> str:
        """How they err, in the form of config/sensors/, as JSON."""


@runtime_checkable
class PictureSource(Protocol):
    """A robot whose pictures come at times of their own, some while after they were taken.

    `Backend.observe` is of the newest odometry; a picture in it has its pose at the time at which
    it was taken.
    """

    def picture_after(self, agent: str, camera: str, stamp_s: float) -> Observation | None:
        """The newest picture taken after `stamp_s`, in an observation of that moment.

        Args:
            agent: its namespace.
            camera: one of its cameras.
            stamp_s: of the picture taken last, on the backend's clock.

        Returns:
            What the agent sensed at the picture's time, which is the observation's `stamp_s`; None
            while there is no later picture, or none that can be used.

        Raises:
            PlannerError: for an unknown agent or camera.
        """

    def picture_fault(self, agent: str) -> str:
        """Which camera sends no usable pictures any more, and why; empty if all do."""


class SightedBackend(Backend, SightingSource, Protocol):
    """A world without pictures."""


# The record by which a backend is listed and started, and making backends by name.

INTERFACE = 1


@dataclass(frozen=True, slots=True)
class Drawn:
    """What has to be drawn in a run.

    Attributes:
        pictures: camera pictures.
        instances: the instance ids of their pixels.
        sensors: how the sensors err, a name or a file as `planner run --sensors` takes; "" = as
            the settings say.
    """

    pictures: bool = True
    instances: bool = True
    sensors: str = ""


@dataclass(frozen=True, slots=True)
class StandIn:
    """What demos put in the place of a backend's robot.

    Attributes:
        command: of `planner`, which takes --house, --episode, --seed and --truth: it serves the
            robot's interfaces, and the true world on /world/state for the judge.
        task: the demo's default: one that a single robot can do.
        unrecorded: topics of the robot's own that no bag needs, a regular expression.
        memory: the memory that reads its pictures; nobody but the judge knows the truth.
    """

    command: str
    task: str
    memory: str
    unrecorded: str


@dataclass(frozen=True, slots=True)
class OtherPython:
    """A program that a backend needs and that may be in the environment of another Python.

    Attributes:
        program: its name, for people.
        module: by which it is found in this environment.
        variable: of the environment, which names the other Python.
        trial: Python code that tries it and prints one line.
        environment: further variables for the trial.
        cure: how to get it.
    """

    program: str
    module: str
    variable: str
    trial: str
    environment: Mapping[str, str]
    cure: str


def _no_houses() -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendPart:
    """The record of a backend.

    Attributes:
        summary: one line for the help.
        make: makes the backend, without an episode, from a settings file; None = the shipped one.
            Raises `PlannerError` for what is wrong or missing.
        make_for: the same for a run that needs less drawn, or sensors that err; None = it makes no
            difference.
        simulated: whether its time is simulated (/clock) and its true state is known; else it is
            a robot that an operator attends.
        has_pictures: whether agents have cameras; without, it publishes what they see.
        has_sensors: whether `make_for` takes sensors that err.
        shows_datasets: whether the setting `dataset` names a folder with a dataset for each house,
            by its name, as `planner houses export` writes them.
        own_houses: names of the shipped houses that are run in it if no backend is named.
        stand_in: what demos drive instead of a real robot; None = the backend needs none.
        physical_stop: of a robot: what a person stops it with, whatever this software does.
        extra: of this package, whose libraries it needs; "" = none.
        other_python: what it needs that no package index has.
        options: none yet; settings are in a file.
        interface: version of this record that the backend was written for.
    """

    summary: str
    make: Callable[[Path | None], Backend]
    simulated: bool
    has_pictures: bool = True
    has_sensors: bool = False
    make_for: Callable[[Path | None, Drawn], Backend] | None = None
    shows_datasets: bool = False
    own_houses: Callable[[], Collection[str]] = _no_houses
    stand_in: StandIn | None = None
    physical_stop: str = "the robot's own emergency stop"
    extra: str = ""
    other_python: OtherPython | None = None
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


BACKENDS: Catalog[BackendPart] = Catalog(
    "backend", "sim_bridge.backends", "BACKENDS", f"{__name__}:BackendPart", INTERFACE
)


# Makes backends by name.


# Settings of the bridge's node and of the bring-up.
CAMERAS = Option("cameras", "hand,body", "cameras to publish, separated by commas")
CAMERA_HZ = Option(
    "camera_hz", 10.0, "pictures of each camera per simulated second", min_value=0.1, max_value=30.0
)


def check_sensors(name: str, sensors: str) -> None:
    """Refuses a model of sensors for a backend that has none.

    Raises:
        PlannerError: naming the backends that have one.
    """
    if sensors and not BACKENDS.get(name).has_sensors:
        fit = [n for n, part in BACKENDS.usable().items() if part.has_sensors]
        raise PlannerError(
            f"sensors: the backend {name} has no model of sensors that err; {', '.join(fit)} have"
        )


def make_backend(name: str, settings: str = "", drawn: Drawn | None = None) -> Backend:
    """Makes the backend of this name, without an episode loaded.

    Args:
        name: in the catalog of backends.
        settings: a file in the form of config/<name>.yaml; "" takes that one.
        drawn: what the run needs drawn; None = everything.

    Raises:
        PlannerError: if there is none, what it needs is not installed, or a setting is invalid.
    """
    part, file = BACKENDS.get(name), Path(settings) if settings else None
    if drawn is not None:
        check_sensors(name, drawn.sensors)
    try:
        if drawn is not None and part.make_for is not None:
            return part.make_for(file, drawn)
        return part.make(file)
    except ImportError as error:
        raise PlannerError(f"the backend {name!r} cannot be loaded: {error}") from error
