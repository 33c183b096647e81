"""`/world/info`: the loaded world, so that a bag needs no files of the machine it is from."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import PackageNotFoundError, version

from planner_msgs.msg import WorldInfo
from rclpy.node import Node

from planner.ros import qos
from planner.ros.conversions import header
from planner.ros.safe_publisher import SafePublisher
from planner.world import topics
from sim_bridge.opening import Opened
from sim_bridge.pacing import Pace
from sim_bridge.runtime import Runtime

TOPIC = topics.WORLD_INFO


class WorldInfoTopic:
    """Publishes each world that is loaded, with a deep history, so that no recorder misses one.

    The texts of house and episode are ground truth: the evaluator and the recorder may read them,
    and no other node.
    """

    def __init__(
        self, node: Node, runtime: Runtime, backend: str, pace: Pace, losses: Counter[str]
    ) -> None:
        """Advertises the topic; `backend` is the name of the runtime's backend."""
        self._runtime, self._backend, self._pace = runtime, backend, pace
        self._publisher = SafePublisher(node, WorldInfo, TOPIC, qos.TRUTH, losses)

    def publish(self, opened: Opened) -> None:
        """Publishes the world that the runtime has just loaded."""
        self._publisher.publish(self._message(opened))

    def _message(self, opened: Opened) -> WorldInfo:
        backend = self._runtime.backend
        # A robot's house is known only if the user named it; a simulator always has one.
        known = backend.simulated or opened.named
        agents = self._runtime.agents
        return WorldInfo(
            header=header(self._runtime.now_s(), "map"),
            backend=self._backend,
            simulated=backend.simulated,
            house=opened.house.name if known else "",
            layout=opened.house.name,
            house_json=opened.house.model_dump_json() if known else "",
            episode_id=opened.episode.episode_id,
            episode_json=opened.episode.model_dump_json() if opened.has_task else "",
            agents=list(agents),
            bodies=[backend.capabilities(agent).kind for agent in agents],
            seed=opened.seed,
            time_mode=str(self._pace.mode),
            rate=self._pace.rate,
            idle_time=str(self._pace.idle),
            version=_version(),
        )


def _version() -> str:
    """This software's version; "" in a source tree that was never installed."""
    try:
        return version("planner")
    except PackageNotFoundError:
        return ""
