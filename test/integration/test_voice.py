"""Ear and mouth as real nodes: from sound to `/instruct`, and from texts to sound.

The task planner is a stand-in that notes what it is told; sound comes from the real espeak-ng.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from bridge_harness import LATCHED, Client
from chat_server import JSON, posted
from node_processes import Node, ending, running
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import WorldInfo
from rclpy.action import ActionServer
from rclpy.action.graph import get_action_client_names_and_types_by_node
from std_msgs.msg import Bool, String, UInt8MultiArray

from planner.voice.engines import Espeak
from planner.voice.part import RATE_HZ
from planner.world.topics import InstructionCode

BLOCK = RATE_HZ // 5
SILENCE = bytes(RATE_HZ)


class Planner:
    """Replies to each instruction at once."""

    def __init__(self, client: Client) -> None:
        self.said: list[str] = []
        self.question = ""
        self._server = ActionServer(client.node, FollowInstruction, "/instruct", self._follow)

    async def _follow(self, goal: Any) -> Any:
        self.said.append(" / ".join([goal.request.instruction, *goal.request.dialogue]))
        goal.succeed()
        question, self.question = self.question, ""
        code = InstructionCode.QUESTION if question else InstructionCode.DONE
        return FollowInstruction.Result(code=int(code), text="All agents stand.", question=question)

    def close(self) -> None:
        self._server.destroy()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


@pytest.fixture
def planner(client: Client) -> Iterator[Planner]:
    made = Planner(client)
    yield made
    made.close()


@contextmanager
def transcriptions(words: list[str]) -> Iterator[str]:
    """A stand-in for a speech server; yields its URL.

    It hears the first of these and takes it from the list, or no word where there is none.
    """

    def answer(path: str, kind: str, body: bytes) -> tuple[int, str, bytes]:
        return 200, JSON, json.dumps({"text": words.pop(0) if words else ""}).encode()

    with posted(answer) as url:
        yield url


def speak(client: Client, sound: Any, pcm: bytes) -> None:
    """Publishes sound in blocks."""
    for start in range(0, len(pcm), 2 * BLOCK):
        sound.publish(UInt8MultiArray(data=pcm[start : start + 2 * BLOCK]))
        client.idle(0.01)


def hold(client: Client, talk: Any, sound: Any) -> None:
    """Holds the button while something is said."""
    talk.publish(Bool(data=True))
    client.idle(0.3)
    speak(client, sound, b"\x10\x00" * RATE_HZ)
    client.idle(0.3)
    talk.publish(Bool(data=False))


def test_stop_goes_to_instruct_before_anything_was_recognised(
    client: Client, planner: Planner
) -> None:
    """Nobody holds the button; the reply is said."""
    sound = client.node.create_publisher(UInt8MultiArray, "/voice/audio", 100)
    told = client.listen(String, "/voice/say", 100)
    with transcriptions([]) as url, running("ear", ear="server", url=url):
        client.wait(sound.get_subscription_count, "the ear")
        client.wait(lambda: client.node.count_publishers("/voice/say"), "its voice")
        mouth = Espeak("en-us+f2")
        speak(client, sound, 2 * SILENCE + mouth.speak("put the cup in the sink") + 2 * SILENCE)
        for _ in range(3):
            speak(client, sound, 2 * SILENCE + mouth.speak("Stop!") + 2 * SILENCE)
        client.wait(lambda: planner.said, "that it was heard")
        client.wait(lambda: told, "the reply")
    assert set(planner.said) == {"stop"}
    assert told[0].data == "All agents stand."


def test_what_was_said_is_confirmed_and_a_question_answered(
    client: Client, planner: Planner
) -> None:
    """The button is held; the recogniser is a stand-in server in this process."""
    sound = client.node.create_publisher(UInt8MultiArray, "/voice/audio", 100)
    talk = client.node.create_publisher(Bool, "/voice/talk", 10)
    told = client.listen(String, "/voice/say", 100)
    words = list[str]()
    planner.question = "Where to?"
    with transcriptions(words) as url, running("ear", ear="server", url=url, confirm="always"):
        client.wait(sound.get_subscription_count, "the ear")
        client.wait(talk.get_subscription_count, "the ear's button")
        client.wait(lambda: client.node.count_publishers("/voice/say"), "its voice")
        # A reader may match its writer seconds after that has matched the reader, and one topic
        # after another: what the ear has answered has passed all of them.
        for _ in range(30):
            hold(client, talk, sound)
            client.idle(1.0)
            if told:
                break
        assert {message.data for message in told} == {"I did not understand."}
        told.clear()
        words += ["Put the cup away.", "Yes.", "In the sink."]
        for number in range(3):
            hold(client, talk, sound)
            client.wait(lambda n=number: len(told) > n, "what it says")
    texts = [message.data for message in told]
    assert texts == ["Did you say: Put the cup away.?", "Where to?", "All agents stand."]
    assert planner.said == [
        "Put the cup away.",
        "Put the cup away. / Where to? / In the sink.",
    ]


def test_the_mouth_says_what_robots_say_and_is_silent_for_who_talks(client: Client) -> None:
    world = client.node.create_publisher(WorldInfo, "/world/info", LATCHED)
    speech = client.node.create_publisher(String, "/agent_0/speech", 10)
    talk = client.node.create_publisher(Bool, "/voice/talk", 10)
    sound = client.listen(UInt8MultiArray, "/voice/sound", 1000)
    speaks = client.listen(Bool, "/voice/speaking", LATCHED)
    world.publish(WorldInfo(agents=["agent_0"]))
    with running("mouth"):
        client.wait(speech.get_subscription_count, "the mouth")
        client.wait(lambda: client.node.count_publishers("/voice/sound"), "its voice")
        speech.publish(String(data="Hello, Alice."))
        client.wait(lambda: len(speaks) == 2, "that it has spoken")
        pcm = b"".join(bytes(message.data) for message in sound)
        assert len(pcm) > RATE_HZ
        assert [message.data for message in speaks] == [True, False]
        speech.publish(String(data="One, two, three, four, five, six, seven, eight, nine. " * 9))
        client.wait(lambda: len(speaks) == 3, "that it speaks")
        talk.publish(Bool(data=True))
        client.wait(lambda: len(speaks) == 4, "that it is silent")


@pytest.mark.parametrize(
    ("executable", "parameters", "problem"),
    [
        ("ear", {"ear": "server"}, "url: the ear server needs the address of a server"),
        ("ear", {"url": "http://127.0.0.1:9/v1"}, "url: the ear pocketsphinx asks no server"),
        ("ear", {"listen": "never"}, "ear: parameter listen: 'never' is not one of push, always"),
        ("mouth", {"mouth_voice": "xx-nowhere"}, "espeak-ng has no voice 'xx-nowhere'"),
    ],
)
def test_what_cannot_be_used_is_one_error(
    executable: str, parameters: dict[str, str], problem: str
) -> None:
    with ending(Node(executable, **parameters)) as node:
        assert node.wait(60.0) == 78
    assert problem in node.log
    assert "Traceback" not in node.log


def published(client: Client, name: str) -> set[str]:
    return {topic for topic, _ in client.node.get_publisher_names_and_types_by_node(name, "/")}


def test_speech_can_instruct_and_answer_and_nothing_else(client: Client) -> None:
    """No service, no action but `/instruct`: nothing that claims, powers, approves or moves."""
    with running("ear", ear="server", url="http://127.0.0.1:9/v1"), running("mouth"):
        client.wait(lambda: {"ear", "mouth"} <= set(client.node.get_node_names()), "both")
        client.wait(lambda: "/instruct/answer" in published(client, "ear"), "the ear's topics")
        client.wait(lambda: "/voice/sound" in published(client, "mouth"), "the mouth's topics")
        client.idle(1.0)
        for name in ("ear", "mouth"):
            calls = client.node.get_client_names_and_types_by_node(name, "/")
            assert {service.partition("/_action/")[0] for service, _ in calls} <= {"/instruct"}
            actions = get_action_client_names_and_types_by_node(client.node, name, "/")
            assert {action for action, _ in actions} <= {"/instruct"}
            moving = [topic for topic in published(client, name) if topic.startswith("/agent")]
            assert moving == []
