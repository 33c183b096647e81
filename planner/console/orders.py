"""What a page can ask of the robots; a running stack implements it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from planner.console.protocol import Correct

# Gets whether it was done, and the outcome in words; from any thread, once.
Done: TypeAlias = Callable[[bool, str], None]


class Orders(Protocol):
    """Each order ends with one call of `done`, none waits for its end."""

    def instruct(
        self, words: str, agents: Sequence[str], dialogue: Sequence[str], done: Done
    ) -> None:
        """Gives an instruction to these agents; `done` gets its result."""
        ...

    def again(self, words: str, agents: Sequence[str], done: Done) -> None:
        """Begins the world anew, then gives the instruction, "" = none; `done` gets the result."""
        ...

    def finish(self, done: Done) -> None:
        """Has the judge give its verdict now; `done` gets it."""
        ...

    def load(self, episode: str, done: Done) -> None:
        """Puts the world into the beginning of an episode."""
        ...

    def answer(self, words: str, done: Done) -> None:
        """Answers the question of the running instruction."""
        ...

    def cancel(self, done: Done) -> None:
        """Ends the running instruction, whoever gave it here."""
        ...

    def stop(self, agents: Sequence[str], done: Done) -> None:
        """Ends everything that was begun here and stops these agents at once."""
        ...

    def skill(self, agent: str, call: str, done: Done) -> None:
        """Starts one call of an agent; `done` gets its result."""
        ...

    def abort(self, agent: str) -> None:
        """Ends the running call of an agent, and its driving."""
        ...

    def drive(self, agent: str, body: str, forward: float, turn: float, done: Done) -> None:
        """Drives an agent for a moment; see `planner.console.driving.Driver.steer`.

        Args:
            agent: its name.
            body: its kind of body.
            forward: share of the greatest velocity, -1 to 1.
            turn: the same to the left.
            done: gets the outcome.
        """
        ...

    def approve(
        self, agent: str, question: str, answer: Literal["yes", "no", "kind"], done: Done
    ) -> None:
        """Answers an agent's question to its operator."""
        ...

    def correct(self, correction: Correct, author: str, done: Done) -> None:
        """Corrects the memory."""
        ...

    def show_pictures(self, *, on: bool) -> None:
        """Subscribes to the cameras of all agents, also of those to come, or to none."""
        ...
