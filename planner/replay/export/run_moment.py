"""What an animated run shows at a time, from the records of the bag's report."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

from planner.houses.marks import Body, Marks
from planner.houses.ways import Move, Point
from planner.replay.report.document import BagReport, Call, Path, Place, Thing

# Shorter carries end where they began.
_MOVED_M = 0.1


class RunMoments:
    """A run over its time; times are seconds since it began."""

    def __init__(self, report: BagReport) -> None:
        """Reads ways and carries from a report."""
        self._report = report
        self._agents = report.about.agents
        self._paths = {path.agent: path for path in report.paths}
        carries = [carry for thing in report.things for carry in _carries(thing)]
        self._carries = sorted(carries, key=lambda carry: carry[0])

    @property
    def all_marks(self) -> Marks:
        """Everything that is ever drawn, for the layout of names."""
        return self.marks(math.inf)

    def marks(self, time_s: float) -> Marks:
        """What the floor plan shows at a time."""
        ways, bodies = [], []
        for index, agent in enumerate(self._agents):
            path = self._paths.get(agent)
            points = _until(path, time_s) if path else []
            ways.append(tuple((x, y) for _, x, y, _ in points))
            if points and not math.isinf(time_s):
                _, x, y, yaw = points[-1]
                bodies.append(Body(index, (x, y), yaw))
        here = {self._agents[body.index]: body.at_m for body in bodies}
        lying, carried = self._things(time_s, here)
        moves = tuple(move for ended_s, move in self._carries if ended_s <= time_s)
        return Marks(tuple(ways), moves, tuple(bodies), lying, carried)

    def running(self, agent: str, time_s: float) -> Call | None:
        """The agent's call that is running at a time."""
        calls = (c for c in self._report.calls if c.agent == agent)
        return next((c for c in calls if c.start_s <= time_s < c.end_s), None)

    def ended(self, agent: str, time_s: float) -> Call | None:
        """The agent's call that ended last."""
        calls = [c for c in self._report.calls if c.agent == agent and c.end_s <= time_s]
        return max(calls, key=lambda call: call.end_s, default=None)

    def progress(self, time_s: float) -> float:
        """The evaluator's share of the task that is done, 0 to 1."""
        points = [p for p in self._report.progress if p.t_s <= time_s]
        return points[-1].percent_complete if points else 0.0

    def picture(self, agent: str, time_s: float) -> int | None:
        """The index of the agent's newest picture, or of its first one before that."""
        own = [(p.t_s, i) for i, p in enumerate(self._report.pictures) if p.agent == agent]
        if not own:
            return None
        return own[max(bisect_right(own, (time_s, len(self._report.pictures))) - 1, 0)][1]

    def _things(
        self, time_s: float, agents: dict[str, Point]
    ) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
        """Where things lie, and where those are that agents hold."""
        lying, carried = [], []
        for thing in self._report.things:
            place = _place(thing, time_s)
            if not place.holder:
                lying.append((place.x_m, place.y_m))
            elif place.holder in agents:
                carried.append(agents[place.holder])
        return tuple(lying), tuple(carried)


def _until(path: Path, time_s: float) -> Sequence[tuple[float, float, float, float]]:
    """The points up to a time, the last one between two of them; at least one."""
    points = path.points
    count = max(bisect_right(points, time_s, key=lambda row: row[0]), 1)
    past = list(points[:count])
    if count < len(points) and past[-1][0] < time_s:
        (t0, x0, y0, yaw), (t1, x1, y1, _) = past[-1], points[count]
        share = (time_s - t0) / (t1 - t0)
        past.append((time_s, x0 + (x1 - x0) * share, y0 + (y1 - y0) * share, yaw))
    return past


def _place(thing: Thing, time_s: float) -> Place:
    before = [place for place in thing.places if place.t_s <= time_s]
    return before[-1] if before else thing.places[0]


def _carries(thing: Thing) -> list[tuple[float, Move]]:
    """When each carry of a thing ended, and from where to where it went."""
    found = []
    start: Place | None = None
    held = False
    for place in thing.places:
        if place.holder:
            held = True
            continue
        if held and start is not None:
            ends = ((start.x_m, start.y_m), (place.x_m, place.y_m))
            if math.dist(*ends) > _MOVED_M:
                found.append((place.t_s, Move(thing.name, *ends)))
        start, held = place, False
    return found
