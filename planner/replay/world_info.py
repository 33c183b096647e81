"""Which world a bag is of, by its topic /world/info."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.world.errors import FileError

WORLD_INFO = "/world/info"


@dataclass(frozen=True, slots=True)
class WorldInfo:
    """A world that the bridge had, as planner_msgs/WorldInfo says.

    Attributes:
        stamp_s: when it was loaded, on the world's clock.
        house_json: the house file; "" = none.
        episode_id: "" outside an episode.
        episode_json: the episode file; "" = none.
        agents: namespaces, agent_0 first.
        bodies: name of each agent's body.
        rate: of paced time: simulated seconds in a second.
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
    """What a message says.

    Raises:
        FileError: if it is of another type.
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
        reason = f"is of another type than this planner reads: {error}"
        raise FileError(source, WORLD_INFO, reason) from None
