"""A language model reads what the rules of English do not; its goal is checked before it counts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

import yaml
from pydantic import ValidationError

from planner.language.goal_form import REQUESTS, Goal
from planner.language.words import GENERIC_KINDS, Occasion, Relation, Spot
from planner.models.caller import Caller
from planner.models.chat import Message, Speaker
from planner.models.replies.form import ReplyError, check_length
from planner.world.states import default_states

# Descriptions in descriptions; the deepest annotated instruction has six levels.
MAX_DEPTH = 8
# The second attempt gets the reason why the first was rejected.
MAX_ATTEMPTS = 2
_EXAMPLES = {
    "Put the two plates that are in the sink into the dishwasher, then turn it on.": """
- move: {the: plate, n: 2, in: {the: sink}}
  to: {in: {the: dishwasher, as: machine}}
- then
- {make: machine, be: powered on}
""",
    "Bringst du mir bitte eine saubere rote Tasse aus der Küche?": """
- {move: {a: cup, is: clean, color: red, in: {the: kitchen}}, to: me}
""",
    "Everything on the couch except the laptop belongs on a shelf; leave the lamps alone.": """
- {move: {all: thing, on_top: {the: couch}, except: {the: laptop}}, to: {on_top: {a: shelf}}}
- any_time
- {leave: {all: lamp}}
""",
    "How are you today?": "[]",
}


@dataclass(frozen=True)
class GoalReply:
    """A goal in its form of files, as JSON; a `planner.models.replies.form.ReplyForm`."""

    max_tokens: int = 1024
    stop: tuple[str, ...] = ()

    @cached_property
    def grammar(self) -> str:
        """GBNF of a JSON array of bounded depth; what is in it is checked afterwards."""
        rules = [
            'root ::= "[" (value8 ("," value8){0,31})? "]"'.replace("8", str(MAX_DEPTH)),
            r'text ::= "\"" [a-z0-9_ ]{1,40} "\""',
            'scalar ::= text | [1-9] [0-9]{0,2} | "true"',
            "value0 ::= scalar",
        ]
        for depth in range(1, MAX_DEPTH + 1):
            inner = f"value{depth - 1}"
            field = f'text ":" {inner}'
            rules.append(
                f'value{depth} ::= scalar | "{{" {field} ("," {field}){{0,9}} "}}" '
                f'| "[" {inner} ("," {inner}){{0,9}} "]"'
            )
        return "\n".join(rules) + "\n"

    def read(self, text: str, *, ended: bool) -> Goal | None:
        """The goal; None if the model says that nothing is asked for.

        Raises:
            ReplyError: naming the field.
        """
        check_length(text)
        begin = text.find("[")
        if begin < 0:
            raise ReplyError("the reply has no JSON array")
        try:
            found, _ = json.JSONDecoder().raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            raise ReplyError(f"the reply is not JSON: {error}") from None
        if not found and ended:
            return None
        try:
            return Goal.model_validate(found)
        except (ValidationError, RecursionError) as error:
            first = error.errors()[0] if isinstance(error, ValidationError) else {"msg": str(error)}
            where = ".".join(map(str, first.get("loc", ()))) or "the goal"
            raise ReplyError(f"{where}: {first['msg']}") from None


async def read_by_model(text: str, caller: Caller) -> Goal | None:
    """The goal of an instruction; None if the model finds none, or its replies are wrong.

    Raises:
        ModelError: if there is no reply.
    """
    messages: tuple[Message, ...] = (
        Message(Speaker.SYSTEM, _rules()),
        Message(Speaker.USER, f"Instruction: {text}\nGoal:"),
    )
    for cycle in range(1, MAX_ATTEMPTS + 1):
        reply = await caller.ask(messages, GoalReply(), cycle=cycle)
        if reply.error is None:
            return reply.value
        wrong = Message(Speaker.ASSISTANT, reply.completion.text[:1000])
        messages = (*messages, wrong, Message(Speaker.USER, f"Wrong: {reply.error}\nGoal:"))
    return None


def _rules() -> str:
    examples = "\n".join(
        f"Instruction: {said}\nGoal: {json.dumps(yaml.safe_load(goal))}"
        for said, goal in _EXAMPLES.items()
    )
    return (
        "Write what a household instruction asks for as a JSON array of requests, in their order, "
        'with "then" between steps. Write [] if it asks for nothing that can be done, or if you '
        "are not sure.\n"
        f"Requests: {', '.join(REQUESTS)}. Places: {', '.join(Relation)}, or {', '.join(Spot)}.\n"
        f"Occasions of prepare: {', '.join(Occasion)}.\n"
        "Kinds are singular English nouns of household things, furniture and rooms, or "
        f"{', '.join(sorted(GENERIC_KINDS))}.\n"
        f"States: {', '.join(default_states().by_word())}, open, closed.\n{examples}"
    )
