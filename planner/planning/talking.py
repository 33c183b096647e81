"""The conversation of a task planner: about the running task, and about the one before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from planner.conversation.afterwards import Past, meant_after, room_of
from planner.conversation.changes import Doubt
from planner.conversation.journal import Knows
from planner.conversation.talk import Reply, Revision, Said, Talk, names_something
from planner.conversation.utterances import Kind, utterance_of
from planner.planning.instruction import revised
from planner.planning.planner import Planner, Task
from planner.planning.session import Outcome, Questions, Session
from planner.world.topics import InstructionCode, one_line

# Gets who said what so far, what that came to, and each agent's call.
Tell = Callable[[tuple[Said, ...], str, Mapping[str, str]], None]


class Conversation:
    """One task after the other; runs in the planner's event loop.

    Attributes:
        talk: about the newest task.
        session: the running one; None before it has begun and after its end.
    """

    def __init__(self, world: Knows, questions: Questions, tell: Tell, wait_s: float) -> None:
        """`wait_s`: wall seconds to wait for an answer about what was said."""
        self._world, self._questions, self._tell, self._wait_s = world, questions, tell, wait_s
        self.talk = Talk("", lambda: world.belief, lambda: 0.0, self._revise)
        self.session: Session | None = None
        self._past: Past | None = None
        self._room = ""
        # Said before the session has begun; makes the planner of a changed instruction.
        self._early: Revision | None = None
        self._make: Callable[[Task], Planner] | None = None

    def accept(self, instruction: str, now_s: Callable[[], float]) -> None:
        """A new task, which has not begun yet; `now_s`: of the world's clock."""
        self.talk = Talk(instruction, lambda: self._world.belief, now_s, self._revise)
        self._early = self._make = None

    def meant(self, task: Task) -> Task | Outcome:
        """A task as it is meant, if it refers to the one before, and what was said since."""
        past = self._past
        if past is not None and task.goal is None:
            meant = meant_after(past, task.instruction, self._world.belief)
            if isinstance(meant, Doubt):
                text = "it is not clear what is meant"
                return Outcome(InstructionCode.QUESTION, text, meant.question)
            if isinstance(meant, str):
                return Outcome(InstructionCode.NO_GOAL, meant)
            if meant is not None:
                goal = meant.evaluation
                task = replace(task, instruction=meant.text, meaning=meant.goal, goal=goal)
        return task if self._early is None else revised(task, self._early)

    def begin(self, session: Session, make: Callable[[Task], Planner]) -> None:
        """The task begins; `make` makes a planner for it where it is changed."""
        self.session, self._make = session, make
        self._room = room_of(self._world.belief, session.task.agents[0])
        self.talk.begin(session)

    def end(self) -> None:
        """The task has ended; the next one may refer to it."""
        if self.session is not None:
            self._past = Past(self.talk.goal, self.session.journal, self._room)
        self.session = None

    async def hear(
        self, text: str, dialogue: Sequence[str] | None, answer: Callable[[Reply], None]
    ) -> None:
        """Does what is said about the running task; answers a stop once all agents stand."""
        talk, session = self.talk, self.session
        is_answer = utterance_of(text).kind is Kind.OTHER and names_something(text)
        if is_answer and not talk.asks and self._questions.answer(text):
            # To a question of the planner, whichever way it comes.
            answer(Reply(f"The answer: {one_line(text)[:200]}"))
            return
        reply = talk.hear(text, dialogue)
        if reply.stands:
            if session is not None:
                await session.stood()
            reply = talk.stood(reply)
        if reply.question and talk.is_held:
            wait = partial(self._after_silence, talk, reply.question)
            asyncio.get_running_loop().call_later(self._wait_s, wait)
        self._tell_all(talk, reply.question or reply.text)
        answer(reply)

    def _after_silence(self, talk: Talk, question: str) -> None:
        if talk.silence(question):
            self._tell_all(talk, talk.said[-1].text)

    def _tell_all(self, talk: Talk, text: str) -> None:
        session = self.session
        running = {} if session is None or session.is_held else session.running
        self._tell(talk.said, text, {agent: str(call) for agent, call in running.items()})

    def _revise(self, revision: Revision) -> None:
        """Goes on with an instruction that was changed.

        Raises:
            PlannerError: if no planner can follow it.
        """
        session = self.session
        if session is None or self._make is None:
            self._early = revision
            return
        task = revised(session.task, revision)
        session.revise(task, self._make(task), revision.other, halts=revision.halts)
        self._questions.drop()
