"""SmartLLM: a program of functions and threads, read as a syntax tree and carried out blindly."""

from __future__ import annotations

import json
from pathlib import Path

import graph_kitchen
import pytest
from llamar_toys import Kitchen, RoleScript

from papers.llamar.actions import Verb
from papers.llamar.joint_planner import Asking, JointPlanner
from papers.llamar.smart_llm import functions_text, make_smart_llm
from papers.llamar.smart_program import (
    AllocationReply,
    Functions,
    FunctionsReply,
    ProgramRun,
)
from papers.llamar.team import ActionOptions, verbs_of
from planner.app.embedded_run import prepare_graph
from planner.app.run import RunResult
from planner.models.caller import ModelCall
from planner.models.chat import ChatModel, Completion, Fault, Knows, Request, Role
from planner.models.gbnf import read_grammar
from planner.models.replies.form import ReplyError
from planner.models.teacher import Skill, Teacher
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.world.house_checks import load_house
from planner.world.topics import InstructionCode
from sim_bridge.graph.backend import GraphBackend

TASK = Task("Put the apple in the fridge.", ("agent_0", "agent_1"))
NAMES = ("Alice", "Bob")
VERBS = verbs_of(ActionOptions())
FUNCTIONS = """\
def fetch_apple(robot):
    NavigateTo(robot, "Apple_1")
    Pickup(robot, "Apple_1")
    NavigateTo(robot, "Fridge_1")
    Put(robot, "Fridge_1", "within")
def open_fridge(robot):
    NavigateTo(robot, "Fridge_1")
    Open(robot, "Fridge_1")"""
THREADS = """\
a = threading.Thread(target=fetch_apple, args=(Alice,))
b = threading.Thread(target=open_fridge, args=(Bob,))
a.start()
b.start()
a.join()
b.join()"""
IN_TURN = "open_fridge(Bob)\nfetch_apple(Alice)"


def functions(text: str = FUNCTIONS) -> Functions:
    return FunctionsReply(VERBS).read(text, ended=True)


def actions(text: str, allocation: str, most: int = 20) -> list[dict[str, str]]:
    """The actions of each joint step until the program has ended."""
    read = functions(text)
    run = ProgramRun(read, AllocationReply(read.by_name, NAMES).read(allocation, ended=True))
    steps: list[dict[str, str]] = []
    while step := run.next():
        steps.append({name: str(action) for name, action in step.items()})
        assert len(steps) <= most
    assert run.given == run.steps
    return steps


def made(script: RoleScript, calls: list[ModelCall] | None = None) -> JointPlanner:
    heard = calls if calls is not None else []
    asking = Asking("llamar_smart_llm", script, TASK.agents, on_call=heard.append)
    return make_smart_llm(TASK, asking)


# The program


def test_threads_work_at_the_same_time() -> None:
    assert actions(FUNCTIONS, THREADS) == [
        {"Alice": "NavigateTo(Apple_1)", "Bob": "NavigateTo(Fridge_1)"},
        {"Alice": "Pickup(Apple_1)", "Bob": "Open(Fridge_1)"},
        {"Alice": "NavigateTo(Fridge_1)"},
        {"Alice": "Put(Fridge_1, within)"},
    ]


def test_calls_and_joins_wait() -> None:
    assert [list(step) for step in actions(FUNCTIONS, IN_TURN)] == [["Bob"]] * 2 + [["Alice"]] * 4
    joined = "b = threading.Thread(target=open_fridge, args=[robots[1]])\nb.start()\nb.join()\n"
    after = actions(FUNCTIONS, joined + "fetch_apple(robots[0])")
    assert [list(step) for step in after] == [["Bob"]] * 2 + [["Alice"]] * 4


def test_two_threads_of_one_robot_take_turns_in_their_order() -> None:
    busy = THREADS.replace("Bob", "Alice")
    assert [step["Alice"] for step in actions(FUNCTIONS, busy)] == [
        "NavigateTo(Apple_1)",
        "Pickup(Apple_1)",
        "NavigateTo(Fridge_1)",
        "Put(Fridge_1, within)",
        "NavigateTo(Fridge_1)",
        "Open(Fridge_1)",
    ]


def test_a_function_may_need_a_coalition() -> None:
    together = "def both(a, b):\n    Open(b, 'Fridge_1')\n    Explore(a)\n    pass"
    assert actions(together, "both(Alice, Bob)") == [
        {"Bob": "Open(Fridge_1)"},
        {"Alice": "Explore"},
    ]


