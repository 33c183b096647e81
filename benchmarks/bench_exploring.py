"""What exploring shows: ExploreByView beside Explore of rooms, on the same episodes.

Repeat with: python benchmarks/bench_exploring.py [--episodes N] [--seconds S ...]

Episodes are the first of each house of the suite llamar. One agent starts where the episode says,
without knowing of any thing, and only explores. Counted are, after some times of the world's clock,
the things that the memory has seen, of all that the episode has and of those that its checklist is
about, in how many episodes these are all (a success), and the metres that were walked, summed over
every step of the world. With --encoder
FOLDER also by the pictures of a SigLIP or CLIP class model; "by words" stands for a flawless one,
which reads the classes in a picture from the simulator, so it is no result of a model.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from machine import print_table

from planner.app.embedded_run import prepare_embedded
from planner.app.run import ObservedTrace
from planner.app.run_options import RunOptions
from planner.episodes.episode_file import unpacked
from planner.evaluation.progress import Progress
from planner.memory.features import Features, SigLipFeatures, ViewEncoder
from planner.memory.memory import Memory
from planner.planning.planner import AgentResult, Context, Decision
from planner.world.belief import Source
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode
from planner.world.observation import Observation, RgbImage
from planner.world.share import config_dir
from planner.world.skill import SkillCall
from planner.world.state import WorldState
from planner.world.topics import InstructionCode
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

AGENT = "agent_0"
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class Mark:
    """What was reached at a time.

    Attributes:
        share: of the episode's things that were seen.
        wanted: of those of its checklist; None = it is about furniture only.
    """

    at_s: float
    share: float
    wanted: float | None
    metres: float


class Log:
    """How far an agent walked and what its memory has seen of an episode, over time."""

    def __init__(self, episode: Episode) -> None:
        if episode.checklist is None:
            raise PlannerError(f"{episode.episode_id} has no checklist")
        self._things = {thing.name for thing in episode.objects}
        self._wanted = self._things & {n for group in episode.checklist.targets for n in group}
        self._metres = 0.0
        self._place: tuple[float, float] | None = None
        self._seen: set[str] = set()
        self._marks: list[Mark] = []

    def walk(self, state: WorldState, _progress: Progress) -> None:
        """The state after one step of the world."""
        x_m, y_m, _ = state.entities[AGENT].pose.position_m
        if self._place is not None:
            self._metres += math.dist(self._place, (x_m, y_m))
        self._place = (x_m, y_m)

    def watch(self, observation: Observation, memory: Memory) -> None:
        """A frame, and the memory before it."""
        things = memory.belief(observation.stamp_s).of_kind(EntityKind.OBJECT)
        self._seen |= {thing.name for thing in things if thing.source is Source.SEEN}
        wanted = len(self._wanted & self._seen) / len(self._wanted) if self._wanted else None
        share = len(self._things & self._seen) / len(self._things)
        self._marks.append(Mark(observation.stamp_s, share, wanted, self._metres))

    @property
    def place(self) -> tuple[float, float]:
        """Where the agent is, metres."""
        return self._place or (0.0, 0.0)

    def at(self, seconds: float) -> Mark:
        """The last frame until then."""
        return max((m for m in self._marks if m.at_s <= seconds), key=lambda m: m.at_s)


@dataclass
class Explorer:
    """Explores until the time is up."""

    by_room: bool
    subtask: str
    seconds: float
    log: Log
    visited: list[str] = field(default_factory=list)
    name = "explorer"

    async def decide(self, context: Context) -> Decision:
        if context.now_s >= self.seconds:
            return Decision(failure="time is up", end=InstructionCode.STEP_LIMIT)
        if not context.idle:
            return Decision()
        if not self.by_room:
            return Decision({AGENT: SkillCall("ExploreByView", (self.subtask,))})
        return Decision({AGENT: SkillCall("Explore", (self.next_room(context),))})

    def next_room(self, context: Context) -> str:
        rooms = [room for room in context.layout.rooms if room.name not in self.visited]
        if not rooms:
            self.visited.clear()
            rooms = list(context.layout.rooms)
        here = self.log.place
        nearest = min(rooms, key=lambda room: math.dist(here, room.shape.centroid.coords[0]))
        self.visited.append(nearest.name)
        return nearest.name

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        pass


@dataclass
class Words:
    """A stand-in for a flawless encoder, with the classes that the camera shows now."""

    backend: EmbeddedBackend
    name = "by words"

    def picture(self, image: RgbImage) -> Features:  # noqa: ARG002 - see the class
        sightings = self.backend.sightings(AGENT)
        return self._vector(" ".join(one.name for one in sightings))

    def text(self, words: str) -> Features:
        return self._vector(words)

    def _vector(self, words: str) -> Features:
        row = np.zeros(1024, np.float32)
        for word in set(_WORD.findall(words.lower())):
            row[sum(word.encode()) * 31 % 1024] = 1.0
        length = float(np.linalg.norm(row))
        return row / length if length else row


@dataclass(frozen=True)
class Way:
    """One way to explore; `encoder` is "words", "folder" or ""."""

    name: str
    by_room: bool
    encoder: str = ""


def explore(
    house: House, episode: Episode, way: Way, seconds: float, features: ViewEncoder | None
) -> Log:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="rays" if way.encoder else "none"))
    log = Log(episode)
    subtask = episode.instruction.replace("[", " ").replace("]", " ").replace(";", " ")
    explorer = Explorer(way.by_room, subtask, seconds, log)
    try:
        run = prepare_embedded(
            backend,
            house,
            episode,
            lambda _task: explorer,
            RunOptions(
                acting=(AGENT,),
                images=False,
                leaps=False,
                watch=log.watch,
                trace=ObservedTrace(log.walk),
            ),
        )
        run.encoder = Words(backend) if way.encoder == "words" else features
        run.run()
        return log
    finally:
        backend.close()


def episodes(count: int) -> list[tuple[Episode, House]]:
    found: dict[str, tuple[Episode, House]] = {}
    for path in sorted(unpacked(config_dir() / "suites" / "llamar.json.gz").glob("*.json")):
        episode, house = load_episode(str(path))
        found.setdefault(house.name, (episode, house))
        if len(found) == count:
            break
    if not found:
        raise PlannerError("there are no episodes")
    return [*found.values()]


def rows(way: Way, logs: Sequence[Log], times_s: Sequence[float]) -> list[tuple[str, str, str]]:
    found = []
    for seconds in times_s:
        marks = [log.at(seconds) for log in logs]
        share = float(np.mean([mark.share for mark in marks]))
        of_task = [mark.wanted for mark in marks if mark.wanted is not None]
        wanted, all_found = float(np.mean(of_task)), sum(found == 1.0 for found in of_task)
        metres = float(np.mean([mark.metres for mark in marks]))
        measured = f"{share:.1%} of things, {wanted:.1%} of the task's, all in {all_found} of "
        measured += f"{len(of_task)}; {metres:.1f} m"
        found.append((f"{way.name}, {seconds:g} s", measured, f"{len(marks)} episodes"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--seconds", type=float, nargs="+", default=[60.0, 180.0, 300.0])
    parser.add_argument("--encoder", type=Path, help="SigLIP or CLIP class folder")
    args = parser.parse_args()
    features = SigLipFeatures(args.encoder) if args.encoder else None
    ways = [
        Way("Explore of rooms", by_room=True),
        Way("ExploreByView, no encoder", by_room=False),
        Way("ExploreByView, by words", by_room=False, encoder="words"),
    ]
    if features is not None:
        ways.append(Way(f"ExploreByView, {features.name}", by_room=False, encoder="folder"))
    table = []
    for way in ways:
        chosen = features if way.encoder == "folder" else None
        logs = [
            explore(house, episode, way, max(args.seconds), chosen)
            for episode, house in episodes(args.episodes)
        ]
        table += rows(way, logs, args.seconds)
    print_table("exploring", table)


if __name__ == "__main__":
    main()
