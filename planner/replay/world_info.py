"""The worlds of a bag, from its topic /world/info."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.world.errors import FileError

WORLD_INFO = "/world/info"


@dataclass(frozen=True, slots=True)
class WorldInfo:
    """A world as planner_msgs/WorldInfo describes it.

    Attributes:
        stamp_s: when it was loaded, world's time.
        house_json: the house file; "" = none.
        episode_id: "" outside an episode.
        episode_json: the episode file; "" = none.
        agents: namespaces, agent_0 first.
        bodies: name of each agent's body.
        rate: simulated seconds per second, in paced mode.
        version: of the software.
    """

    stamp_s: float
    backend: str
    simulated: bool
    house: str
    house_json: str
    episode_id: str
    episode_json: str
    agents: tuple[str, ...]
    bodies: tuple[str, ...]
    seed: int
    time_mode: str
    rate: float
    idle_time: str
    version: str


def world_info_of(message: Any, source: Path) -> WorldInfo:
    """Converts a message.

    Raises:
        FileError: if it has another type.
    """
    try:
        stamp = message.header.stamp
        return WorldInfo(
            stamp_s=float(stamp.sec) + float(stamp.nanosec) * 1e-9,
            backend=str(message.backend),
            simulated=bool(message.simulated),
            house=str(message.house),
            house_json=str(message.house_json),
            episode_id=str(message.episode_id),
            episode_json=str(message.episode_json),
            agents=tuple(str(name) for name in message.agents),
            bodies=tuple(str(name) for name in message.bodies),
            seed=int(message.seed),
            time_mode=str(message.time_mode),
            rate=float(message.rate),
            idle_time=str(message.idle_time),
            version=str(message.version),
        )
    except (AttributeError, TypeError, ValueError) as error:
        reason = f"has another type than expected: {error}"
        raise FileError(source, WORLD_INFO, reason) from None
