"""The three roles: their prompts, the forms of their replies, and what a reply says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

from papers.helper.programs.parsing import parse_program, program_grammar
from papers.helper.programs.program import Program
from planner.models.chat import Message, Role, Speaker
from planner.models.gbnf import quoted
from planner.models.replies.form import ReplyError, ReplyForm, check_length
from planner.world.geometry import record
from planner.world.topics import one_line

# What a program may use, as prompts describe it (HELPER-D40); the wording is our own.

PROGRAM_INTERFACE = '''\
class InteractionObject:
    """One physical thing or piece of furniture in the house."""

    def __init__(self, object_class: str, landmark: str = None, attributes: list = []):
        """
        object_class: a category of the list below.
        landmark: the category of what it is on, in or near, if the dialogue says so.
        attributes: the states that it has to end in, of "toasted", "clean" and "cooked".
        Example: mug = InteractionObject("Mug", landmark = "Sink", attributes = ["clean"])
        """

    def go_to(self):
        """Walk up to it. Do this before anything else is done with it.
        Example: mug.go_to()"""

    def pickup(self):
        """Take it into the hand, which has to be empty. Assumes that the robot is at it.
        Example: mug.go_to(); mug.pickup()"""

    def place(self, landmark_name):
        """Put what is in the hand onto or into another InteractionObject. Assumes that this
        object is in the hand and that the robot is at the other one.
        Example: shelf.go_to(); mug.place(shelf)"""

    def slice(self):
        """Cut it into slices. Assumes that a Knife is in the hand and that the robot is at it.
        The slices are new things, such as TomatoSliced.
        Example: knife.go_to(); knife.pickup(); tomato.go_to(); tomato.slice()"""

    def toggle_on(self):
        """Switch it on, if it is off.
        Example: lamp.go_to(); lamp.toggle_on()"""

    def toggle_off(self):
        """Switch it off, if it is on.
        Example: lamp.go_to(); lamp.toggle_off()"""

    def open(self):
        """Open it, if it is closed.
        Example: fridge.go_to(); fridge.open()"""

    def close(self):
        """Close it, if it is open.
        Example: fridge.go_to(); fridge.close()"""

    def clean(self):
        """Wash it in the sink. Assumes that it is in the hand, where it is afterwards, too.
        Example: plate.go_to(); plate.pickup(); plate.clean()"""

    def put_down(self):
        """Put it onto the nearest free place. Assumes that it is in the hand.
        Example: knife.put_down()"""

    def pour(self, landmark_name):
        """Pour what is in it into another InteractionObject. Assumes that it is in the hand
        and filled.
        Example: cup.pour(plant)"""

    def fill_up(self):
        """Fill it with water. Assumes that it is in the hand.
        Example: pot.go_to(); pot.pickup(); pot.fill_up()"""

    def pickup_and_place(self, landmark_name):
        """Walk to it, take it, walk to another InteractionObject and put it there.
        Example: pen.pickup_and_place(desk)"""

    def empty(self):
        """Take everything out of it or off it, for instance because it is full.
        Example: sink.go_to(); sink.empty()"""

    def cook(self):
        """Cook it with a suitable device. Assumes that it is in the hand.
        Example: potato_slice.go_to(); potato_slice.pickup(); potato_slice.cook()"""

    def toast(self):
        """Toast a slice of bread in the toaster. Assumes that it is in the hand.
        Example: bread_slice.go_to(); bread_slice.pickup(); bread_slice.toast()"""
'''

CORRECTIVE_INTERFACE = '''\
class AgentCorrective:
    """Movements of the robot itself, after a failure."""

    def move_back(self):
        """Step back: the robot is too close to what it wants to handle.
        Example: agent = AgentCorrective(); agent.move_back()"""

    def move_closer(self):
        """Step towards it: the robot is too far away.
        Example: agent = AgentCorrective(); agent.move_closer()"""

    def move_alternate_viewpoint(self):
        """Go to another side: something is in the way, or hides what is wanted.
        Example: agent = AgentCorrective(); agent.move_alternate_viewpoint()"""
'''


# The prompts of planner, rectifier and locator: the paper's fields in its order (HELPER-2.1).
#
# Pure functions of their inputs. The wording is our own (HELPER-D40). What does not depend on the
# request comes first as far as the order allows it, so that servers can cache it.

PROGRAM_CUE, EXPLAIN_CUE, ANSWER_CUE = "Python script:", "Explain:", "answer:"
PLAN_HEADER = "Plan (Python script):"
DIALOGUE = "dialogue: "

_PLANNER_ROLE = (
    "You translate a dialogue between a person and a household robot into a Python program for "
    "the robot."
)
_TASK = "Write a Python script that uses only the class and the functions above."
_FORMAT = (
    "Keep to the format of the examples: statements, and comments that begin with #. Reason step "
    "by step in comments."
)
_CONSISTENT = (
    "The plan has to be consistent; for instance, never open what the plan has opened already."
)
_AFFORDANCES = (
    "Respect what things can do; for instance, only devices with a switch are toggled, and only "
    "receptacles hold things."
)
_ONE_IN_HAND = "The robot holds one object at a time. Put it down before the next one is picked up."
_ONE_EACH = (
    "Make a new InteractionObject for each physical object, also for several of one category."
)
_RECTIFIER_ROLE = (
    "A household robot has failed at a subgoal. Given the failed subgoal, the dialogue and the "
    "error, you write the subgoals that overcome the failure."
)
_INPUTS = """\
You are given:
- Failed subgoal: the statement that failed.
- Execution error: what went wrong.
- Input dialogue: what the person wants. It may have nothing to do with the failure."""
_RESPONSE = f"""\
Respond in this format:
{EXPLAIN_CUE} Are steps missing in the plan? Why did the subgoal fail? What does the error imply?
{PLAN_HEADER} the statements that fix the failed subgoal"""
_LOCATOR_ROLE = (
    "You help a household robot to find an object. Name the 3 categories of the list near which "
    "the target object is most likely."
)
_LOCATOR_ADVICE = (
    "Use common sense about what is usually kept together, and what the dialogue says about places."
)
_LOCATOR_EXAMPLE = f"""\
For example:
target object: Knife
dialogue: <Commander> Please cut the apple. <Driver> Where is a knife? <Commander> In the sink.
{ANSWER_CUE} Sink, CounterTop, Cabinet"""
_LOCATOR_OUTPUT = "Write only 3 names of the list, separated by commas, and nothing else."


@record
class Example:
    """A retrieved pair.

    Attributes:
        text: what was said; of a correction, with the failure.
        program: what was written for it.
        failure: of a correction, the sentence that described it.
    """

    text: str
    program: str
    failure: str = ""


def planner_prompt(
    dialogue: str, examples: Sequence[Example], classes: Sequence[str]
) -> tuple[Message, ...]:
    """The planner's prompt (HELPER-2.1).

    Args:
        dialogue: what was said, on one line.
        examples: nearest first; may be empty.
        classes: the closed list of categories.
    """
    rules = (
        "Use only the class and the functions that are defined above.",
        _CONSISTENT,
        _AFFORDANCES,
        "Interpret the dialogue; never write dialogue.",
        _closed_list(classes),
        _ONE_IN_HAND,
        _ONE_EACH,
    )
    return _messages(
        (_PLANNER_ROLE, PROGRAM_INTERFACE, _TASK),
        (
            _examples(examples),
            _numbered(rules),
            _FORMAT,
            f"{DIALOGUE}{one_line(dialogue)}",
            PROGRAM_CUE,
        ),
    )


def rectifier_prompt(
    subgoal: str, failure: str, dialogue: str, examples: Sequence[Example], classes: Sequence[str]
) -> tuple[Message, ...]:
    """The rectifier's prompt (HELPER-2.5).

    Args:
        subgoal: the text of the failed statement.
        failure: the sentence that describes it.
        dialogue: what was said, on one line.
        examples: corrections, nearest first; may be empty.
        classes: the closed list of categories.
    """
    rules = (
        "Use only the classes and the functions that are defined above, and no if or else.",
        _CONSISTENT,
        _AFFORDANCES,
        "The dialogue is for orientation; never write dialogue.",
        _closed_list(classes),
        _ONE_IN_HAND,
        _ONE_EACH,
        "Fix the failed subgoal and nothing else; the rest of the plan follows by itself.",
        "Write do_nothing() if nothing should be done.",
    )
    return _messages(
        (_RECTIFIER_ROLE, PROGRAM_INTERFACE, CORRECTIVE_INTERFACE, _INPUTS),
        (
            _corrections(examples),
            _numbered(rules),
            "\n".join(
                (
                    f"Failed subgoal: {one_line(subgoal)}",
                    f"Execution error: {one_line(failure)}",
                    f"Input dialogue: {one_line(dialogue)}",
                )
            ),
            _RESPONSE,
            EXPLAIN_CUE,
        ),
    )


def locator_prompt(target: str, dialogue: str, classes: Sequence[str]) -> tuple[Message, ...]:
    """The locator's prompt (HELPER-2.9).

    Args:
        target: the category that is looked for.
        dialogue: what was said, on one line.
        classes: the closed list of categories.
    """
    return _messages(
        (f"{_LOCATOR_ROLE} The list: {', '.join(classes)}.", _LOCATOR_ADVICE, _LOCATOR_EXAMPLE),
        (
            _LOCATOR_OUTPUT,
            f"target object: {one_line(target)}\n{DIALOGUE}{one_line(dialogue)}",
            ANSWER_CUE,
        ),
    )


def _closed_list(classes: Sequence[str]) -> str:
    return f"Name only object categories of this list: {', '.join(classes)}."


def _numbered(rules: Sequence[str]) -> str:
    lines = (f"{number}. {rule}" for number, rule in enumerate(rules, start=1))
    return "\n".join(["Rules:", *lines])


def _examples(examples: Sequence[Example]) -> str:
    shown = (
        f"Example {number}:\n{DIALOGUE}{one_line(example.text)}\n{PROGRAM_CUE}\n{example.program}"
        for number, example in enumerate(examples, start=1)
    )
    return "\n".join(["Examples of dialogues and their scripts:", *shown]).rstrip()


def _corrections(examples: Sequence[Example]) -> str:
    shown = (
        f"Example {number}:\nInput dialogue: {one_line(example.text)}\n"
        f"Execution error: {one_line(example.failure)}\n{PLAN_HEADER}\n{example.program}"
        for number, example in enumerate(examples, start=1)
    )
    return "\n".join(["Examples of failures and what helped:", *shown]).rstrip()


def _messages(system: Sequence[str], request: Sequence[str]) -> tuple[Message, ...]:
    return (
        Message(Speaker.SYSTEM, "\n\n".join(system)),
        Message(Speaker.USER, "\n\n".join(request)),
    )


ValueT_co = TypeVar("ValueT_co", covariant=True)
# The paper asks the locator for three categories.
PLACES = 3
_FENCE = re.compile(r"```(?:python)?[ ]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_PLAN = re.compile(r"^[ *#]*plan[ ]*\(python script\)[ *]*:", re.MULTILINE | re.IGNORECASE)
_ROOT = re.compile(r"^root(?= ::=)", re.MULTILINE)
_MAX_EXPLANATION = 1500


class HelperRole(Protocol[ValueT_co]):
    """One request of a role."""

    @property
    def role(self) -> Role:
        """Under which its calls are traced, and by which a model may be chosen."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt."""

    @property
    def form(self) -> ReplyForm[ValueT_co]:
        """The form of the reply."""