@pytest.mark.parametrize("text", [FUNCTIONS, "def wander(robot):\n    Move(robot, 'Ahead')"])
def test_the_grammar_and_the_parser_agree_on_functions(text: str) -> None:
    form = FunctionsReply(VERBS)
    again = functions_text(functions(text).by_name)
    assert read_grammar(form.grammar).accepts(again)
    assert functions(again).by_name == functions(text).by_name


@pytest.mark.parametrize("text", [THREADS, IN_TURN])
def test_the_grammar_and_the_parser_agree_on_lines(text: str) -> None:
    assert read_grammar(AllocationReply(functions().by_name, NAMES).grammar).accepts(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("while True:\n    pass", "line 1: expected a function, not a loop"),
        (
            "def f(r):\n    for x in y:\n        Open(r, 'A_1')",
            "line 2: expected a call, not a loop",
        ),
        ("def f(r):\n    f(r)", "line 2: 'f' is not an action"),
        ("def f(r):\n    Open(other, 'A_1')", "line 2: other is not defined"),
        ("def f(r):\n    Fly(r, 'A_1')", "line 2: 'Fly(A_1)' is not an action"),
        ("def f(r):\n    Open(r)", "line 2: Open takes 1 argument, not 0"),
        ("def f(r):\n    Move(r, 'Up')", "line 2: Move takes one of Ahead"),
        ("def f(r):\n    Done(r)", "line 2: there is no Done"),
        ("def f(r):\n    Open(r, open('/etc'))", "line 2: open('/etc') is not a text"),
        ("def f(r):\n    r.Open('A_1')", "line 2: expected an action of the list"),
        ("def f(r):\n    Open('A_1')", "line 2: the first argument of Open has to be a robot"),
        ("def f():\n    pass", "line 1: f takes robots, and nothing else"),
        ("def f(r=1):\n    pass", "line 1: f takes robots, and nothing else"),
        ("def f(r):\n    pass\ndef f(r):\n    pass", "line 3: f is defined twice"),
        ("def f(r):\n" + "    Explore(r)\n" * 65, "f has 65 steps, at most 64"),
        ("\n".join(f"def f{n}(r):\n    pass" for n in range(33)), "33 functions, at most 32"),
        ("import os\ndef f(r):\n    pass", "line 1: expected a function, not Import"),
        ("Ja, gern.", "the reply is not a program"),
        ("f" + "(" * 5000, "the reply is not a program"),
        ("", "the reply has no function"),
        ("#" * 30_000, "the reply has 30000 characters"),
    ],
)
def test_what_is_no_function_of_actions_is_refused_by_line(text: str, reason: str) -> None:
    with pytest.raises(ReplyError) as caught:
        functions(text)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("while True:\n    open_fridge(Bob)", "line 1: expected a call, not a loop"),
        ("fly(Bob)", "line 1: fly is not defined"),
        ("open_fridge(Carla)", "line 1: Carla is not a robot of the team"),
        ("open_fridge(robots[2])", "line 1: robots[2] is not a robot of the team"),
        ("open_fridge(Alice, Bob)", "line 1: open_fridge takes 1 different robots"),
        ("t.start()", "line 1: t is not defined"),
        ("t = open_fridge(Bob)", "line 1: expected threading.Thread(target=..., args=...)"),
        (THREADS.replace("a.start()", ""), "line 5: a was not started"),
        (f"{THREADS}\na.start()", "line 7: a was started before"),
        (f"{THREADS}\na.kill()", "line 7: a thread has start() and join(), not kill"),
        (THREADS.partition("\nb =")[0], "the thread a is never started"),
        (
            "threading.Thread(target=open_fridge, args=(Bob,)).start()",
            "line 1: expected a function",
        ),
        ("pass", "the program calls no function"),
        ("open_fridge(Bob)\n" * 129, "129 lines, at most 128"),
    ],
)
def test_what_is_no_allocation_is_refused_by_line(text: str, reason: str) -> None:
    with pytest.raises(ReplyError) as caught:
        AllocationReply(functions().by_name, NAMES).read(text, ended=True)
    assert reason in str(caught.value)


def test_code_fences_and_the_import_of_threads_are_read_over() -> None:
    read = functions(f"Here it is:\n```python\nimport threading\n{FUNCTIONS}\n```\nGood luck!")
    assert read.by_name == functions().by_name
    cut = FunctionsReply((Verb.EXPLORE,)).read("def f(r):\n    Explore(r)\n    Expl", ended=False)
    assert len(cut.by_name["f"].steps) == 1


