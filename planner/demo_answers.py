"""Answers typed on the terminal of a demo, passed on to the instruction that it follows."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TextIO

# The line of `planner.narrator.story.question_line`.
_QUESTION = re.compile(r"^[\d:]+  question: ")
PROMPT = "       type the answer, then Enter"


def send_answer(text: str) -> None:
    """Sends an answer by `planner answer`, which reports errors itself."""
    # A process of its own: a demo has none with ROS that outlives a restarted node.
    subprocess.run([sys.executable, "-m", "planner.cli", "answer", text], check=False)


class TypedAnswers:
    """Reads a line for each question that is not answered beforehand."""

    def __init__(
        self,
        terminal: TextIO,
        screen: TextIO,
        given: int = 0,
        send: Callable[[str], None] = send_answer,
    ) -> None:
        """Starts to read with the first question.

        Args:
            terminal: where answers are typed, a line each.
            screen: where it is said that one is waited for.
            given: questions that others answer, before all that are asked here.
            send: passes on an answer.
        """
        self._terminal, self._screen, self._send = terminal, screen, send
        self._given = given
        self._is_asked = threading.Event()
        self._reader: threading.Thread | None = None

    def take(self, name: str, text: str) -> None:
        """Takes a line of the story."""
        if name != "narrator" or not _QUESTION.match(text):
            return
        if self._given:
            self._given -= 1
            return
        self._is_asked.set()
        self._screen.write(f"{PROMPT}\n")
        self._screen.flush()
        if self._reader is None:
            self._reader = threading.Thread(target=self._read, daemon=True)
            self._reader.start()

    def _read(self) -> None:
        """Sends what is typed while a question is open; ends with the input."""
        for line in iter(self._terminal.readline, ""):
            if line.strip() and self._is_asked.is_set():
                self._is_asked.clear()
                self._send(line.strip())
