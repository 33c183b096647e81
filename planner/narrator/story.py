"""The story of a run for people: lines, and a strip of pictures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from pydantic import JsonValue

from planner.houses.drawing import draw_floor_plan
from planner.houses.marks import MOVE_STYLE, Marks, Move, Point, agent_style, dashes
from planner.world.belief import BeliefNode
from planner.world.errors import PlannerError
from planner.world.floor_map import FloorMap
from planner.world.house import House
from planner.world.memory_wire import FrameLinks
from planner.world.observation import RgbImage
from planner.world.skill import SUCCESS_TEXT
from planner.world.topics import one_line
from planner.world.vocabulary import Relation, holding_hand_words

_BAR_CELLS = 20
_MAX_REASON_CHARS = 240


class Kind(StrEnum):
    """Kinds of events."""

    STATE = "state"
    UNDERSTOOD = "understood"
    PLAN = "plan"
    BEGINS = "begins"
    ENDED = "ended"
    SAW = "saw"
    JUDGED = "judged"
    QUESTION = "question"
    ANSWER = "answer"
    VERDICT = "verdict"
    END = "end"


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        stamp_s: the story's time.
        line: for people.
        fields: for programs.
    """

    kind: Kind
    stamp_s: float
    line: str
    fields: Mapping[str, JsonValue] = field(default_factory=dict)

    def as_json(self) -> str:
        """One line of JSON."""
        stamp_s = round(self.stamp_s, 3) if math.isfinite(self.stamp_s) else None
        return json.dumps({"kind": str(self.kind), "stamp_s": stamp_s, **self.fields})


# Larger stamps are wall-clock time, as in a real world; simulated time begins at 0.
TIME_OF_DAY_S = 1e9


class StoryClock:
    """The story's time: simulated time, or seconds since the first event in a real world."""

    def __init__(self) -> None:
        self._zero_s: float | None = None

    def since(self, stamp_s: float) -> float:
        """The story's time of a stamp; 0 for stamps before the first event."""
        if self._zero_s is None and stamp_s > 0:
            self._zero_s = stamp_s if stamp_s > TIME_OF_DAY_S else 0.0
        return max(0.0, stamp_s - (self._zero_s or 0.0))


def clock(stamp_s: float) -> str:
    """Simulated time as minutes and seconds."""
    return f"{int(stamp_s) // 60:02d}:{int(stamp_s) % 60:02d}"


_RELATION_WORDS = {Relation.ON: "on", Relation.WITHIN: "in"}


@dataclass(frozen=True, slots=True)
class Sighting:
    """An object just found: its name, what it rests on or who holds it, and the room; "" = unknown.

    `hand` is that of a holder with more than one, in words.
    """

    name: str
    relation: Relation | None
    parent: str
    room: str
    hand: str = ""

    @classmethod
    def of(cls, node: BeliefNode, nodes: Mapping[str, BeliefNode]) -> Sighting:
        """The sighting of an object in a belief."""
        holder = nodes.get(node.parent or "")
        hand = holding_hand_words(holder.hands, node.name) if holder is not None else ""
        return cls(node.name, node.relation, node.parent or "", node.room or "", hand)

    def __str__(self) -> str:
        if self.relation is None or not self.parent:
            return self.name
        if self.parent.startswith("floor_"):
            return f"{self.name} on the floor"
        if self.relation is Relation.HELD:
            return f"{self.name} in {self.hand or 'the hand'} of {self.parent}"
        return f"{self.name} {_RELATION_WORDS[self.relation]} {self.parent}"


def seen_events(stamp_s: float, found: Sequence[Sighting]) -> list[Event]:
    """One event for each room in which something was found."""
    rooms: dict[str, list[Sighting]] = {}
    for sight in found:
        rooms.setdefault(sight.room, []).append(sight)
    return [
        Event(
            Kind.SAW,
            stamp_s,
            f"{clock(stamp_s)}  {room or 'an unknown room'}: saw {', '.join(map(str, sights))}",
            {"room": room, "things": [sight.name for sight in sights]},
        )
        for room, sights in rooms.items()
    ]


def reason_line(stamp_s: float, plan: str) -> str:
    """Why the planner decided as it did, shortened."""
    words = one_line(plan)
    cut = (
        words
        if len(words) <= _MAX_REASON_CHARS
        else words[:_MAX_REASON_CHARS].rsplit(" ", 1)[0] + " ..."
    )
    return f"{clock(stamp_s)}  plan:    {cut}"


