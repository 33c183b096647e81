"""Joint actions that do the tasks of test_planners_alike.py, as LLaMAR's models write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from papers.llamar.actions import DONE, Action, Verb, parse_action
from papers.llamar.coela import SEND
from planner.models.chat import Completion, Request, Role
from planner.world.vocabulary import Relation

NAMES = ("Alice", "Bob")
SUBTASK = "put everything where it belongs"
Joint = Sequence[str]
Steps = Sequence[Joint]

JOINT: Mapping[str, Steps] = {
    "cup": (
        ("Pickup(Cup_1)",),
        ("Rotate(Right)",),
        ("NavigateTo(Table_2)",),
        ("Put(Table_2)",),
        ("Done",),
    ),
    "cup_and_apple": (
        ("NavigateTo(Cup_1)", "Rotate(Left)"),
        ("Pickup(Cup_1)", "stay idle"),
        ("NavigateTo(Couch_1)", "NavigateTo(Apple_1)"),
        ("Put(Couch_1)", "Pickup(Apple_1)"),
        ("stay idle", "NavigateTo(Couch_1)"),
        ("stay idle", "Put(Couch_1)"),
        ("Done", "Done"),
    ),
    "cabinet": (
        ("Rotate(Right)",),
        ("Rotate(Right)",),
        ("NavigateTo(Cabinet_1)",),
        ("Open(Cabinet_1)",),
        ("NavigateTo(Apple_1)",),
        ("Pickup(Apple_1)",),
        ("NavigateTo(Cabinet_1)",),
        ("Put(Cabinet_1, within)",),
        ("Done",),
    ),
    "graph": (
        ("NavigateTo(Fridge_1)",),
        ("Open(Fridge_1)",),
        ("NavigateTo(Apple_1)",),
        ("Pickup(Apple_1)",),
        ("NavigateTo(Fridge_1)",),
        ("Put(Fridge_1)",),
        ("Done",),
    ),
}

# Of agents that can only choose what they see: table and couch are in another room, so that the
# cup comes nowhere.
CHOSEN: Mapping[str, Steps] = {
    "cup": (("Pickup(Cup_1)",), ("Rotate(Right)",), ("Move(Ahead)",), ("Done",)),
    "cup_and_apple": (
        ("NavigateTo(Cup_1)", "Rotate(Left)"),
        ("Pickup(Cup_1)", "Rotate(Right)"),
        ("Rotate(Left)", "stay idle"),
        ("Open(Cabinet_1)", "stay idle"),
        ("NavigateTo(Cabinet_1)", "stay idle"),
        ("Done", "Done"),
    ),
}


def replies(planner: str, steps: Steps) -> list[str]:
    """The replies of a planner's model in order; the Corrector corrects nothing."""
    make = {
        "llamar": _four_roles,
        "llamar_act": lambda steps: (_line(step, {}, "{}") for step in steps),
        "llamar_react": lambda steps: (
            json.dumps({"Think": "t", "Action": dict(zip(NAMES, step, strict=False))})
            for step in steps
        ),
        "llamar_cot": lambda steps: (_line(step, {"reason": "r"}, "{}") for step in steps),
        "llamar_smart_llm": _program,
    }[planner]
    return list(make(steps))


def _four_roles(steps: Steps) -> Iterator[str]:
    for number, step in enumerate(steps):
        yield json.dumps({"reason": "r", "plan": [SUBTASK]})
        texts = {"failure reason": None, "memory": f"memory {number}", "reason": "r"}
        yield _line(step, {**texts, "subtask": SUBTASK}, "{}'s action")
        yield _line((None,) * len(step), {"failure reason": None}, "{}'s corrective action")
        yield json.dumps({"reason": "r", "completed subtasks": []})


class Choosing:
    """A model of CoELA's agents: they greet each other, then do a script, turning to what it names.

    Attributes:
        texts: its replies.
    """

    name = "choosing"

    def __init__(self, task: str) -> None:
        steps = CHOSEN.get(task, JOINT[task])
        self.texts: list[str] = []
        self._left = {
            name: [_where(parse_action(step[place])).words for step in steps]
            for place, name in enumerate(NAMES[: len(steps[0])])
        }
        self._silent = set(NAMES[: len(steps[0])]) if len(steps[0]) > 1 else set()

    async def complete(self, request: Request) -> Completion:
        text = request.messages[1].text
        name = next(name for name in NAMES if f"\n{name}'s observation" in text)
        if request.role is Role.MESSENGER:
            said = f"Good morning from {name}." if name in self._silent else None
            self.texts.append(json.dumps({"message": said}))
        else:
            self.texts.append(json.dumps({"reason": "r", "choice": self._choice(name, text)}))
        return Completion(self.texts[-1])

    def _choice(self, name: str, text: str) -> str:
        # Who greets has heard those before: what ends in the same moment has no order over ROS.
        before = NAMES[: NAMES.index(name)]
        if name in self._silent and all(f", {one}: " in text for one in before):
            self._silent.remove(name)
            return SEND
        left = self._left[name]
        words = left[0] if left else Action(Verb.DONE).words
        if f". {words}\n" not in f"{text}\n":
            return Action(Verb.ROTATE, "Left").words
        del left[:1]
        return words

    async def close(self) -> None:
        pass


def _where(action: Action) -> Action:
    """CoELA's list says where things are put."""
    if action.verb is not Verb.PUT or action.relation is not None:
        return action
    is_closed = action.argument.startswith("Fridge")
    return replace(action, relation=Relation.WITHIN if is_closed else Relation.ON)


def _program(steps: Steps) -> Iterator[str]:
    """A function for each agent, and a thread that calls it."""
    names = NAMES[: len(steps[0])]
    functions, threads, starts = [], [], []
    for place, name in enumerate(names):
        actions = [parse_action(step[place]) for step in steps]
        lines = [
            ", ".join([f"    {one.verb}(robot", *(f'"{word}"' for word in _words(one))]) + ")"
            for one in actions
            if one != DONE
        ]
        functions.append("\n".join([f"def work_{name.lower()}(robot):", *lines]))
        target = f"target=work_{name.lower()}, args=({name},)"
        threads.append(f"t{place} = threading.Thread({target})")
        starts.append(f"t{place}.start()")
    yield "\n".join(functions)
    yield "\n".join([*threads, *starts])


def _words(action: Action) -> list[str]:
    return [word for word in (action.argument, action.relation) if word]


def _line(step: Sequence[str | None], texts: Mapping[str, str | None], key: str) -> str:
    own = {key.format(name): text for name, text in zip(NAMES, step, strict=False)}
    return json.dumps({**texts, **own})
