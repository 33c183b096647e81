"""What exploring shows: ExploreByView beside Explore of rooms, on the same episodes.

Repeat with: python benchmarks/bench_exploring.py [--episodes N] [--seconds S] [--encoder FOLDER]

Episodes are the first of each house of the suite llamar. One agent starts where the episode says,
without knowing of any thing, and only explores until the world's time is up. Counted are the things
that the memory has seen, of all that the episode has, calls, and metres: straight lines between
the states that the evaluator judged, which is less than was walked. "by words" stands for a
flawless encoder: it reads the classes in a picture from the simulator, so it is no result of a
model.
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
from planner.app.trace import ObservedTrace
from planner.episodes.pack import unpacked
from planner.evaluation.progress import Progress
from planner.memory.features import Features, SigLipFeatures
from planner.planning.planner import AgentResult, Context, Decision
from planner.skills.eye import ViewEncoder
from planner.world.belief import Source
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode
from planner.world.instruct import InstructionCode
from planner.world.observation import RgbImage
from planner.world.share import config_dir
from planner.world.skill import SkillCall
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

AGENT = "agent_0"
_WORD = re.compile(r"[a-z]+")


@dataclass
class Explorer:
    """Explores until the time is up."""

    by_room: bool
    subtask: str
    seconds: float
    seen: set[str] = field(default_factory=set)
    path: list[tuple[float, float]] = field(default_factory=list)
    visited: list[str] = field(default_factory=list)
    calls: int = 0
    name = "explorer"

    async def decide(self, context: Context) -> Decision:
        self.note(context)
        if context.now_s >= self.seconds:
            return Decision(failure="time is up", end=InstructionCode.STEP_LIMIT)
        if not context.idle:
            return Decision()
        self.calls += 1
        if not self.by_room:
            return Decision({AGENT: SkillCall("ExploreByView", (self.subtask,))})
        return Decision({AGENT: SkillCall("Explore", (self.next_room(context),))})

    def next_room(self, context: Context) -> str:
        x, y = self.path[-1]
        rooms = [room for room in context.layout.rooms if room.name not in self.visited]
        rooms = rooms or list(context.layout.rooms)
        nearest = min(rooms, key=lambda room: math.dist((x, y), room.shape.centroid.coords[0]))
        self.visited.append(nearest.name)
        return nearest.name

    def note(self, context: Context) -> None:
        things = context.belief.of_kind(EntityKind.OBJECT)
        self.seen |= {thing.name for thing in things if thing.source is Source.SEEN}

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
class Measured:
    """One run: the share of things seen, and what it took."""

    share: float
    metres: float
    seconds: float
    calls: int


def explore(
    house: House, episode: Episode, explorer: Explorer, encoder: str, features: ViewEncoder | None
) -> Measured:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="rays" if encoder else "none"))

    def walked(state: WorldState, _progress: Progress) -> None:
        explorer.path.append(state.entities[AGENT].box.center_m[:2])

    try:
        run = prepare_embedded(
            backend,
            house,
            episode,
            lambda _task: explorer,
            acting=(AGENT,),
            images=False,
            trace=ObservedTrace(walked),
        )
        run.encoder = Words(backend) if encoder == "words" else features
        run.run()
        things = run.memory.belief(backend.now_s()).of_kind(EntityKind.OBJECT)
        explorer.seen |= {thing.name for thing in things if thing.source is Source.SEEN}
        pairs = zip(explorer.path, explorer.path[1:], strict=False)
        metres = sum(math.dist(a, b) for a, b in pairs)
        known = {thing.name for thing in episode.objects} & explorer.seen
        return Measured(len(known) / len(episode.objects), metres, backend.now_s(), explorer.calls)
    finally:
        backend.close()


def episodes(count: int) -> list[tuple[Episode, House]]:
    found: dict[str, tuple[Episode, House]] = {}
    for path in sorted(unpacked(config_dir() / "suites" / "llamar.json.gz").glob("*.json")):
        episode, house = load_episode(str(path))
        found.setdefault(house.name, (episode, house))
        if len(found) == count:
            break
    return [*found.values()]


def row(name: str, found: Sequence[Measured]) -> tuple[str, str, str]:
    share = float(np.mean([one.share for one in found]))
    metres = float(np.mean([one.metres for one in found]))
    seconds = float(np.mean([one.seconds for one in found]))
    calls = float(np.mean([one.calls for one in found]))
    measured = (
        f"{share:.1%} of things seen; {metres:.1f} m, {seconds:.0f} s, {calls:.1f} calls; "
        f"{share / max(metres, 0.01):.2%} per metre, {share / seconds:.3%} per second"
    )
    return name, measured, f"{len(found)} episodes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=180.0, help="of the world's time")
    parser.add_argument("--encoder", type=Path, help="SigLIP or CLIP class folder")
    args = parser.parse_args()
    features = SigLipFeatures(args.encoder) if args.encoder else None
    ways: list[tuple[str, bool, str]] = [
        ("Explore of rooms", True, ""),
        ("ExploreByView, no encoder", False, ""),
        ("ExploreByView, by words", False, "words"),
    ]
    if features is not None:
        ways.append((f"ExploreByView, {features.name}", False, "folder"))
    rows = []
    for name, by_room, encoder in ways:
        found = []
        for episode, house in episodes(args.episodes):
            subtask = episode.instruction.replace("[", " ").replace("]", " ").replace(";", " ")
            explorer = Explorer(by_room, subtask, args.seconds)
            chosen = features if encoder == "folder" else None
            found.append(explore(house, episode, explorer, encoder, chosen))
        rows.append(row(name, found))
    if not rows:
        raise PlannerError("there are no episodes")
    print_table(f"exploring for {args.seconds:g} s", rows)


if __name__ == "__main__":
    main()