# The planner


def test_two_calls_before_the_first_step_and_none_after(kitchen: Kitchen) -> None:
    script = RoleScript(planner=[FUNCTIONS], actor=[THREADS])
    calls: list[ModelCall] = []
    end = kitchen.run(made(script, calls), TASK)
    assert [call for agent, call in kitchen.log if agent == "agent_0"] == [
        "NavigateTo[apple_13]",
        "PickupObject[apple_13]",
        "NavigateTo[fridge_0]",
        "Wait[]",
    ]
    assert script.roles == [Role.PLANNER, Role.ACTOR] == [call.role for call in calls]
    assert end.failure == ""
    # Nobody decides by failures, but they are told at the end.
    assert end.thought == (
        "the program has ended; 2 of 6 actions failed: open object Fridge_1: failed (not "
        "applicable). Open cannot be done to Fridge_1."
    )
    assert end.evidence["program_steps"] == "6 of 6"
    assert end.evidence["joint_steps"] == "5"


def test_the_prompts_have_what_the_robots_see_at_the_start(kitchen: Kitchen) -> None:
    script = RoleScript(planner=[FUNCTIONS], actor=[IN_TURN])
    kitchen.run(made(script), TASK)
    (first,), (second,) = script.fields(Role.PLANNER), script.fields(Role.ACTOR)
    assert json.loads(first["Objects"]) == ["Fridge_1", "Table_1", "Apple_1"]
    assert list(first) == ["Task", "Robots", "Objects"]
    assert FUNCTIONS in script.messages(Role.ACTOR)[0][1].text
    assert second["Robots"] == '["Alice", "Bob"]'


def test_failures_change_nothing(kitchen: Kitchen) -> None:
    failing = kitchen.failing("agent_0")
    script = RoleScript(planner=[FUNCTIONS], actor=[THREADS])
    end = failing.run(made(script), TASK)
    assert end.evidence["program_steps"] == "6 of 6"
    assert len(script.requests) == 2


def test_a_refused_program_is_asked_for_again_with_the_reason(kitchen: Kitchen) -> None:
    loop = "while True:\n    Explore(Alice)"
    script = RoleScript(planner=[loop, FUNCTIONS], actor=[IN_TURN])
    end = kitchen.run(made(script), TASK)
    assert end.failure == ""
    again = script.messages(Role.PLANNER)[1]
    assert again[-2].text == loop
    assert "line 1: expected a function, not a loop" in again[-1].text


@pytest.mark.parametrize("stage", ["planner", "actor"])
def test_three_programs_that_loop_end_the_task_with_one_code(kitchen: Kitchen, stage: str) -> None:
    scripts = {"planner": [FUNCTIONS], "actor": [IN_TURN], stage: ["while True:\n    pass"]}
    script = RoleScript(**scripts)
    end = kitchen.run(made(script), TASK)
    assert end.end is InstructionCode.GAVE_UP
    assert end.failure.startswith(f"no program came in 3 replies: {stage}: line 1: expected a")
    assert kitchen.log == []
    assert end.evidence["unread_replies"] == "1"


INSIDE = {
    "function_name": "is_inside",
    "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
}
RIGHT = """\
def open_fridge_10(robot):
    NavigateTo(robot, "Fridge_1")
    Open(robot, "Fridge_1")
def put_apple_13(robot):
    NavigateTo(robot, "Apple_1")
    Pickup(robot, "Apple_1")
    NavigateTo(robot, "Fridge_1")
    Put(robot, "Fridge_1")"""
ALLOCATED = """\
t1 = threading.Thread(target=open_fridge_10, args=(Alice,))
t1.start()
t1.join()
t2 = threading.Thread(target=put_apple_13, args=(Alice,))
t2.start()
t2.join()"""


class Heard:
    """A model whose replies are kept, with a fault in those of one role."""

    def __init__(
        self,
        role: Role = Role.PLANNER,
        fault: Fault | None = None,
        knows: Knows = Knows.MEMORY,
    ) -> None:
        self._right = Teacher(Skill(knows=knows))
        self._wrong = Teacher(Skill({fault: 1.0})) if fault is not None else self._right
        self._role, self.name = role, self._wrong.name
        self.texts: list[str] = []

    async def complete(self, request: Request) -> Completion:
        model = self._wrong if request.role is self._role else self._right
        answer = await model.complete(request)
        self.texts.append(answer.text)
        return answer

    async def close(self) -> None:
        pass


