"""What the operator answers to a question of an agent, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from planner.world.geometry import Vec3
from planner.world.primitive import PrimitiveResult
from sim_bridge.backend import Backend, Handle
from sim_bridge.control import Outcome
from sim_bridge.frames import optical_frame
from sim_bridge.safety.approvals import in_map, point_at
from sim_bridge.safety.guard import Entry, Guard, not_allowed
from sim_bridge.safety.order_desk import Note
from sim_bridge.safety.rules import Rule
from sim_bridge.safety.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class Effects:
    """What an answer leads to in the gate: a primitive begins or ends, and a receipt is kept."""

    entry: Callable[[Handle], Entry]
    launch: Callable[[Entry], None]
    finish: Callable[[Entry, PrimitiveResult], None]
    note: Note


class Answers:
    """Takes the operator's answers to what waits for approval."""

    def __init__(
        self,
        backend: Backend,
        verdicts: Verdicts,
        guards: Callable[[], Mapping[str, Guard]],
        effects: Effects,
    ) -> None:
        """Answers for the agents of `guards`, in the world of `backend`."""
        self._backend, self._verdicts = backend, verdicts
        self._guards, self._effects = guards, effects

    def answer(
        self,
        agent: str,
        *,
        approve: bool,
        remember: bool = False,
        target_m: Vec3 | None = None,
        pixel: tuple[int, int] | None = None,
    ) -> Outcome:
        """The operator approves or refuses what waits.

        Args:
            agent: whose question is answered.
            approve: whether it may be done.
            remember: whether later ones of its kind are allowed as well.
            target_m: do it at this point of the map instead.
            pixel: do it at what this pixel of the picture shows instead.
        """
        waits = self._guards()[agent].approvals.asked
        if approve and waits is not None and pixel is not None:
            target_m = None if waits.view is None else point_at(waits.view, pixel)
            if target_m is None:
                return Outcome(False, f"pixel {pixel} of the picture shows nothing; it still waits")
        asked = self._guards()[agent].approvals.take(
            agreed=approve and target_m is None, remember=approve and remember
        )
        if asked is None:
            return Outcome(False, "nothing waits for approval")
        entry = self._effects.entry(asked.handle)
        if approve:
            return self._approved(agent, entry, target_m)
        self._effects.finish(
            entry, not_allowed(agent, Rule.APPROVAL, "REFUSED", "the operator refused it")
        )
        return Outcome(True, f"{asked.primitive.name} was refused")

    def answer_at(self, agent: str, point_m: Vec3, frame: str) -> Outcome:
        """The operator approves what waits at another place.

        Args:
            agent: whose question is answered.
            point_m: a point of `frame`; of the frame of the hand's pictures a pixel of the one
                that was shown with the question, as column, row and anything.
            frame: `map`, one of the agent's frames that targets may have, or that of the pictures.
        """
        command = "safety/approve_at"
        pictures = optical_frame(agent, "hand")
        if not all(math.isfinite(value) for value in point_m):
            outcome = Outcome(False, f"{command}: the point is no number; give finite values")
        elif frame == pictures:
            pixel = (round(point_m[0]), round(point_m[1]))
            outcome = self.answer(agent, approve=True, pixel=pixel)
        elif frame in ("map", f"{agent}/odom", f"{agent}/base_link"):
            target_m = in_map(self._backend, agent, point_m, frame)
            outcome = self.answer(agent, approve=True, target_m=target_m)
        else:
            text = (
                f"{command} in the frame {frame!r} is not used; give a point of 'map', of "
                f"'{agent}/odom' or '{agent}/base_link', or a pixel of {pictures!r}"
            )
            outcome = Outcome(False, text)
        if not outcome.success:
            self._effects.note(agent, command, False, outcome.message, Rule.APPROVAL)
        return outcome

    def _approved(self, agent: str, entry: Entry, target_m: Vec3 | None) -> Outcome:
        guard = self._guards()[agent]
        if target_m is not None:
            entry.primitive = replace(entry.primitive, target_m=target_m, frame="map")
        refusal = self._verdicts.refusal(agent, guard, entry.primitive)
        if refusal is not None:
            self._effects.finish(entry, refusal)
            return Outcome(False, refusal.text)
        guard.approved = guard.current
        self._effects.launch(entry)
        where = "" if target_m is None else " at another place"
        return Outcome(True, f"{entry.primitive.name} was approved{where}")
