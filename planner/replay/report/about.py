"""What a bag is about: the task, house and software, and what the reader must know first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.replay.bag import Bag, impossible_text
from planner.replay.gaps import Gap
from planner.replay.report import calls, verdicts
from planner.replay.report.clock import WorldClock
from planner.replay.report.document import Instruction, Level, Notice, Subtasks, Verdicts
from planner.replay.report.messages import Answer, InstructionState, Judgement, WorldFacts
from planner.replay.report.scan import Scanned
from planner.replay.report.sources import INSTRUCTIONS
from planner.replay.report.task_settings import Task
from planner.replay.report.things import TrueWorld
from planner.replay.world_info import WORLD_INFO


@dataclass(frozen=True, slots=True)
class Facts:
    """What the bag's topics say about it; "" and None = nothing."""

    instruction: str
    house: str
    episode_id: str
    planner: str
    model: str
    backend: str
    body: str
    version: str
    seed: int | None
    agents: tuple[str, ...]


def facts_of(scanned: Scanned, world: TrueWorld | None, settings: Mapping[str, str]) -> Facts:
    """Collects the facts; the last message of each topic counts."""
    infos = [e.content for e in scanned.of(WORLD_INFO, WorldFacts)]
    states = [e.content for e in scanned.of(INSTRUCTIONS, InstructionState)]
    answers = [e.content for e in scanned.of(calls.DECISIONS, Answer)]
    judged = [e.content for e in scanned.of(verdicts.PROGRESS, Judgement)]
    judged += [e.content for e in scanned.of(verdicts.RESULT, Judgement)]
    info = infos[-1] if infos else None
    state = states[-1] if states else None
    answer = answers[-1] if answers else None
    return Facts(
        instruction=state.instruction if state else "",
        house=_first(
            info.house if info else "", state.house if state else "", world.house if world else ""
        ),
        episode_id=_first(
            info.episode_id if info else "",
            state.episode_id if state else "",
            world.episode_id if world else "",
            judged[-1].episode_id if judged else "",
        ),
        planner=_first(state.planner if state else "", answer.planner if answer else ""),
        model=_first(state.model if state else "", answer.model if answer else ""),
        backend=info.backend if info else "",
        body=", ".join(info.bodies) if info else "",
        version=_first(info.version if info else "", settings.get("version", "")),
        seed=info.seed if info else None,
        agents=info.agents if info else (),
    )


def _first(*texts: str) -> str:
    return next((text for text in texts if text), "")


def instructions_of(scanned: Scanned, clock: WorldClock) -> tuple[Instruction, ...]:
    """The states of instructions, one entry for each change."""
    found: list[Instruction] = []
    last: tuple[str, ...] = ()
    for event in scanned.of(INSTRUCTIONS, InstructionState):
        said = event.content
        now = (said.state, said.instruction, said.text, said.question)
        if now != last:
            last = now
            found.append(Instruction(clock.at(event.stamp_s, event.received_ns), *now))
    return tuple(found)


def subtasks_of(scanned: Scanned, clock: WorldClock) -> tuple[Subtasks, ...]:
    """What a planner with subtasks believed, one entry for each change."""
    found: list[Subtasks] = []
    last: tuple[object, ...] = ()
    for event in scanned.of(INSTRUCTIONS, InstructionState):
        said = event.content
        if said.open_subtasks is None:
            continue
        now = (said.open_subtasks, said.completed_subtasks, said.team_memory)
        if now != last:
            last = now
            found.append(Subtasks(clock.at(event.stamp_s, event.received_ns), *now))
    return tuple(found)


def notices_of(
    bag: Bag,
    judged: Verdicts,
    scanned: Scanned,
    missed: Mapping[str, Sequence[Gap]],
    task: Task,
) -> tuple[Notice, ...]:
    """What the reader must know first, the most serious first."""
    notices = []
    if bag.is_open:
        text = "The recording is still in progress: the report covers what was written so far."
        notices.append(Notice(Level.WARNING, text))
    elif bag.cut_short:
        text = "The recording was cut short: the report covers what was written until then."
        notices.append(Notice(Level.ERROR, text))
    if bag.impossible:
        notices.append(Notice(Level.ERROR, f"{impossible_text(bag.impossible)}."))
    if not bag.message_count:
        notices.append(Notice(Level.ERROR, "There is no message in the bag."))
    if judged.agree is False:
        text = "The verdict by the bag is not the one that was given live."
        notices.append(Notice(Level.ERROR, text))
    if missed:
        count = sum(gap.missing for several in missed.values() for gap in several)
        text = f"{count} messages of {len(missed)} topics are missing; see the topics."
        notices.append(Notice(Level.WARNING, text))
    if scanned.unreadable:
        text = f"Messages of {len(scanned.unreadable)} topics could not be read; see the faults."
        notices.append(Notice(Level.WARNING, text))
    if judged.bag is None:
        what = "The verdict is the live one alone" if judged.live else "There is no verdict"
        notices.append(Notice(Level.INFO, f"{what}: {judged.reason}."))
    if task.house is None:
        notices.append(Notice(Level.INFO, f"The map has no background: {task.reason}."))
    return tuple(notices)
