"""Turns traces into training samples for PARTNR's fine-tuned planner (PARTNR-7.7).

Uses solved episodes, cut after the step that solved them, with one sample for each successful
action of the trained agent, without thoughts. The loss covers only the text after the special
token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.planning.prompts.partnr_state import PastAction, prompt
from planner.world.skill import SkillCall, SkillName

DONE = SkillCall(SkillName.DONE)


@dataclass(frozen=True, slots=True)
class TraceStep:
    """An action that ended.

    Attributes:
        result: its literal text.
        complete: whether the evaluator counted the whole task as solved after it.
    """

    agent: str
    call: SkillCall
    succeeded: bool
    result: str
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """A prompt, without loss, and the target text."""

    prompt: str
    target: str


def samples_of(
    instruction: str, world: str, steps: Sequence[TraceStep], agent: str
) -> list[Sample]:
    """The samples of one episode; none if it was never solved.

    Args:
        instruction: the task's words.
        world: description of the house and of what was known at the start.
        steps: of all agents, in the order in which they ended.
        agent: the agent whose actions are learned.
    """
    solved = [number for number, step in enumerate(steps) if step.complete]
    if not solved:
        return []
    if steps[-1].complete:
        kept = [step for step in steps if step.call.name != SkillName.DONE]
    else:
        # An episode that was solved once and then spoilt is still useful up to the solution.
        kept = list(steps[: solved[0] + 1])
    samples: list[Sample] = []
    past: list[PastAction] = []
    for step in kept:
        if not step.succeeded:
            continue
        own = step.agent == agent
        if own:
            samples.append(Sample(prompt(instruction, world, past), str(step.call)))
        past.append(PastAction(str(step.call), step.result, own))
    samples.append(Sample(prompt(instruction, world, past), str(DONE)))
    return samples
