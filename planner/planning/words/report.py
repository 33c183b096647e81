"""What was done of an instruction and what was not, in its own words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from planner.grounding.records import Grounding, Question, Unbound, Why


@dataclass(frozen=True, slots=True)
class Report:
    """The end of an instruction.

    Attributes:
        done: requests that were carried out.
        not_done: those that were not, with the reason.
        remarks: what else the person should know, such as where something is.
    """

    done: tuple[str, ...]
    not_done: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left."""
        return not self.not_done

    def __str__(self) -> str:
        parts = [f"done: {'; '.join(self.done)}"] if self.done else []
        parts += [f"not done: {'; '.join(self.not_done)}"] if self.not_done else []
        return ". ".join([*parts, *self.remarks]) or "nothing had to be done"


def report(
    grounding: Grounding,
    achieved: Collection[int],
    unanswered: Collection[Question],
    held: Collection[int],
    left_out: Sequence[str],
    reason: str = "",
) -> Report:
    """Compares what was asked for with what was achieved.

    Args:
        grounding: the newest.
        achieved: its propositions that are done.
        unanswered: questions without a useful answer.
        held: requests that hold without having been worked on.
        left_out: sentences that were not understood.
        reason: why work ended, if it did not succeed.
    """
    done, not_done = [], []
    for index, words in enumerate(grounding.request_words):
        own = [u for u in grounding.unbound if u.request == index]
        why = _why(grounding, achieved, unanswered, index, own, reason)
        if index in held:
            done.append(words)
        elif why:
            not_done.append(f"{words} ({why})")
        elif not own or any(request == index for request in grounding.requests):
            done.append(words)
    not_done += [f'"{sentence}" (not understood)' for sentence in left_out]
    remarks = tuple(u.text for u in grounding.unbound if not u.fails)
    return Report(tuple(done), tuple(not_done), remarks)


def _why(
    grounding: Grounding,
    achieved: Collection[int],
    unanswered: Collection[Question],
    index: int,
    unbound: Sequence[Unbound],
    reason: str,
) -> str:
    """Why a request is not done; "" if it is."""
    reasons = [f'no answer to "{q.text}"' for q in unanswered if q.request == index]
    sought = [m for m in grounding.missing if m.request == index and not m.condition]
    if not reasons:
        reasons += [f"not found: {m.words}" for m in sought]
    reasons += [u.text for u in unbound if u.fails]
    own = [number for number, request in enumerate(grounding.requests) if request == index]
    if not reasons and not set(own) <= set(achieved):
        reasons.append(reason or "not achieved")
    return ", ".join(dict.fromkeys(reasons))


def impossible_parts(unbound: Sequence[Unbound]) -> tuple[str, ...]:
    """What no house could satisfy, a part each, for the person to know before anything moves."""
    return tuple(f"cannot be done: {u.words} ({u.text})" for u in unbound if _is_hopeless(u))


def _is_hopeless(part: Unbound) -> bool:
    return part.why in (Why.UNFIT, Why.UNSAYABLE)


def is_impossible(unbound: Sequence[Unbound]) -> bool:
    """Whether no house could satisfy what failed."""
    failed = [u for u in unbound if u.fails]
    return bool(failed) and all(map(_is_hopeless, failed))
