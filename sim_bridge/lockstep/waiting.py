"""Whether fast time may go on: those who act on a moment get it before the next one comes.

Pure: the bridge tells what it published and what it was told, and asks `holds` before each tick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

# Who is not heard of for so long, wall seconds, is waited for no more until it speaks again.
PATIENCE_S = 10.0
# Pictures are sent to those who listen as best they can: one that was lost is sent again.
REPEAT_S = 0.5
# Stamps go through nanoseconds and back.
_EQUAL_S = 1e-6


@dataclass(slots=True)
class _Actor:
    """Until when an agent's skills and its planner do nothing new, world seconds.

    `since_s` is the wall time at which the world began to stand for it; None: it does not.
    """

    skills_s: float = math.inf
    planner_s: float = math.inf
    since_s: float | None = None

    @property
    def until_s(self) -> float:
        """What is nearest to the body counts: while a skill is under way, its word."""
        return self.planner_s if math.isinf(self.skills_s) else self.skills_s


@dataclass(slots=True)
class Lockstep:
    """Who is waited for, and since when.

    The memory is waited for from the first word on that it says of one, agents from the
    first time on that somebody says to act for them.

    Attributes:
        turns: whether agents are waited for too: where thinking costs no simulated time.
        complaint: what is to be told, once somebody was waited for in vain.
    """

    turns: bool
    complaint: str = ""
    _shown: dict[str, float] = field(default_factory=dict)
    _looks: dict[str, float] = field(default_factory=dict)
    _unseen_since_s: float | None = None
    _repeated_s: float = 0.0
    _actors: dict[str, _Actor] = field(default_factory=dict)

    # What happens

    def shown(self, agent: str, stamp_s: float) -> None:
        """A picture of an agent was published."""
        self._shown[agent] = stamp_s

    def memory_looks(self, agent: str, from_s: float) -> None:
        """The memory needs no picture of an agent before a time."""
        self._looks[agent] = from_s
        self._unseen_since_s = None

    def skills_act(self, agent: str, until_s: float) -> None:
        """An agent's skills do nothing new before a time; infinity: none is under way."""
        actor = self._actors.setdefault(agent, _Actor())
        actor.skills_s, actor.since_s = until_s, None

    def planner_acts(self, agent: str, until_s: float) -> None:
        """An agent's planner does nothing new before a time; infinity: not until it has news."""
        actor = self._actors.setdefault(agent, _Actor())
        actor.planner_s = until_s
        if math.isinf(actor.skills_s):
            actor.since_s = None

    def lost(self, *, memory: bool = False, skills: bool = False, planner: bool = False) -> None:
        """Somebody has left, of whom no more words come."""
        if memory:
            self._looks.clear()
        for actor in self._actors.values():
            actor.skills_s = math.inf if skills else actor.skills_s
            actor.planner_s = math.inf if planner else actor.planner_s

    def restart(self) -> None:
        """Another world, or the same from its beginning: nobody has said anything about it."""
        self._shown.clear()
        self._looks.clear()
        self._actors.clear()
        self._unseen_since_s, self.complaint = None, ""

    # What is asked

    def needs_picture(self, agent: str, now_s: float) -> bool:
        """Whether the memory would look at a picture of this time; True where it is not known."""
        return now_s >= self._looks.get(agent, -math.inf) - _EQUAL_S

    def unseen(self) -> list[str]:
        """The agents whose newest picture the memory has not done with."""
        return [
            agent
            for agent in self._looks
            if agent in self._shown and self.needs_picture(agent, self._shown[agent])
        ]

    def wakes(self, now_s: float) -> bool:
        """Whether somebody waits for a time to come, with no agent under way."""
        return self.turns and any(
            now_s < actor.until_s - _EQUAL_S and not math.isinf(actor.until_s)
            for actor in self._actors.values()
        )

    def holds(self, now_s: float, wall_s: float, busy: frozenset[str]) -> bool:
        """Whether time stands at `now_s` for somebody who has not done with it.

        Args:
            now_s: on the world's clock.
            wall_s: on a monotonic clock.
            busy: the agents that carry out a primitive.
        """
        waits_for_memory = self._holds_for_memory(wall_s)
        return self._holds_for_turns(now_s, wall_s, busy) or waits_for_memory

    def repeats(self, wall_s: float) -> bool:
        """Whether the pictures that were not seen are to be sent once more."""
        if self._unseen_since_s is None or wall_s - self._repeated_s < REPEAT_S:
            return False
        self._repeated_s = wall_s
        return True

    def _holds_for_memory(self, wall_s: float) -> bool:
        unseen = self.unseen()
        if not unseen:
            self._unseen_since_s = None
            return False
        if self._unseen_since_s is None:
            self._unseen_since_s = self._repeated_s = wall_s
        if wall_s - self._unseen_since_s < PATIENCE_S:
            return True
        self._complain(f"the memory, which has not seen what {', '.join(unseen)} saw")
        self._looks.clear()
        self._unseen_since_s = None
        return False

    def _holds_for_turns(self, now_s: float, wall_s: float, busy: frozenset[str]) -> bool:
        """Agents that do nothing while somebody may be about to make them act hold up the others.

        Where there are no others nobody is held up, however long it takes.
        """
        if not self.turns or not (busy or self.wakes(now_s)):
            return False
        held = False
        for agent, actor in self._actors.items():
            if agent in busy or actor.until_s - _EQUAL_S > now_s:
                actor.since_s = None
                continue
            if actor.since_s is None:
                actor.since_s = wall_s
            if wall_s - actor.since_s < PATIENCE_S:
                held = True
            else:
                self._complain(f"who acts for {agent}")
                actor.skills_s, actor.planner_s, actor.since_s = math.inf, math.inf, None
        return held

    def _complain(self, who: str) -> None:
        self.complaint = (
            f"time goes on without {who}: no word for {PATIENCE_S:g} s; "
            "it is waited for again once it speaks"
        )