@record
class Repair:
    """The rectifier's reply: why the subgoal failed, and what overcomes that."""

    explanation: str
    program: Program


@dataclass(frozen=True)
class ProgramForm:
    """The planner's reply: a program; a `planner.models.replies.form.ReplyForm`."""

    classes: tuple[str, ...]
    max_tokens: int = 2048
    stop: tuple[str, ...] = ("\ndialogue:",)

    @cached_property
    def grammar(self) -> str:
        """GBNF of programs over the classes."""
        return program_grammar(self.classes)

    def read(self, text: str, *, ended: bool) -> Program:
        """The program, also of a reply that repeats the cue or fences the code.

        Raises:
            ReplyError: for a reply that broke off.
            ProgramError: for anything but a program, naming line and reason.
        """
        return parse_program(_code(text, PROGRAM_CUE, ended=ended))


@dataclass(frozen=True)
class RepairForm:
    """The rectifier's reply; a `planner.models.replies.form.ReplyForm`."""

    classes: tuple[str, ...]
    max_tokens: int = 1024
    stop: tuple[str, ...] = ("\nFailed subgoal:",)

    @cached_property
    def grammar(self) -> str:
        """GBNF: one line of explanation, the header, a program."""
        program = _ROOT.sub("repair", program_grammar(self.classes, corrective=True))
        root = f'root ::= explanation "\\n" {quoted(PLAN_HEADER)} "\\n" repair'
        return f"{root}\nexplanation ::= [^\\n]{{1,{_MAX_EXPLANATION}}}\n{program}"

    def read(self, text: str, *, ended: bool) -> Repair:
        """The explanation, and the program after the header of the plan (HELPER-2.5).

        Raises:
            ReplyError: for a reply without the header, or one that broke off.
            ProgramError: for anything but a program, naming line and reason.
        """
        check_length(text)
        header = _PLAN.search(text)
        if header is None:
            raise ReplyError(f"the reply has no line {PLAN_HEADER!r}")
        explanation = text[: header.start()].strip().removeprefix(EXPLAIN_CUE).strip()
        code = _code(text[header.end() :], PROGRAM_CUE, ended=ended)
        return Repair(explanation[:_MAX_EXPLANATION], parse_program(code, corrective=True))


