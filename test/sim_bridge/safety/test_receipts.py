"""Every refused command leaves a receipt, whoever refuses it and for whatever reason."""

from __future__ import annotations

import pytest

from planner.world.bounds import OutOfBounds
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.opening import default_house, open_world
from sim_bridge.requests import Request, out_of_bounds
from sim_bridge.runtime import Runtime
from sim_bridge.safety.approvals import Answer
from sim_bridge.safety.order_executor import Reply


@pytest.fixture
def runtime() -> Runtime:
    opened = open_world(default_house(), "", 7, 1)
    made = Runtime(EmbeddedBackend())
    made.load(opened.house, opened.episode, 7)
    return made


def refusals(runtime: Runtime) -> list[tuple[str, str]]:
    """Command and reason of each refused command since the last call."""
    return [(r.command, r.reason) for r in runtime.gate.take_receipts() if not r.allowed]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (Request("dance", (1.0, 1.0, 0.0), "map"), "unknown primitive 'dance'"),
        (Request("navigate", (1.0, 1.0, 0.0), "moon"), "unknown frame"),
        (Request("navigate", (1e18, 1.0, 0.0), "map"), "1e+18"),
        (Request("place", (1.0, 1.0, 0.0), "map"), "place needs a relation"),
        (Request("navigate", (1.0, 1.0, 0.0), "map", timeout_s=900.0), "longer than 600 s"),
    ],
)
def test_a_malformed_request_leaves_a_receipt(
    runtime: Runtime, request_: Request, says: str
) -> None:
    job = runtime.begin("agent_0", request_)
    assert job.status.result is not None
    assert not job.status.result.succeeded
    ((command, reason),) = refusals(runtime)
    assert command == request_.name
    assert says in reason


def test_a_busy_agent_leaves_a_receipt_of_what_it_does_not_do(runtime: Runtime) -> None:
    x, y, _ = runtime.sense("agent_0", ()).base.position_m
    far = Request("look", (x + 1.0, y, 0.5), "map")
    runtime.begin("agent_0", far)
    assert refusals(runtime) == []
    job = runtime.begin("agent_0", far)
    assert job.status.result is not None
    assert job.status.result.code is PrimitiveCode.BUSY
    assert refusals(runtime) == [("look", job.status.result.text)]


def test_what_is_out_of_bounds_leaves_a_short_receipt(runtime: Runtime) -> None:
    result = out_of_bounds(OutOfBounds("name", "100000 characters, more than 64"))
    assert result.code is PrimitiveCode.UNKNOWN_PRIMITIVE
    runtime.refuse("agent_0", "x" * 100_000, result)
    assert refusals(runtime) == [("x" * 64, result.text)]


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("name", PrimitiveCode.UNKNOWN_PRIMITIVE),
        ("target.header.frame_id", PrimitiveCode.BAD_FRAME),
        ("target.header.stamp", PrimitiveCode.BAD_TARGET),
        ("pan_rad[3]", PrimitiveCode.BAD_TARGET),
    ],
)
def test_what_is_out_of_bounds_has_a_code(field: str, code: PrimitiveCode) -> None:
    result = out_of_bounds(OutOfBounds(field, "too much"))
    assert result == PrimitiveResult(code, f"the goal is out of bounds: {field}: too much")


def test_an_answer_to_no_question_leaves_a_receipt(runtime: Runtime) -> None:
    assert not runtime.answer("agent_0", Answer.REFUSE).success
    assert not runtime.gate.answers.answer("agent_0", Reply("0-1", approve=True)).success
    assert refusals(runtime) == [
        ("safety/refuse", "nothing waits for approval"),
        ("safety/answer", "question 0-1 was never asked; nothing was approved"),
    ]


def test_what_a_world_refuses_at_once_is_not_said_to_be_allowed(runtime: Runtime) -> None:
    far = Primitive(PrimitiveName.NAVIGATE, (1e18, 0.0, 0.0))
    handle = runtime.gate.start("agent_0", far)
    assert runtime.gate.poll(handle).done
    assert [r.allowed for r in runtime.gate.take_receipts()] == [False]