def play(
    folder: Path,
    model: ChatModel,
    goal: object = INSIDE,
    start: tuple[float, float, float] = (3.0, 0.0, -2.2),
) -> RunResult:
    """One robot in a kitchen; at `start` it sees fridge and apple."""
    house = load_house(graph_kitchen.written(folder))
    task = graph_kitchen.task(house)
    robot = task.agents[0].model_copy(update={"start": start})
    update = {"evaluation": {"propositions": [goal]}, "agents": (robot,)}

    def planner(task: Task) -> Planner:
        return make_planner(PlannerChoice("llamar_smart_llm"), task, model)

    return prepare_graph(GraphBackend(), house, task.model_copy(update=update), planner).run()


def test_the_right_program_does_the_task(tmp_path: Path) -> None:
    model = Heard()
    result = play(tmp_path, model)
    assert model.texts == [RIGHT, ALLOCATED]
    assert (result.outcome.code, result.verdict.success) == (InstructionCode.DONE, True)
    assert result.evidence["privileged_model"] == "teacher (reads the goal; no faults)"
    assert result.evidence["program_steps"] == "6 of 6"


def test_what_nobody_has_seen_is_explored_for_and_named_in_advance(tmp_path: Path) -> None:
    model = Heard()
    play(tmp_path, model, start=(3.0, 0.0, 2.2))
    assert 'Explore(robot)\n    NavigateTo(robot, "Apple_1")' in model.texts[0]


def test_a_reader_of_the_prompt_knows_only_what_is_in_view(tmp_path: Path) -> None:
    model = Heard(knows=Knows.PROMPT)
    assert play(tmp_path, model).verdict.success
    # With its back to the kitchen the robot sees neither, though the memory knows the fridge.
    play(tmp_path, model, start=(3.0, 0.0, 2.2))
    assert model.texts[0] == RIGHT
    assert 'Explore(robot)\n    NavigateTo(robot, "Fridge_1")' in model.texts[2]


def test_what_holds_needs_no_program(tmp_path: Path) -> None:
    model = Heard()
    closed = {"function_name": "is_closed", "args": {"objects": ["fridge_10"]}}
    result = play(tmp_path, model, closed)
    assert model.texts[0] == "def wait(robot):\n    Idle(robot)"
    assert result.verdict.success


# By the role that errs.
DONE_ALL_THE_SAME = {(Role.PLANNER, Fault.REPEATED_STEP), (Role.ACTOR, Fault.REPEATED_STEP)}


@pytest.mark.parametrize("role", [Role.PLANNER, Role.ACTOR])
@pytest.mark.parametrize("fault", [f for f in Fault if f is not Fault.UNNOTICED_FAILURE])
def test_a_fault_of_a_plan_made_once_is_not_made_up_for(
    tmp_path: Path, role: Role, fault: Fault
) -> None:
    model = Heard(role, fault)
    result = play(tmp_path, model)
    number = [Role.PLANNER, Role.ACTOR].index(role)
    assert model.texts[number] != (RIGHT, ALLOCATED)[number]
    assert result.verdict.success is ((role, fault) in DONE_ALL_THE_SAME)
    # A program that cannot be read is asked for three times.
    is_refused = fault is Fault.MALFORMED or (role, fault) == (Role.ACTOR, Fault.INVENTED_ENTITY)
    assert (result.outcome.code is InstructionCode.GAVE_UP) is is_refused
    times = 3 if is_refused else 1
    assert json.loads(result.evidence["model_faults"]) == {fault.value: times}


def test_what_the_actions_cannot_do_is_said(tmp_path: Path) -> None:
    dropped = {"function_name": "is_on_floor", "args": {"objects": ["apple_13"]}}
    result = play(tmp_path, Heard(), dropped)
    assert result.outcome.code is InstructionCode.MODEL_FAULT
    assert "actions cannot make is_on_floor(apple_13) true" in result.outcome.text


def test_words_without_a_goal_are_no_task_for_it(tmp_path: Path) -> None:
    text = Task("Tidy up.", ("agent_0",))
    planner = make_planner(PlannerChoice("llamar_smart_llm"), text, Teacher(Skill()))
    house = load_house(graph_kitchen.written(tmp_path))
    episode = graph_kitchen.task(house)
    episode = episode.model_copy(update={"evaluation": {"propositions": [INSIDE]}})
    result = prepare_graph(GraphBackend(), house, episode, lambda _task: planner).run()
    assert result.outcome.code is InstructionCode.MODEL_FAULT
    assert "has none: name an episode" in result.outcome.text
