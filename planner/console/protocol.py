"""What a page may send, checked; orders in words, corrections as operations on the memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from planner.memory import operations
from planner.memory.operations import CorrectionError
from planner.memory.updater import Operation
from planner.world.belief import Entity
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3

VERSION = 1
# Characters of a message; of an instruction or an answer.
MAX_MESSAGE, MAX_WORDS = 16_384, 4000

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=100)]
# Of an order, chosen by the page, to tell which one an outcome belongs to.
Number = Annotated[int, Field(ge=0, le=2**31)]
Words = Annotated[str, Field(min_length=1, max_length=MAX_WORDS)]
Short = Annotated[str, Field(min_length=1, max_length=200)]
Share = Annotated[float, Field(ge=-1.0, le=1.0, allow_inf_nan=False)]
Coordinate = Annotated[float, Field(ge=-1000.0, le=1000.0, allow_inf_nan=False)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Hello(_Message):
    """The first message of a page.

    Attributes:
        version: of this protocol, as the page was built for.
        token: "" on the loopback, where none is needed.
        session: chosen by the page; the same after a reload.
        name: of the person, for the record; "" = none given.
    """

    type: Literal["hello"]
    version: int
    token: str = Field(max_length=200)
    session: Annotated[str, Field(pattern=r"^[a-z0-9]{8,64}$")]
    name: str = Field(default="", max_length=60)


class Drawn(_Message):
    """The page has drawn what it got last; it gets nothing new before."""

    type: Literal["drawn"]
    version: Number


class Pictures(_Message):
    """Whether the page shows camera pictures; nobody renders any where no page does."""

    type: Literal["pictures"]
    on: bool


class Take(_Message):
    """To control the robots, or to be the partner that an agent is."""

    type: Literal["take"]
    order: Number
    seat: Name


class Leave(_Message):
    """To give a seat back."""

    type: Literal["leave"]
    order: Number
    seat: Name


class Join(_Message):
    """To wait in the lobby for a second person; with one there, both are partners.

    Attributes:
        on: False = waits no longer.
    """

    type: Literal["join"]
    order: Number
    on: bool = True


class Instruct(_Message):
    """To give an instruction, with the turns so far where one is continued."""

    type: Literal["instruct"]
    order: Number
    words: Words
    dialogue: Annotated[list[str], Field(max_length=40)] = []


class Answer(_Message):
    """To answer the question of the running instruction."""

    type: Literal["answer"]
    order: Number
    words: Words


class Cancel(_Message):
    """To end the running instruction."""

    type: Literal["cancel"]
    order: Number


class Again(_Message):
    """To begin the task anew: the world from its beginning, and the same instruction."""

    type: Literal["again"]
    order: Number


class Finish(_Message):
    """To end a task that persons do by themselves: its judge gives the verdict."""

    type: Literal["finish"]
    order: Number


class Practice(_Message):
    """To load one of the episodes to practise with, 1 to 4."""

    type: Literal["practice"]
    order: Number
    lesson: Annotated[int, Field(ge=1, le=4)]


class Stop(_Message):
    """To stop all agents at once; every page may."""

    type: Literal["stop"]
    order: Number


class Skill(_Message):
    """To let the agent whose seat the page has carry out a call."""

    type: Literal["skill"]
    order: Number
    agent: Name
    call: Words


class Abort(_Message):
    """To end the running call of the agent whose seat the page has."""

    type: Literal["abort"]
    order: Number
    agent: Name


class Drive(_Message):
    """To drive the agent whose seat the page has, for half a second; repeated while keys are held.

    Attributes:
        forward: share of the greatest velocity; negative = backwards.
        turn: the same to the left.
    """

    type: Literal["drive"]
    order: Number
    agent: Name
    forward: Share
    turn: Share


class Approve(_Message):
    """To answer what an agent asks before its hand or arm does something."""

    type: Literal["approve"]
    order: Number
    agent: Name
    question: Short
    answer: Literal["yes", "no", "kind"]


class Correct(_Message):
    """To correct the memory by hand.

    Attributes:
        change: what is corrected; `add` is a new thing.
        entity: its number in the memory; 0 for a new thing.
        words: new class, state or description; the furniture of `onto`.
        at: where it is, metres in the map.
    """

    type: Literal["correct"]
    order: Number
    change: Literal["remove", "rename", "state", "onto", "move", "add"]
    entity: Number = 0
    words: str = Field(default="", max_length=200)
    at: tuple[Coordinate, Coordinate, Coordinate] | None = None


class Consent(_Message):
    """Whether what this page's person does may be used to train planners; only recorded."""

    type: Literal["consent"]
    order: Number
    yes: bool