def reason_of(plan: str, agent: str, call: str) -> str:
    """The reason for a call in a plan of the form "AGENT: REASON: CALL; ..."; "" without one."""
    for part in plan.split("; "):
        whole = part.startswith(f"{agent}: ") and part.endswith(f": {call}")
        if whole and part != f"{agent}: {call}":
            return part.removeprefix(f"{agent}: ").removesuffix(f": {call}")
    return ""


def has_only_calls(plan: str, calls: Mapping[str, str]) -> bool:
    """Whether a plan contains only the calls, which are printed anyway."""
    return all(part in {f"{a}: {c}" for a, c in calls.items()} for part in plan.split("; "))


def decided_line(stamp_s: float, agent: str, call: str, reason: str = "") -> str:
    """What an agent starts to do, and why."""
    why = f"  to {reason}" if reason else ""
    return f"{clock(stamp_s)}  {agent}  begins  {call}{why}"


def moving_line(stamp_s: float, agent: str) -> str:
    """The first motion of an agent."""
    return f"{clock(stamp_s)}  {agent}  is moving"


def ended_line(stamp_s: float, agent: str, call: str, code: int, text: str) -> str:
    """How a call ended: the reason of a failure, or what a success says besides, such as a hand."""
    if code == 0:
        more = one_line(text.removeprefix(SUCCESS_TEXT)) if text.startswith(SUCCESS_TEXT) else ""
        return f"{clock(stamp_s)}  {agent}  did     {call}{': ' if more else ''}{more}"
    return f"{clock(stamp_s)}  {agent}  FAILED  {call}: {one_line(text)}"


def progress_line(stamp_s: float, percent_complete: float, satisfied: int, total: int) -> str:
    """The evaluator's progress as a bar."""
    filled = round(percent_complete * _BAR_CELLS)
    bar = "#" * filled + "." * (_BAR_CELLS - filled)
    return f"{clock(stamp_s)}  judge    [{bar}] {satisfied} of {total} parts of the task hold"


def understood_line(stamp_s: float, requests: Sequence[str]) -> str:
    """What the planner has understood of an instruction in words."""
    return f"{clock(stamp_s)}  understood: {one_line('; '.join(requests))}"


def question_line(stamp_s: float, question: str) -> str:
    """A question from the planner to the person."""
    return f"{clock(stamp_s)}  question: {one_line(question)}"


def answer_line(stamp_s: float, answer: str) -> str:
    """The person's answer to a question."""
    return f"{clock(stamp_s)}  answer:   {one_line(answer)}"


def outcome_line(name: str, text: str) -> str:
    """How an instruction ended: the name of its code, and the text, which may begin with it."""
    said = one_line(text)
    return said if said.startswith(f"{name.lower()}: ") else f"{name}: {said}"


def no_verdict_line(outcome: str, places: Mapping[str, str]) -> str:
    """The last line of a run without a goal; `outcome` is from `outcome_line`."""
    return f"verdict: none (no goal to judge by)  planner: {outcome}{_paths(places)}"


def _paths(places: Mapping[str, str]) -> str:
    return "".join(f"  {name}: {path}" for name, path in places.items() if path)


def verdict_line(
    success: bool,
    percent_complete: float,
    sim_steps: int,
    places: Mapping[str, str],
    *,
    understood: bool = False,
) -> str:
    """The last line: the verdict, its figures and the paths of all output.

    `understood`: judged by what the planner understood, instead of by the goal of an episode.
    """
    word = ("success" if success else "failure") + (" (as understood)" if understood else "")
    return (
        f"verdict: {word}  percent_complete: {percent_complete:.2f}  sim_steps: {sim_steps}"
        f"{_paths(places)}"
    )


# The picture of a run: agents' paths and moved objects on the floor plan, and key moments.

# The paths of agents on the map, through the frame tree: odometry has a frame of its own.

# Closer points add nothing visible to a picture.
MIN_STEP_M = 0.1


