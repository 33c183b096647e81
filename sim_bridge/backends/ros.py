"""Backend `ros`: one mobile manipulator with Nav2 and MoveIt or ros2_control."""

from pathlib import Path

from planner.world.errors import PlannerError
from planner.world.files import read_model
from planner.world.share import config_dir
from sim_bridge.backend import Backend
from sim_bridge.part import BackendPart, StandIn


def _make(settings: Path | None) -> Backend:
    # ROS is loaded only if this backend is used.
    try:
        from sim_bridge.ros.node import make_backend
    except ImportError as error:
        raise PlannerError(
            f"backend ros needs the messages of Nav2, MoveIt and ros2_control ({error}): "
            "make robot-interfaces, or your distribution's packages"
        ) from error
    from sim_bridge.ros.options import RosOptions

    return make_backend(None if settings is None else read_model(settings, RosOptions))


BACKEND = BackendPart(
    summary="one mobile manipulator with Nav2 and MoveIt or ros2_control",
    make=_make,
    simulated=False,
    stand_in=StandIn(
        command="robot-emulator",
        task=str(config_dir() / "spot_scenarios" / "spot_1_cup_to_sink.json"),
        memory="learned",
        # What the bridge publishes of it is recorded.
        unrecorded=r"/(head_camera/.*|joint_states|odom|cmd_vel)",
    ),
)
