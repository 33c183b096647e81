"""Nodes `ear` and `mouth`: speech to `/instruct`, and text to speech."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from queue import Full, Queue
from threading import Thread
from typing import Any

from planner_msgs.action import FollowInstruction
from planner_msgs.msg import InstructStatus, WorldInfo
from rclpy.node import Node
from std_msgs.msg import Bool, String, UInt8MultiArray

from planner.conversation.utterances import utterance_of
from planner.parts.catalog import Catalog, PartT
from planner.ros import parameters, qos
from planner.ros.guard import guard_of
from planner.ros.lifecycle import run_node
from planner.ros.loop_thread import ExecutorQueue
from planner.ros.parameters import declare
from planner.ros.skill_client import InstructClient
from planner.ros.subscriptions import listen
from planner.voice.engines import SoundCard
from planner.voice.hearing import Confirmation, Heard, Listen, StopSpotter, Utterances
from planner.voice.part import (
    CONFIRM,
    EAR,
    EARS,
    LISTEN,
    MOUTH,
    MOUTHS,
    RATE_HZ,
    SAMPLE_BYTES,
    Recogniser,
    Speaker,
    VoiceError,
    VoiceRequest,
)
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.topics import one_line

STOP = "stop"
# Wall seconds to wait for a task planner.
WAIT_S = 10.0
# Utterances that wait for the recogniser, and texts for the speaker: more are dropped, with a line.
MAX_WAITING = 4
BLOCK_BYTES = RATE_HZ * SAMPLE_BYTES // 4


class _Worker(Thread):
    """Does slow work of one node in turn; what it raises is logged."""

    def __init__(self, node: Node, what: str) -> None:
        super().__init__(name=what, daemon=True)
        self._node, self._what = node, what
        self._work: Queue[Callable[[], None]] = Queue(MAX_WAITING)
        self.start()

    def post(self, function: Callable[[], None]) -> None:
        """Does this after what was posted before."""
        try:
            self._work.put_nowait(function)
        except Full:
            self._node.get_logger().warning(f"{self._what}: too much at once; dropped")

    def run(self) -> None:
        """Works until the process ends."""
        while True:
            function = self._work.get()
            try:
                function()
            except PlannerError as error:
                self._node.get_logger().error(str(error))
            except Exception as error:
                guard_of(self._node).contain(error, self._what)


class EarNode(Node):
    """Hears a person, and passes the words on to `/instruct`, as any client does."""

    def __init__(self, make: Callable[[], Recogniser] | None = None) -> None:
        """Reads the parameters and makes the recogniser; `make` stands in for it in tests.

        Raises:
            PlannerError: if a parameter cannot be used, or something is missing.
        """
        super().__init__("ear")
        part, request = _chosen(self, EARS, "ear", EAR)
        heeds, confirm = declare(self, LISTEN), declare(self, CONFIRM)
        device = parameters.text(self, "device", "", "microphone, or default; empty = a topic")
        self._recogniser = make() if make is not None else part.make(request)
        confirms = part.confirms if confirm == "auto" else confirm == "always"
        self._utterances = Utterances(StopSpotter(), Listen(heeds))
        self._words = Confirmation(confirms=confirms)
        self._is_muted, self._asked = False, ""
        # An instruction whose planner asked something at its end, with the dialogue so far.
        self._open: tuple[str, list[str]] | None = None
        self._queue, self._worker = ExecutorQueue(self), _Worker(self, "the recogniser")
        self._spare = self._client()
        self._heard = self.create_publisher(String, topics.VOICE_HEARD, qos.EVENTS)
        self._say = self.create_publisher(String, topics.VOICE_SAY, qos.EVENTS)
        self._answer = self.create_publisher(String, topics.INSTRUCT_ANSWER, qos.EVENTS)
        listen(self, Bool, topics.VOICE_TALK, self._on_talk, qos.EVENTS)
        listen(self, Bool, topics.VOICE_SPEAKING, self._on_speaking, qos.LATCHED)
        listen(self, InstructStatus, topics.INSTRUCT_STATUS, self._on_status, qos.LATCHED)
        self._card: SoundCard | None = None
        if device:
            self._card = SoundCard(device)
            self._card.listen(lambda pcm: self._queue.post(partial(self._take, pcm)))
        else:
            listen(self, UInt8MultiArray, topics.VOICE_AUDIO, self._on_audio, qos.EVENTS)

    def destroy_node(self) -> None:
        """Closes the microphone, too."""
        if self._card is not None:
            self._card.close()
        super().destroy_node()

    def _client(self) -> InstructClient:
        """A client of `/instruct`; made in advance, so that the server is discovered by then."""
        return InstructClient(self, lambda _goal: None)

    # What comes in

    def _on_audio(self, message: UInt8MultiArray) -> None:
        self._take(bytes(message.data))

    def _on_talk(self, message: Bool) -> None:
        self._on_heard(self._utterances.push(bool(message.data)))

    def _on_speaking(self, message: Bool) -> None:
        self._is_muted = bool(message.data)

    def _on_status(self, message: InstructStatus) -> None:
        if message.question and message.question != self._asked:
            self._say.publish(String(data=message.question))
        self._asked = message.question

    def _take(self, pcm: bytes) -> None:
        self._on_heard(self._utterances.hear(pcm, is_muted=self._is_muted))

    def _on_heard(self, heard: Heard) -> None:
        if heard.stop:
            # Before any utterance that waits for the recogniser.
            self._on_words(STOP)
        if heard.utterance:
            self._worker.post(partial(self._read, heard.utterance))

    # In the worker's thread

    def _read(self, utterance: bytes) -> None:
        try:
            words = self._recogniser.transcribe(utterance)
        except VoiceError as error:
            self._queue.post(partial(self._tell, "I cannot hear: the recogniser failed."))
            raise error
        self._queue.post(partial(self._on_words, words))

    # What goes out

    def _on_words(self, words: str) -> None:
        is_answer = bool(self._asked) or self._open is not None
        step = self._words.take(words, is_answer=is_answer)
        self._tell(step.say)
        if step.send:
            self._send(step.send)

    def _tell(self, text: str) -> None:
        if text:
            self._say.publish(String(data=text))

    def _send(self, text: str) -> None:
        """Sends words where those of all persons go."""
        self._heard.publish(String(data=text))
        self.get_logger().info(f"heard: {text}")
        is_halt = utterance_of(text).halts
        if self._asked and not is_halt:
            self._answer.publish(String(data=text))
            return
        instruction, dialogue = text, list[str]()
        if self._open is not None and not is_halt:
            instruction, dialogue = self._open[0], [*self._open[1], text]
        self._open = None
        client, self._spare = self._spare, self._client()
        if self.executor is not None:
            self.executor.create_task(self._follow, client, instruction, dialogue)

    async def _follow(self, client: InstructClient, instruction: str, dialogue: list[str]) -> None:
        goal = FollowInstruction.Goal(instruction=instruction, dialogue=dialogue)
        try:
            result = await client.follow(goal, WAIT_S, lambda *_: None)
        except PlannerError as error:
            self.get_logger().error(str(error))
            self._tell("No robot answers.")
            return
        finally:
            client.destroy()
        if result.question:
            self._open = instruction, [*dialogue, result.question]
        self._tell(result.question or result.text)


class MouthNode(Node):
    """Says what robots say and reply."""

    def __init__(self, make: Callable[[], Speaker] | None = None) -> None:
        """Reads the parameters and makes the speaker; `make` stands in for it in tests.

        Raises:
            PlannerError: if a parameter cannot be used, or something is missing.
        """
        super().__init__("mouth")
        part, request = _chosen(self, MOUTHS, "mouth", MOUTH)
        device = parameters.text(self, "device", "", "loudspeaker, or default; empty = a topic")
        self._speaker = make() if make is not None else part.make(request)
        self._card = SoundCard(device) if device else None
        self._queue, self._worker = ExecutorQueue(self), _Worker(self, "the speaker")
        # Sound that was begun before this is no longer said.
        self._shut_up, self._agents = 0, set[str]()
        self._sound = self.create_publisher(UInt8MultiArray, topics.VOICE_SOUND, qos.EVENTS)
        self._speaking = self.create_publisher(Bool, topics.VOICE_SPEAKING, qos.LATCHED)
        listen(self, String, topics.VOICE_SAY, self._on_say, qos.EVENTS, "/voice")
        listen(self, Bool, topics.VOICE_TALK, self._on_talk, qos.EVENTS)
        listen(self, WorldInfo, topics.WORLD_INFO, self._on_world, qos.LATCHED)

    def destroy_node(self) -> None:
        """Closes the loudspeaker, too."""
        self._shut_up += 1
        if self._card is not None:
            self._card.close()
        super().destroy_node()

    def _on_world(self, message: WorldInfo) -> None:
        for agent in message.agents:
            if agent not in self._agents:
                self._agents.add(agent)
                name = topics.of_agent(agent, topics.SPEECH)
                listen(self, String, name, self._on_say, qos.EVENTS, "/voice")

    def _on_talk(self, message: Bool) -> None:
        if message.data:
            self._shut_up += 1

    def _on_say(self, message: String) -> None:
        if text := one_line(message.data):
            self._worker.post(partial(self._speak, text, self._shut_up))

    # In the worker's thread

    def _speak(self, text: str, since: int) -> None:
        if since != self._shut_up:
            return
        pcm = self._speaker.speak(text)
        self._queue.post(partial(self._speaking.publish, Bool(data=True)))
        try:
            for start in range(0, len(pcm), BLOCK_BYTES):
                if since != self._shut_up:
                    break
                self._play(pcm[start : start + BLOCK_BYTES])
        finally:
            self._queue.post(partial(self._speaking.publish, Bool(data=False)))

    def _play(self, block: bytes) -> None:
        """Plays a block, or publishes it at the pace at which it is heard."""
        if self._card is not None:
            self._card.play(block)
            return
        self._queue.post(partial(self._sound.publish, UInt8MultiArray(data=block)))
        time.sleep(len(block) / (RATE_HZ * SAMPLE_BYTES))


def _chosen(node: Node, catalog: Catalog[PartT], kind: str, usual: str) -> tuple[Any, VoiceRequest]:
    """The record that a node's parameters choose, and the arguments for making it."""
    name = parameters.text(node, kind, usual, f"what it is: {', '.join(catalog.names())}")
    url = parameters.text(node, "url", "", "address of a speech server, .../v1; empty = none")
    part: Any = catalog.get(name)
    if url and not part.needs_url:
        raise VoiceError(f"url: the {kind} {name} asks no server")
    if part.needs_url and not url:
        raise VoiceError(f"url: the {kind} {name} needs the address of a server, .../v1")
    return part, VoiceRequest(url, parameters.declare_options(node, part.options))


def main() -> int:
    """Runs the ear until it is stopped."""
    return run_node(EarNode)


def main_of_mouth() -> int:
    """Runs the mouth until it is stopped."""
    return run_node(MouthNode)
