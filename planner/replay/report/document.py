"""The records of a report: report.json, version 1 (docs/schema/report.schema.json).

Times `t_s` are seconds of the world's clock since the run began (`planner.replay.report.tracks`),
positions metres in the frame `map`. None means that the bag does not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Point = tuple[float, float]


class Level(StrEnum):
    """How serious something is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Notice:
    """What the reader must know first, such as that the bag was cut short."""

    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class About:
    """What a bag is about; "" and None if it does not say.

    Attributes:
        duration_s: of the world's clock.
        recorded_s: length of the recording, by receipts.
        clock: source of `t_s`: the topic of its stamps, or "receipt".
        settings: parameters and versions, by name: "node.parameter".
    """

    instruction: str
    house: str
    episode_id: str
    planner: str
    model: str
    backend: str
    body: str
    version: str
    seed: int | None
    agents: tuple[str, ...]
    duration_s: float
    recorded_s: float
    messages: int
    clock: str
    cut_short: bool
    settings: dict[str, str]


@dataclass(frozen=True, slots=True)
class Proposition:
    """One part of the task; `first_t_s` is when it first counted."""

    text: str
    satisfied: bool
    first_step: int | None
    first_t_s: float | None
    reason: str
    doer: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One verdict. `source`: bag (evaluated from its states) or live (from the run itself)."""

    source: Literal["bag", "live"]
    success: bool
    percent_complete: float
    sim_steps: int
    mode: str
    variant: str
    explanation: str
    criteria: str
    propositions: tuple[Proposition, ...]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Both verdicts of a run.

    Attributes:
        agree: whether they are equal; None if one is missing.
        final: whether the bag's own verdict can be relied on.
        reason: why there is none, or why it is not final; "" otherwise.
    """

    bag: Verdict | None
    live: Verdict | None
    agree: bool | None
    final: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ProgressPoint:
    """The share of the task that is done from a time on; `satisfied` by proposition."""

    t_s: float
    percent_complete: float
    satisfied: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Instruction:
    """A change in the state of an instruction (/instruct/status)."""

    t_s: float
    state: str
    instruction: str
    text: str
    question: str


@dataclass(frozen=True, slots=True)
class Subtasks:
    """What a planner such as LLaMAR believes to be open and done from a time on.

    Attributes:
        open, completed: its subtasks, in its words.
        memory: the text that its roles share.
    """

    t_s: float
    open: tuple[str, ...]
    completed: tuple[str, ...]
    memory: str


@dataclass(frozen=True, slots=True)
class Call:
    """A skill call that ended; `start_known` is False if its start is inferred."""

    agent: str
    call: str
    skill: str
    start_s: float
    end_s: float
    start_known: bool
    code: int
    code_name: str
    text: str


@dataclass(frozen=True, slots=True)
class Decision:
    """A planner's reply. `replan`: a call has failed since the previous one; `error`: rejected."""

    t_s: float
    planner: str
    agents: tuple[str, ...]
    calls: tuple[str, ...]
    cycle: int
    replan: bool
    error: str


@dataclass(frozen=True, slots=True)
class AgentWork:
    """What one agent did. Shares are of all agents; None if there is nothing to share."""

    agent: str
    calls: int
    failed: int
    busy_s: float
    idle_s: float
    distance_m: float
    propositions: int
    share_of_calls: float | None
    share_of_time: float | None
    share_of_propositions: float | None


@dataclass(frozen=True, slots=True)
class Handover:
    """An object that one agent put down and another one picked up."""

    thing: str
    giver: str
    taker: str
    put_s: float
    taken_s: float