class Trace(_Message):
    """To read prompt and reply of a model call."""

    type: Literal["trace"]
    key: Annotated[str, Field(pattern=r"^[0-9]{1,12}$")]


class Seek(_Message):
    """To go to a time of the bag, seconds since its beginning."""

    type: Literal["seek"]
    at: Annotated[float, Field(ge=0.0, le=1e9, allow_inf_nan=False)]


class Play(_Message):
    """To play the bag, `rate` times as fast, or to pause it."""

    type: Literal["play"]
    on: bool
    rate: Annotated[float, Field(ge=0.1, le=100.0, allow_inf_nan=False)] = 1.0


Order = (
    Take
    | Leave
    | Join
    | Instruct
    | Again
    | Finish
    | Practice
    | Answer
    | Cancel
    | Stop
    | Skill
    | Abort
    | Drive
    | Approve
    | Correct
    | Consent
)
Incoming = Order | Hello | Drawn | Pictures | Trace | Seek | Play
_ADAPTER: TypeAdapter[Incoming] = TypeAdapter(Annotated[Incoming, Field(discriminator="type")])


class ProtocolError(PlannerError):
    """A message of a page that cannot be used; its text is sent back."""


def read(text: str) -> Incoming:
    """A message of a page.

    Raises:
        ProtocolError: naming the field and the reason.
    """
    if len(text) > MAX_MESSAGE:
        raise ProtocolError(f"the message has {len(text)} characters, at most {MAX_MESSAGE}")
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "message"
        raise ProtocolError(f"{where}: {first['msg']}") from None
    except RecursionError:
        raise ProtocolError("message: is nested too deeply") from None


# Orders in a few words, for the page's log.


def named(order: Order) -> str:
    """What the page's log calls it."""
    match order:
        case Skill():
            return f"{order.agent} {order.call}"
        case Drive():
            return f"{order.agent} driven by keys"
        case Instruct() | Answer():
            return f"{order.type} “{order.words}”"
        case Take() | Leave():
            return f"{order.type} {order.seat}"
        case Correct():
            return f"memory: {order.change} {order.entity or ''} {order.words}".strip()
        case Approve():
            return f"{order.agent}: {order.answer}"
        case Join():
            return "lobby"
        case Practice():
            return f"practice {order.lesson}"
        case Consent():
            return "use for training"
        case _:
            return order.type


# A correction that a person makes on the page as an operation on the memory.


def operation_of(correction: Correct, known: Sequence[Entity]) -> Operation:
    """The operation, as `planner memory` makes it.

    Args:
        correction: from the page.
        known: what the memory has now.

    Raises:
        CorrectionError: naming the field and the reason.
    """
    if correction.change == "add":
        return operations.add(correction.words, _place(correction))
    entity = next((e for e in known if e.entity_id == correction.entity), None)
    if entity is None:
        raise CorrectionError(f"entity: the memory has no number {correction.entity}")
    match correction.change:
        case "remove":
            return operations.remove(entity)
        case "rename":
            return operations.rename(entity, correction.words)
        case "state":
            return operations.set_state(entity, correction.words)
        case "move":
            return operations.move(entity, _place(correction))
        case "onto":
            piece = next((e for e in known if e.name == correction.words), None)
            if piece is None:
                raise CorrectionError(f"onto: the memory knows no {correction.words!r}")
            return operations.move_onto(entity, piece)


def _place(correction: Correct) -> Vec3:
    if correction.at is None:
        raise CorrectionError("at: expected a place in the map")
    return correction.at