@dataclass(frozen=True)
class PlacesForm:
    """The locator's reply: three categories; a `planner.models.replies.form.ReplyForm`."""

    classes: tuple[str, ...]
    max_tokens: int = 64
    stop: tuple[str, ...] = ("\n",)

    @cached_property
    def grammar(self) -> str:
        """GBNF: three names of the list, separated by commas."""
        names = " | ".join(quoted(name) for name in self.classes)
        return f'root ::= name ", " name ", " name\nname ::= {names}\n'

    def read(self, text: str, *, ended: bool) -> tuple[str, ...]:
        """The names in order, with or without the cue; what is not in the list is left out.

        Raises:
            ReplyError: if no name is in the list.
        """
        check_length(text)
        line = text.strip()
        if line.casefold().startswith(ANSWER_CUE):
            line = line[len(ANSWER_CUE) :]
        usual = {name.casefold(): name for name in self.classes}
        parts = line.split(",")
        whole = parts if ended else parts[:-1]
        said = (part.strip(" .'\"[]").casefold() for part in whole)
        found = tuple(dict.fromkeys(usual[word] for word in said if word in usual))
        if not found:
            raise ReplyError("none of the names is in the list of categories")
        return found[:PLACES]


def _code(text: str, cue: str, *, ended: bool) -> str:
    """The code of a reply: within a fence if there is one, without the repeated cue.

    Raises:
        ReplyError: if the reply broke off, as its last statement may be half a one.
    """
    check_length(text)
    if not ended:
        raise ReplyError("the reply broke off")
    code = text.removeprefix(cue)
    fenced = _FENCE.search(code)
    return (fenced[1] if fenced else code).strip("\n")