@dataclass(frozen=True, slots=True)
class Work:
    """Work by agent."""

    agents: tuple[AgentWork, ...]
    handovers: tuple[Handover, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """An agent's path: rows of time, x, y and yaw (radians); `source`: tf or world_state."""

    agent: str
    source: str
    points: tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object is from a time on; x and y are meaningful if `holder` is "" = not held.

    `hand` is that of a holder with more than one, in words.
    """

    t_s: float
    x_m: float
    y_m: float
    parent: str
    holder: str
    hand: str = ""


@dataclass(frozen=True, slots=True)
class Thing:
    """A movable object and its places."""

    name: str
    class_name: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class PlanLabel:
    """The lines of a name, the place of their middle, and the height of the letters in metres."""

    lines: tuple[str, ...]
    at_m: Point
    size_m: float


@dataclass(frozen=True, slots=True)
class PlanRoom:
    """A room from above, its floor's colour as #rrggbb, and place and size of its name."""

    name: str
    class_name: str
    polygon_m: tuple[Point, ...]
    label_m: Point
    label_size_m: float
    rgb: str


@dataclass(frozen=True, slots=True)
class PlanDoor:
    """An opening from above; `leaf_m` is the arc of its door leaf, empty if it has none."""

    name: str
    polygon_m: tuple[Point, ...]
    leaf_m: tuple[Point, ...]
    entrance: bool


@dataclass(frozen=True, slots=True)
class PlanPart:
    """A part of a piece of furniture from above."""

    polygon_m: tuple[Point, ...]
    rgb: str


@dataclass(frozen=True, slots=True)
class PlanPiece:
    """A piece of furniture from above: outline, and parts from low to high.

    `label` is None where its name would be over another.
    """

    name: str
    class_name: str
    center_m: Point
    label: PlanLabel | None
    outline_m: tuple[Point, ...]
    parts: tuple[PlanPart, ...]


@dataclass(frozen=True, slots=True)
class FloorPlan:
    """A house from above.

    Attributes:
        bounds_m: smallest x and y, largest x and y.
        turned: whether it is better drawn rotated by 90 degrees, with y to the right and x down.
    """

    house: str
    turned: bool
    bounds_m: tuple[float, float, float, float]
    rooms: tuple[PlanRoom, ...]
    doors: tuple[PlanDoor, ...]
    pieces: tuple[PlanPiece, ...]


@dataclass(frozen=True, slots=True)
class MemoryPoint:
    """The memory at a time, compared with the truth if the bag has it.

    Attributes:
        remembered: objects that it has and believes not to be held.
        true: objects that exist and are not held.
        matched: remembered objects of the right class within the matching distance of a true one.
        error_m: mean distance of those.
    """

    t_s: float
    remembered: int
    true: int | None
    matched: int | None
    precision: float | None
    recall: float | None
    error_m: float | None


@dataclass(frozen=True, slots=True)
class Believed:
    """An object as the memory has it from a time on; `t_end_s` None = until the end."""

    name: str
    class_name: str
    t_s: float
    t_end_s: float | None
    x_m: float
    y_m: float
    picked: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory over time.

    Attributes:
        updater: its updater; "" = the bag does not say.
        distance_m: largest distance of a match.
    """

    updater: str

    distance_m: float
    points: tuple[MemoryPoint, ...]
    believed: tuple[Believed, ...]
    lost_updates: int


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A model call; `latency_s` and `first_token_s` are wall time.

    `role` says what it was for; older bags have none, which means the planner. `cost` is in the
    report's currency; None without a price.
    """

    t_s: float
    planner: str
    model: str
    agents: tuple[str, ...]
    cycle: int
    prompt: str
    reply: str
    calls: tuple[str, ...]
    error: str
    prompt_tokens: int
    cached_tokens: int
    reply_tokens: int
    first_token_s: float | None
    latency_s: float | None
    role: str = "planner"
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap in a topic, in seconds of the recording.

    `missing`: number of lost messages according to the recorder; None = only the silence is known.
    """

    from_s: float
    to_s: float
    missing: int | None


@dataclass(frozen=True, slots=True)
class Topic:
    """Statistics of a topic. Times are of the recording, seconds since its start.

    Attributes:
        rate_hz: messages per second between the first and the last; None for fewer than two.
        longest_s: longest time without a message between the first and the last.
        counts: messages in equal parts of the recording.
        gaps: losses according to the recorder, and silences far longer than usual.
    """

    name: str
    type_name: str
    messages: int
    rate_hz: float | None
    median_s: float | None
    longest_s: float | None
    longest_at_s: float | None
    counts: tuple[int, ...]
    gaps: tuple[Gap, ...]
    unreadable: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem, listed once however often it occurred.

    `kind`: diagnostics, log, refused, restart or unreadable.
    """

    kind: Literal["diagnostics", "log", "refused", "restart", "unreadable"]
    level: Level
    source: str
    text: str
    first_s: float
    last_s: float
    count: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture and its time; the image itself is only in the page."""

    t_s: float
    agent: str
    width_px: int
    height_px: int


@dataclass(frozen=True, slots=True)
class BagReport:
    """The report of one bag. `name` is its folder's, made unique.

    `currency`: of the costs of model calls; "" = nobody gave prices.
    """

    name: str
    notices: tuple[Notice, ...]
    about: About
    verdicts: Verdicts
    progress: tuple[ProgressPoint, ...]
    instructions: tuple[Instruction, ...]
    subtasks: tuple[Subtasks, ...]
    calls: tuple[Call, ...]
    decisions: tuple[Decision, ...]
    work: Work
    plan: FloorPlan | None
    paths: tuple[Path, ...]
    things: tuple[Thing, ...]
    memory: Memory | None
    model_calls: tuple[ModelCall, ...]
    topics: tuple[Topic, ...]
    faults: tuple[Fault, ...]
    pictures: tuple[Picture, ...]
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value over n bags with its 95 % interval; `interval` names the method."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    interval: str


@dataclass(frozen=True, slots=True)
class ArmMetric:
    """A metric over the bags of an arm."""

    metric: str
    paper: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Arm:
    """Bags with the same settings; `settings` are those in which arms differ."""

    name: str
    settings: dict[str, str]
    bags: tuple[str, ...]
    metrics: tuple[ArmMetric, ...]


@dataclass(frozen=True, slots=True)
class PairedTest:
    """One metric in two arms on the tasks that both did.

    `p`: two-sided probability of a difference at least this large if the arms were equal.
    """

    metric: str
    first: str
    second: str
    first_mean: float
    second_mean: float
    difference: Estimate
    larger: int
    smaller: int
    p: float
    test: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that differs between bags; values by bag, "" = unknown."""

    setting: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several bags side by side."""

    arms: tuple[Arm, ...]
    tests: tuple[PairedTest, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A report of one or more bags."""

    bags: tuple[BagReport, ...]
    comparison: Comparison | None = None
    version: Literal[1] = 1
