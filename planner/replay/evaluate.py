"""`planner evaluate BAG`: the verdict again, from the true world's states in a bag."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Mode, Verdict
from planner.replay.bag import read_bag
from planner.world.errors import FileError
from planner.world.house_checks import load_episode
from planner.world.state import WorldState
from planner.world.wire import world_record

STATES = "/world/state"
RESULT = "/evaluation/result"


@dataclass(frozen=True, slots=True)
class LiveVerdict:
    """What the evaluator node said when the run was recorded."""

    success: bool
    percent_complete: float
    sim_steps: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """The verdict from the bag's states, and the live one where the bag has it."""

    verdict: Verdict
    live: LiveVerdict | None

    @property
    def agrees(self) -> bool:
        """Whether both say the same; true where there is no live one."""
        if self.live is None:
            return True
        return (
            self.live.success == self.verdict.success
            and abs(self.live.percent_complete - self.verdict.percent_complete) < 1e-6
            and self.live.sim_steps == self.verdict.sim_steps
        )


def evaluate_bag(bag: Path, mode: Mode = Mode.STRICT, episode: str = "") -> Replayed:
    """Judges the last episode of a bag.

    Args:
        bag: the bag's folder.
        mode: by whose rules.
        episode: name or file; empty = the one that the states name.

    Raises:
        FileError: where the bag cannot be read, holds no state, or its episode is not found.
    """
    states, live = _last_run(bag)
    if not states:
        raise FileError(bag, STATES, "holds no state of the world, so nothing can be judged")
    task, house = load_episode(episode or states[0].episode_id)
    if task.evaluation is None:
        raise FileError(bag, "evaluation", f"episode {task.episode_id} says no goal")
    evaluator = Evaluator(read_evaluation(task.evaluation, task.episode_id), house, states[0], mode)
    for state in states[1:]:
        # What happened after the live verdict is not part of the run.
        if live is None or state.step <= live.sim_steps:
            evaluator.update(state)
    return Replayed(evaluator.finish(), live)


def _last_run(bag: Path) -> tuple[list[WorldState], LiveVerdict | None]:
    states: list[WorldState] = []
    live: LiveVerdict | None = None
    for message in read_bag(bag, (STATES, RESULT)):
        if message.topic == STATES:
            state = _sharing(world_record(message.content), states[-1] if states else None)
            if states and (
                state.episode_id != states[-1].episode_id or state.step < states[-1].step
            ):
                states, live = [], None
            states.append(state)
        elif not states or message.content.episode_id == states[-1].episode_id:
            content = message.content
            live = LiveVerdict(
                success=int(content.status) == int(content.SUCCEEDED),
                percent_complete=float(content.percent_complete),
                sim_steps=int(content.sim_step),
            )
    return states, live


def _sharing(state: WorldState, before: WorldState | None) -> WorldState:
    """The state with the records of the one before where nothing changed.

    The evaluator looks only at records that are not the same as before.
    """
    if before is None:
        return state
    old = before.entities
    entities = {
        name: old[name] if old.get(name) == entity else entity
        for name, entity in state.entities.items()
    }
    return replace(state, entities=entities)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", type=Path, help="folder of the bag")
    parser.add_argument("--mode", choices=[m.value for m in Mode], default=Mode.STRICT.value)
    parser.add_argument("--episode", default="", help="name or file; default: as the bag says")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the verdict; 0 on success, 1 otherwise, 2 where the bag cannot be judged."""
    replayed = evaluate_bag(args.bag, Mode(args.mode), args.episode)
    verdict = replayed.verdict
    if args.json:
        document = {
            "episode": verdict.episode_id,
            "success": verdict.success,
            "percent_complete": verdict.percent_complete,
            "sim_steps": verdict.sim_steps,
            "mode": verdict.mode.value,
            "explanation": verdict.explanation,
            "agrees_with_live": replayed.agrees if replayed.live else None,
        }
        print(json.dumps(document, indent=2))
        return 0 if verdict.success else 1
    if verdict.explanation:
        print(f"why: {verdict.explanation}")
    word = "success" if verdict.success else "failure"
    print(
        f"verdict: {word}  percent_complete: {verdict.percent_complete:.2f}  "
        f"sim_steps: {verdict.sim_steps}  mode: {verdict.mode.value}  {_agreement(replayed)}"
    )
    return 0 if verdict.success else 1


def _agreement(replayed: Replayed) -> str:
    if replayed.live is None:
        return "live: not in the bag"
    if replayed.agrees:
        return "live: the same"
    live = replayed.live
    return f"live: DIFFERENT (success {live.success}, {live.percent_complete:.2f})"
