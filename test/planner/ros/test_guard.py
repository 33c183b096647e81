"""What a callback raises is contained: the executor goes on, and says so."""

from __future__ import annotations

import gc
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from planner_msgs.action import ExecutePrimitive
from planner_msgs.srv import LoadEpisode
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from std_srvs.srv import Trigger

from planner.ros.goal_server import GoalServer
from planner.ros.guard import GuardedExecutor, SafePublisher, essential, guard_of
from planner.ros.loop_thread import ExecutorQueue

WAIT_S = 20.0
FAULT = 27


class Pair:
    """A guarded node, and another one that talks to it; both are spun by the test."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context)
        self.node, self.other = (
            rclpy.create_node(name, context=self.context) for name in ("guarded", "other")
        )
        self.executor = GuardedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.others = SingleThreadedExecutor(context=self.context)
        self.others.add_node(self.other)

    def spin_until(self, done: Callable[[], bool]) -> None:
        until_s = time.monotonic() + WAIT_S
        while not done():
            assert time.monotonic() < until_s, "it did not happen"
            self.executor.spin_once(timeout_sec=0.02)
            self.others.spin_once(timeout_sec=0.02)

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        client = self.other.create_client(kind, name)
        self.spin_until(client.service_is_ready)
        future = client.call_async(kind.Request(**fields))
        self.spin_until(future.done)
        return future.result()

    def close(self) -> None:
        self.executor.shutdown()
        self.others.shutdown()
        self.node.destroy_node()
        self.other.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close()


def fail(*_: Any) -> Any:
    raise KeyError("thing")


async def fail_later(*_: Any) -> Any:
    raise KeyError("thing")


@pytest.mark.parametrize("callback", [fail, fail_later])
def test_a_service_that_fails_answers_why_and_is_there_for_the_next_request(
    pair: Pair, callback: Callable[..., Any]
) -> None:
    pair.node.create_service(Trigger, "/fails", callback)
    for count in (1, 2):
        answer = pair.call(Trigger, "/fails")
        assert not answer.success
        assert answer.message == "the request cannot be carried out: KeyError: 'thing'"
        assert guard_of(pair.node).count == count


def test_a_refusal_has_no_code_of_success(pair: Pair) -> None:
    pair.node.create_service(LoadEpisode, "/fails", fail)
    answer = pair.call(LoadEpisode, "/fails")
    assert (answer.success, answer.code) == (False, 1)
    assert answer.message == "the request cannot be carried out: KeyError: 'thing'"


@pytest.mark.parametrize("kind", [99, 10, 255])
def test_a_parameter_of_an_unknown_type_is_refused_alone(pair: Pair, kind: int) -> None:
    """rclpy raises a ValueError, which ended every node."""
    pair.node.declare_parameter("good", 1)
    pair.node.declare_parameter("bad", 1)
    two = ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=2)
    parameters = [
        Parameter(name="bad", value=ParameterValue(type=kind)),
        Parameter(name="good", value=two),
        Parameter(name="good", value=ParameterValue(type=ParameterType.PARAMETER_STRING)),
    ]
    answer = pair.call(SetParameters, "/guarded/set_parameters", parameters=parameters)
    assert [result.successful for result in answer.results] == [False, True, False]
    assert all(result.reason for result in answer.results if not result.successful)
    assert pair.node.get_parameter("good").value == 2

    whole = pair.call(
        SetParametersAtomically, "/guarded/set_parameters_atomically", parameters=parameters[:2]
    )
    assert not whole.result.successful
    assert str(kind) in whole.result.reason
    assert pair.node.get_parameter("bad").value == 1


def test_failures_are_counted_on_diagnostics(pair: Pair) -> None:
    heard: list[Any] = []
    pair.other.create_subscription(DiagnosticArray, "/diagnostics", heard.append, 10)
    pair.node.create_subscription(String, "/words", fail, 10)
    words = pair.other.create_publisher(String, "/words", 10)
    pair.spin_until(lambda: words.get_subscription_count() > 0)
    for _ in range(3):
        words.publish(String(data="hello"))
    pair.spin_until(lambda: guard_of(pair.node).count == 3 and bool(heard))
    pair.spin_until(lambda: heard[-1].status[0].values[0].value == "3")
    (status,) = heard[-1].status
    assert status.name == "guarded: callbacks"
    assert status.level == status.WARN
    assert status.message == (
        "3 failed, 0 messages dropped; last: subscription /words: KeyError('thing')"
    )


def test_a_message_that_cannot_even_be_taken_does_not_silence_its_topic(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []
    subscription = pair.node.create_subscription(String, "/words", heard.append, 10)
    words = pair.other.create_publisher(String, "/words", 10)
    pair.spin_until(lambda: words.get_subscription_count() > 0)

    take = GuardedExecutor._take_subscription
    with monkeypatch.context() as patched:

        def breaks(executor: Any, sub: Any) -> Any:
            take(executor, sub)
            raise RuntimeError("the message cannot be read")

        patched.setattr(GuardedExecutor, "_take_subscription", breaks)
        words.publish(String(data="broken"))
        pair.spin_until(lambda: guard_of(pair.node).count == 1)
    words.publish(String(data="whole"))
    pair.spin_until(lambda: bool(heard))
    assert [message.data for message in heard] == ["whole"]
    assert subscription in [*pair.node.subscriptions]


def test_timers_guards_and_tasks_go_on(pair: Pair) -> None:
    def work() -> None:
        ticks.append(1)
        raise ValueError("a defect")

    ticks: list[int] = []
    pair.node.create_timer(0.01, work)
    pair.node.create_guard_condition(fail).trigger()
    pair.executor.create_task(fail_later)
    pair.spin_until(lambda: len(ticks) >= 3)
    assert guard_of(pair.node).count >= 5


def test_work_of_another_thread_that_fails_does_not_hold_the_rest(pair: Pair) -> None:
    done: list[str] = []
    queue = ExecutorQueue(pair.node)
    for work in (fail, lambda: done.append("next")):
        queue.post(work)
    pair.spin_until(lambda: bool(done))
    assert guard_of(pair.node).count == 1


@pytest.mark.parametrize("callback", [fail, fail_later])
def test_what_is_essential_ends_the_node(pair: Pair, callback: Callable[..., Any]) -> None:
    pair.executor.create_task(essential(callback))
    with pytest.raises(KeyError, match="thing"):
        pair.spin_until(lambda: False)
    assert guard_of(pair.node).count == 0


def serve(node: Node, begin: Callable[[Any], None], cancel: Callable[[Any], None]) -> GoalServer:
    return GoalServer(
        node,
        ExecutePrimitive,
        "/primitive",
        on_goal=begin,
        on_wrong=lambda _goal, _problem: None,
        on_cancel=cancel,
        now_s=lambda: 0.0,
        fault_code=FAULT,
    )


def test_a_goal_that_cannot_be_begun_gets_a_result(pair: Pair) -> None:
    server = serve(pair.node, fail, fail)
    client: Any = ActionClient(pair.other, ExecutePrimitive, "/primitive")
    pair.spin_until(client.server_is_ready)
    sent = client.send_goal_async(ExecutePrimitive.Goal(name="walk"))
    pair.spin_until(sent.done)
    got = sent.result().get_result_async()
    pair.spin_until(got.done)
    assert got.result().result.code == FAULT
    assert "KeyError: 'thing'" in got.result().result.text
    server.destroy()


def test_a_cancellation_that_fails_is_refused(pair: Pair) -> None:
    begun: list[Any] = []
    server = serve(pair.node, begun.append, fail)
    client: Any = ActionClient(pair.other, ExecutePrimitive, "/primitive")
    pair.spin_until(client.server_is_ready)
    sent = client.send_goal_async(ExecutePrimitive.Goal(name="walk"))
    pair.spin_until(lambda: sent.done() and bool(begun))
    canceled = sent.result().cancel_goal_async()
    pair.spin_until(canceled.done)
    assert canceled.result().goals_canceling == []
    assert guard_of(pair.node).count == 1
    server.destroy()


def test_what_is_sent_after_the_shutdown_is_counted_as_lost() -> None:
    context, losses = Context(), Counter[str]()
    rclpy.init(context=context)
    node = rclpy.create_node("late", context=context)
    publisher = SafePublisher(node, String, "said", QoSProfile(depth=1), losses)
    assert publisher.publish(String(data="before"))
    context.shutdown()
    assert publisher.subscriber_count == 0
    assert not publisher.publish(String(data="after"))
    assert losses["/said"] == 1


def test_who_is_known_and_not_matched_has_not_heard() -> None:
    pair = Pair()
    offered = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    publisher = SafePublisher(pair.node, String, "said", offered, Counter())
    assert publisher.wait_until_heard(0.0)
    # One that asks for more than is offered is known, and never matched.
    more = pair.other.create_subscription(String, "said", print, QoSProfile(depth=1))
    pair.spin_until(lambda: pair.node.count_subscribers("said") == 1)
    assert publisher.wait_for_acks(0.0)
    assert not publisher.wait_until_heard(0.1)
    pair.other.destroy_subscription(more)
    pair.spin_until(lambda: pair.node.count_subscribers("said") == 0)
    pair.other.create_subscription(String, "said", print, offered)
    pair.spin_until(lambda: publisher.subscriber_count == 1)
    assert publisher.wait_until_heard(1.0)
    pair.close()


def test_a_node_that_has_ended_is_not_kept() -> None:
    """The middleware would say that its services are there, and requests to them would be lost."""

    def ended() -> weakref.ref[Node]:
        pair = Pair()
        pair.node.create_service(Trigger, "/fails", fail)
        pair.call(Trigger, "/fails")
        assert guard_of(pair.node).count == 1
        pair.close()
        return weakref.ref(pair.node)

    kept = ended()
    gc.collect()
    assert kept() is None
