"""A frame of an animated run: the task, the floor plan, and what each agent sees and does."""

from __future__ import annotations

import io
import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from PIL import Image, ImageDraw

from planner.houses.drawing import PlanLayers, PlanSheet
from planner.houses.label_layout import MapFrame, font
from planner.houses.marks import Body, Marks, Move, Point, agent_style, dashes
from planner.replay.export.video import wrapped
from planner.replay.report.collect import Collected
from planner.replay.report.document import BagReport, Call, Path, Place, Thing
from planner.world.house import House

# What an animated run shows at a time, from the records of the bag's report.

# Shorter carries end where they began.
_MOVED_M = 0.1


class RunMoments:
    """A run over its time; times are seconds since it began."""

    def __init__(self, report: BagReport) -> None:
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


_WIDTH_PX = 960
_MAX_PX_PER_M = 70.0
_PAPER, _INK, _PALE = (255, 255, 255), (30, 30, 34), (105, 105, 115)
_GOOD, _BAD, _EMPTY = (30, 140, 60), (190, 30, 30), (225, 225, 228)
_TEXT_PX, _LINE_PX, _GAP_PX = 16, 21, 10
_TASK_LINES = 3
_VIEW_PX = 150
_COLUMNS = 3
# The plan's own title and foot are cut off.
_PLAN_FOOT_PX = 40


class AnimationPage:
    """Draws frames; texts are of the bag, drawn glyph by glyph."""

    def __init__(self, house: House, found: Collected) -> None:
        """Draws what all frames have in common."""
        x0, _, x1, _ = house.bounds_m
        scale = min(_MAX_PX_PER_M, _WIDTH_PX / (x1 - x0 + 1.2))
        self._found, self._moments = found, RunMoments(found.report)
        self._frame = MapFrame.of(house, scale)
        self._sheet = PlanSheet(house, pixels_per_m=scale, layers=PlanLayers(objects=False))
        self._names = self._sheet.names(self._moments.all_marks)
        self._agents = found.report.about.agents
        self._task = wrapped(
            found.report.about.instruction, font(_TEXT_PX), _WIDTH_PX - 2 * _GAP_PX, _TASK_LINES
        )
        self._plan_px = self._frame.height_px - self._frame.top_px - _PLAN_FOOT_PX
        self._head_px = (len(self._task) + 1) * _LINE_PX + 2 * _GAP_PX
        rows = -(-len(self._agents) // _COLUMNS)
        height = self._head_px + self._plan_px + rows * (_VIEW_PX + _GAP_PX)
        self.size_px = (_WIDTH_PX, height)
        self._view = lru_cache(maxsize=64)(self._decoded)

    def draw(self, time_s: float) -> Image.Image:
        """The frame at a time of the run, an RGB image of `size_px`."""
        page = Image.new("RGB", self.size_px, _PAPER)
        draw = ImageDraw.Draw(page)
        self._draw_head(draw, time_s)
        plan = self._sheet.draw(self._moments.marks(time_s), self._names)
        top = self._frame.top_px
        plan = plan.crop((0, top, plan.width, top + self._plan_px))
        page.paste(plan, ((_WIDTH_PX - plan.width) // 2, self._head_px))
        columns = min(_COLUMNS, max(1, len(self._agents)))
        for index in range(len(self._agents)):
            x = _GAP_PX + index % columns * (_WIDTH_PX // columns)
            y = self._head_px + self._plan_px + index // columns * (_VIEW_PX + _GAP_PX)
            self._draw_agent(page, draw, index, (x, y), _WIDTH_PX // columns - _GAP_PX, time_s)
        return page

    def _draw_head(self, draw: ImageDraw.ImageDraw, time_s: float) -> None:
        face = font(_TEXT_PX)
        for number, line in enumerate(self._task):
            draw.text((_GAP_PX, 4 + number * _LINE_PX), line, _INK, face)
        y = 6 + len(self._task) * _LINE_PX
        share = min(max(self._moments.progress(time_s), 0.0), 1.0)
        words = f"{int(time_s) // 60:02d}:{int(time_s) % 60:02d}   {100 * share:.0f} % done"
        draw.text((_GAP_PX, y), words, _PALE, face)
        left, right = 190, _WIDTH_PX - _GAP_PX
        draw.rounded_rectangle((left, y + 4, right, y + 16), 6, fill=_EMPTY)
        if share:
            draw.rounded_rectangle(
                (left, y + 4, left + (right - left) * share, y + 16), 6, fill=_GOOD
            )

    def _draw_agent(
        self,
        page: Image.Image,
        draw: ImageDraw.ImageDraw,
        index: int,
        corner: tuple[int, int],
        width_px: int,
        time_s: float,
    ) -> None:
        """What one agent sees, its running call and how the one before ended."""
        agent, (x, y) = self._agents[index], corner
        number = self._moments.picture(agent, time_s)
        if number is not None:
            page.paste(self._view(number), (x, y))
            x += _VIEW_PX + _GAP_PX
        style, face, room = agent_style(index), font(_TEXT_PX), corner[0] + width_px - x
        pattern = [length * 60 for length in style.dash_m]
        for stroke in dashes([(x, y + 10), (x + 48, y + 10)], pattern):
            draw.line(stroke, fill=style.rgb, width=5)
        draw.text((x + 56, y), agent, style.rgb, face)
        running = self._moments.running(agent, time_s)
        lines = [(line, _INK) for line in wrapped(running.call if running else "", face, room, 2)]
        ended = self._moments.ended(agent, time_s)
        if ended is not None:
            failed = ended.code != 0
            text = f"{'failed' if failed else 'did'} {ended.call}" + (
                f": {ended.text}" if failed else ""
            )
            lines += [(line, _BAD if failed else _GOOD) for line in wrapped(text, face, room, 3)]
        for row, (line, colour) in enumerate(lines, start=1):
            draw.text((x, y + 4 + row * _LINE_PX), line, colour, face)

    def _decoded(self, number: int) -> Image.Image:
        with Image.open(io.BytesIO(self._found.jpegs[number])) as picture:
            view = picture.convert("RGB")
        view.thumbnail((_VIEW_PX, _VIEW_PX), Image.Resampling.LANCZOS)
        tile = Image.new("RGB", (_VIEW_PX, _VIEW_PX), _EMPTY)
        tile.paste(view, ((_VIEW_PX - view.width) // 2, (_VIEW_PX - view.height) // 2))
        return tile