class AgentPaths:
    """The positions of agents over time, in `map`.

    Attributes:
        points: positions by agent, metres, oldest first.
    """

    def __init__(self, frames: FrameLinks) -> None:
        """Starts without agents; `frames` receives /tf and /tf_static."""
        self._frames = frames
        self.points: dict[str, list[Point]] = {}

    def follow(self, agent: str) -> None:
        """Starts following an agent."""
        self.points.setdefault(agent, [])

    def sample(self) -> None:
        """Records where the agents are now, except those whose pose on the map is unknown."""
        if self._frames.went_back:
            self._frames.forget()
        stamp_s = self._frames.newest_s
        if stamp_s is None:
            return
        for agent, path in self.points.items():
            pose = self._frames.pose(f"{agent}/base_link", stamp_s)
            if pose is None:
                continue
            here = (pose.position_m[0], pose.position_m[1])
            if not path or math.dist(here, path[-1]) > MIN_STEP_M:
                path.append(here)

    def clear(self) -> None:
        """Drops all paths: the world was reset."""
        for path in self.points.values():
            path.clear()


_INK = (30, 30, 30)
_PAPER = (255, 255, 255)
_THUMB_PX = 236
_GAP_PX = 12
_CAPTION_PX = 56
_SCALE_PX_PER_M = 80.0
_SAMPLE_PX = 64


@dataclass(frozen=True, slots=True)
class Moment:
    """A camera's picture with a caption of one or two lines."""

    caption: str
    rgb: RgbImage


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture atomically; creates its folder.

    Raises:
        PlannerError: if the folder or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path)
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise PlannerError(f"{path}: cannot be written: {error}") from None


def draw_run(
    house: House,
    title: str,
    paths_m: Mapping[str, Sequence[Point]],
    moves: Sequence[Move],
    moments: Sequence[Moment],
    *,
    floor: FloorMap | None = None,
) -> Image.Image:
    """The whole sheet as an RGB picture; what is unexplored in a built map is shaded."""
    marks = Marks(tuple(map(tuple, paths_m.values())), tuple(moves), floor=floor)
    plan = draw_floor_plan(house, pixels_per_m=_SCALE_PX_PER_M, marks=marks)
    columns = max(1, min(plan.width // (_THUMB_PX + _GAP_PX), len(moments)))
    rows = -(-len(moments) // columns) if moments else 0
    width = max(plan.width, columns * (_THUMB_PX + _GAP_PX) + _GAP_PX)
    big, small = ImageFont.load_default(20), ImageFont.load_default(13)
    titles = _wrapped(title, width - 2 * _GAP_PX, big)
    head = 30 + 26 * len(titles)
    cell = _THUMB_PX + _CAPTION_PX + _GAP_PX
    sheet = Image.new("RGB", (width, head + plan.height + rows * cell + _GAP_PX), _PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.multiline_text((_GAP_PX, 8), "\n".join(titles), _INK, big)
    _draw_legend(draw, list(paths_m), 8 + 26 * len(titles))
    sheet.paste(plan, ((width - plan.width) // 2, head))
    for index, moment in enumerate(moments):
        x = _GAP_PX + index % columns * (_THUMB_PX + _GAP_PX)
        y = head + plan.height + index // columns * cell
        sheet.paste(Image.fromarray(moment.rgb).resize((_THUMB_PX, _THUMB_PX)), (x, y))
        lines = _wrapped(moment.caption, _THUMB_PX, small)
        draw.multiline_text((x, y + _THUMB_PX + 3), "\n".join(lines), _INK, small)
    return sheet


def _wrapped(
    text: str, width_px: float, font: ImageFont.ImageFont | ImageFont.FreeTypeFont
) -> list[str]:
    """The lines of a text wrapped to a width."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".strip()
            if line and font.getlength(longer) > width_px:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return lines


def _draw_legend(draw: ImageDraw.ImageDraw, agents: Sequence[str], y: float) -> None:
    font = ImageFont.load_default(14)
    x = float(_GAP_PX)
    lines = [(agent, agent_style(index)) for index, agent in enumerate(agents)]
    for name, style in (*lines, ("moved", MOVE_STYLE)):
        pattern = [length * _SCALE_PX_PER_M for length in style.dash_m]
        for stroke in dashes([(x, y + 9), (x + _SAMPLE_PX, y + 9)], pattern):
            draw.line(stroke, fill=style.rgb, width=4)
        draw.text((x + _SAMPLE_PX + 6, y), name, _INK, font)
        x += _SAMPLE_PX + 18 + draw.textlength(name, font)
