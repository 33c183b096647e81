"""The prompts of planner, rectifier and locator: the paper's fields in its order (HELPER-2.1).

Pure functions of their inputs. The wording is our own (HELPER-D40). What does not depend on the
request comes first as far as the order allows it, so that servers can cache it.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.models.chat import Message, Speaker
from planner.planning.helper.interface_text import CORRECTIVE_INTERFACE, PROGRAM_INTERFACE
from planner.world.instruct import one_line
from planner.world.record import record

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
    subgoal: str,
    failure: str,
    dialogue: str,
    examples: Sequence[Example],
    classes: Sequence[str],
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
