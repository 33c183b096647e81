"""What the routines of the backend `ros` work with: the robot, and waiting for its answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from planner.world.agents import Body
from planner.world.primitive import PrimitiveCode
from sim_bridge.map_model import MapModel
from sim_bridge.ros.answers import explain
from sim_bridge.ros.grasps import Grasp
from sim_bridge.ros.model import Model
from sim_bridge.ros.options import RosOptions
from sim_bridge.ros.port import Errand, RobotPort, State
from sim_bridge.ros.senses import Senses
from sim_bridge.routine import Check, Ended, Motion, Stage
from sim_bridge.safety.options import SafetyOptions

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Held:
    """What the gripper holds: how it was taken."""

    grasp: Grasp


class Robot(Protocol):
    """The backend as routines see it."""

    @property
    def port(self) -> RobotPort:
        """The robot's interfaces."""

    @property
    def options(self) -> RosOptions:
        """Its settings."""

    @property
    def safety(self) -> SafetyOptions:
        """The parameters of the safety rules."""

    @property
    def map(self) -> MapModel:
        """The layout."""

    @property
    def model(self) -> Model:
        """Its kinematics; only within `compute`."""

    @property
    def body(self) -> Body:
        """Its dimensions."""

    @property
    def senses(self) -> Senses:
        """Where it is and what it sees."""

    @property
    def held(self) -> Held | None:
        """What the gripper holds."""

    def hold(self, held: Held | None) -> None:
        """Records what the gripper holds."""

    def compute(self, work: Callable[[], Value]) -> Generator[Stage, None, Value]:
        """Has a thread compute something meanwhile."""


def finish(robot: Robot, errand: Errand, phase: str, within_s: float = 60.0) -> Check:
    """Waits for a goal; whether it succeeded.

    Raises:
        Ended: if its server does not answer, or nothing is heard of it.
    """
    began_s, options = robot.port.now_s(), robot.options
    while errand.runs:
        now_s = robot.port.now_s()
        silent_s = options.answer_s if errand.state is State.SENT else within_s
        if now_s - max(began_s, errand.heard_s) > silent_s:
            errand.state = State.DEAD
            errand.text = f"it did not answer within {silent_s:g} s"
            break
        yield phase, 0.5
    if errand.state is State.DEAD:
        raise gone(errand)
    return errand.state is State.SUCCEEDED


def gone(errand: Errand) -> Ended:
    """The end of a primitive whose server is not there."""
    return Ended(
        PrimitiveCode.BACKEND_FAULT,
        f"{errand.server} is not there: {errand.text}; the robot stands",
        reason="NO_SERVER",
        server=errand.server,
    )


def finish_all(robot: Robot, errands: Sequence[Errand], phase: str, within_s: float) -> Motion:
    """Waits for goals.

    Raises:
        Ended: if one did not succeed.
    """
    for errand in errands:
        if not (yield from finish(robot, errand, phase, within_s)):
            raise Ended(*explain(errand))


def wait(robot: Robot, seconds: float, phase: str) -> Motion:
    """Waits for some time."""
    until_s = robot.port.now_s() + seconds
    while robot.port.now_s() < until_s:
        yield phase, 0.5