@dataclass(frozen=True)
class PlannerRole:
    """Writes the program for a dialogue."""

    dialogue: str
    examples: tuple[Example, ...]
    classes: tuple[str, ...]
    role: Role = field(default=Role.PLANNER, init=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt."""
        return planner_prompt(self.dialogue, self.examples, self.classes)

    @property
    def form(self) -> ProgramForm:
        """A program."""
        return ProgramForm(self.classes)


@dataclass(frozen=True)
class RectifierRole:
    """Writes what overcomes a failure."""

    subgoal: str
    failure: str
    dialogue: str
    examples: tuple[Example, ...]
    classes: tuple[str, ...]
    role: Role = field(default=Role.CORRECTOR, init=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt."""
        return rectifier_prompt(
            self.subgoal, self.failure, self.dialogue, self.examples, self.classes
        )

    @property
    def form(self) -> RepairForm:
        """An explanation and a program."""
        return RepairForm(self.classes)


@dataclass(frozen=True)
class LocatorRole:
    """Says near what a thing may be."""

    target: str
    dialogue: str
    classes: tuple[str, ...]
    role: Role = field(default=Role.LOCATOR, init=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt."""
        return locator_prompt(self.target, self.dialogue, self.classes)

    @property
    def form(self) -> PlacesForm:
        """Three categories."""
        return PlacesForm(self.classes)


def names_of(examples: Sequence[Example]) -> str:
    """The texts of examples for the trace, one a line."""
    return "\n".join(example.text for example in examples)
