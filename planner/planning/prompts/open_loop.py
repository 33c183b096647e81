"""DynaMem's planning prompt for picks and places alone, and the form of its reply (EPM-2.9)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.models.chat import Message, Speaker
from planner.models.replies.form import ReplyError, check_length
from planner.world.skill import SkillName

# Ours; a task of PARTNR has a few.
MAX_STEPS = 60
_STEP = re.compile(r"([A-Za-z]+)\[([^\[\]\n]*)\]")
_PROMPT = """\
You are a helpful planning agent who helps with household tasks. Your job is to break down the \
given instruction into a list of actions. Each subtask should be a single action that can be \
executed by the agent. The agent only understands following actions:

- Pick[object-name, context]
- Place[furniture-name, context]
- Done[]

If there is no additional context to the object then only use the object-name do not add any \
unspecified context. The object's name should always be the first in this list. The agent can only \
pick and place objects. It cannot move them directly. The agent can only pick up one object at a \
time. The agent can only place the object in one location at a time.

Following are a few examples of how to break down the instruction into subtasks:

Example 1:
Instruction: Help me move the duck toy from the chest of drawers in play room to the living room.
Actions:
- Pick[duck toy, chest of drawers in play room]
- Place[table, living room]
- Done[]

Example 2:
Instruction: Let's decorate! Move the vase and the plate from the kitchen to the bedroom.
Actions:
- Pick[vase, in kitchen]
- Place[bed, in bedroom]
- Pick[plate, in kitchen]
- Place[bed, in bedroom]
- Done[]

Example 3:
Instruction: I need a clean-up in this house. Move the apple to the kitchen counter and the banana \
to the fridge.
Actions:
- Pick[apple]
- Place[kitchen counter]
- Pick[banana]
- Place[fridge]
- Done[]

Input:
"""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A primitive: `verb` is Pick or Place, `words` name what it is about with its context."""

    verb: SkillName
    words: str

    def __str__(self) -> str:
        return f"{self.verb}[{self.words}]"


def plan_prompt(instruction: str) -> tuple[Message, ...]:
    """The whole prompt; the reply is the list of actions."""
    text = f"{_PROMPT}Instruction: {' '.join(instruction.split())}\nActions:\n"
    return (Message(Speaker.USER, text),)


def plan_text(steps: tuple[PlanStep, ...]) -> str:
    """A plan as a model writes it."""
    return "\n".join(f"- {step}" for step in (*steps, f"{SkillName.DONE}[]"))


@dataclass(frozen=True, slots=True)
class PlanReply:
    """A plan; a `planner.models.replies.form.ReplyForm`. What follows `Done[]` is not read."""

    max_tokens: int = 1024
    stop: tuple[str, ...] = ("Instruction:",)
    grammar: str = (
        f'root ::= step{{0,{MAX_STEPS}}} "- Done[]"\n'
        'step ::= "- " ("Pick" | "Place") "[" [A-Za-z0-9] [A-Za-z0-9 ,\'_-]{0,79} "]\\n"\n'
    )

    def read(self, text: str, *, ended: bool) -> tuple[PlanStep, ...]:
        """The steps before `Done[]`.

        Raises:
            ReplyError: for another action, one without a name, too many, or a plan cut off.
        """
        check_length(text)
        steps: list[PlanStep] = []
        for verb, inside in _STEP.findall(text):
            if verb == SkillName.DONE:
                return tuple(steps)
            if verb not in (SkillName.PICK, SkillName.PLACE):
                raise ReplyError(f"there is no action {verb}; known are Pick, Place and Done")
            if not (words := " ".join(inside.split()).strip(" ,")):
                raise ReplyError(f"action {len(steps) + 1}: {verb}[] names nothing")
            if len(steps) == MAX_STEPS:
                raise ReplyError(f"the plan has more than {MAX_STEPS} actions")
            steps.append(PlanStep(SkillName(verb), words))
        if not steps:
            raise ReplyError("the reply has no action")
        if not ended:
            raise ReplyError("the plan is cut off before Done[]")
        return tuple(steps)
