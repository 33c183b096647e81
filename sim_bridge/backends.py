"""The backends of this project by name; entry points in pyproject.toml add further ones."""

from collections.abc import Mapping
from pathlib import Path

from planner.world.errors import PlannerError
from planner.world.files import read_model
from planner.world.share import config_dir
from sim_bridge.backend import Backend, BackendPart, Drawn, StandIn


def _make_embedded(settings: Path | None) -> Backend:
    # MuJoCo and OpenGL are loaded only if this backend is used.
    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import EmbeddedOptions

    return EmbeddedBackend(None if settings is None else read_model(settings, EmbeddedOptions))


def _make_for(settings: Path | None, drawn: Drawn) -> Backend:
    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import EmbeddedOptions, default_options

    options = default_options() if settings is None else read_model(settings, EmbeddedOptions)
    update = {"instances": drawn.instances} | ({} if drawn.pictures else {"renderer": "none"})
    return EmbeddedBackend(options.model_copy(update=update).with_sensors(drawn.sensors))


def _make_graph(settings: Path | None) -> Backend:
    from sim_bridge.graph.backend import GraphBackend, GraphOptions

    return GraphBackend(None if settings is None else read_model(settings, GraphOptions))


def _make_ros(settings: Path | None) -> Backend:
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


def _make_external(settings: Path | None) -> Backend:
    # ROS is loaded only if this backend is used.
    from sim_bridge.external.node import make_backend
    from sim_bridge.external.readings import ExternalOptions

    return make_backend(None if settings is None else read_model(settings, ExternalOptions))


BACKENDS: Mapping[str, BackendPart] = {
    "embedded": BackendPart(
        summary="simulator of this project, nothing to install",
        make=_make_embedded,
        make_for=_make_for,
        simulated=True,
        has_sensors=True,
    ),
    "graph": BackendPart(
        summary="a scene graph: edges instead of geometry, no pictures",
        make=_make_graph,
        simulated=True,
        has_pictures=False,
    ),
    "ros": BackendPart(
        summary="one mobile manipulator with Nav2 and MoveIt or ros2_control",
        make=_make_ros,
        simulated=False,
        stand_in=StandIn(
            command="robot-emulator",
            task=str(config_dir() / "spot_scenarios" / "spot_1_cup_to_sink.json"),
            memory="learned",
            # What the bridge publishes of it is recorded.
            unrecorded=r"/(head_camera/.*|joint_states|odom|cmd_vel)",
        ),
    ),
    "external": BackendPart(
        summary="a robot that other software drives; observed only",
        make=_make_external,
        simulated=False,
    ),
}
