"""Free text is judged by the goal as understood, bound to the true world of its instruction."""

import gc
import json
from dataclasses import replace

import pytest
import yaml

from planner.evaluation.as_understood import StateHistory, WordsJudge, understood_of
from planner.evaluation.progress import Mode, Verdict, variant_text
from planner.world.errors import PlannerError
from planner.world.state import EntityState
from planner.world.topics import InstructState
from planner.world.vocabulary import Relation

CUP_ON_TABLE = "[{move: {the: cup}, to: {on_top: {the: table, in: {the: living room}}}}]"


def understood(goal: str, *answers: dict) -> str:
    return json.dumps({"understood": yaml.safe_load(goal), "answers": list(answers)})


@pytest.fixture
def lab(make_lab):
    found = make_lab(["cup_0", "cup_1", "plate_0"], affordances=("cleanable",))
    for name, table in (("cup_0", "table_0"), ("cup_1", "table_3"), ("plate_0", "table_0")):
        found.on(name, table)
        room = found.house.furniture_by_name[table].room
        found.entities[name] = replace(
            found.entities[name], parent=table, relation=Relation.ON, room=room
        )
    for name, room in ((r.name, r.name) for r in found.house.rooms):
        found.entities[name] = replace(found.entities[name], room=room)
    return found


class Story:
    """An instruction and what happened after it."""

    def __init__(self, lab, goal: str) -> None:
        self.lab, self.words = lab, WordsJudge()
        self.words.take(lab.state())
        self.says(goal)

    def says(self, goal: str) -> bool:
        return self.words.instruct("1", 0.0, InstructState.RUNNING, goal)

    def then(self, *_moves: object) -> None:
        self.words.take(self.lab.state())

    def verdict(self) -> Verdict:
        return self.words.evaluator(self.lab.house, Mode.STRICT).finish()


def test_done_as_understood(lab):
    story = Story(lab, understood("[{move: {the: plate}, to: {in: {the: toy box}}}]"))
    story.then(lab.inside("plate_0", "toy_box_0"))
    verdict = story.verdict()
    assert (verdict.success, variant_text(verdict)) == (True, "boxes, as understood")


def test_descriptions_hold_at_the_time_of_the_instruction(lab):
    goal = (
        "[{move: {the: cup, on_top: {the: table, in: {the: kitchen}}}, to: {in: {the: toy box}}}]"
    )
    story = Story(lab, understood(goal))
    story.then(lab.inside("cup_1", "toy_box_0"), lab.on("cup_1", "table_1"))
    assert story.verdict().explanation == '"cup_0 inside toy_box_0" was never achieved.'


def test_any_of_several_will_do_if_nobody_was_asked(lab):
    story = Story(lab, understood("[{move: {the: cup}, to: {in: {the: toy box}}}]"))
    story.then(lab.inside("cup_1", "toy_box_0"))
    assert story.verdict().success


@pytest.mark.parametrize(("moved", "success"), [("cup_0", True), ("cup_1", False)])
def test_an_answer_decides_also_if_it_came_after_the_first_move(lab, moved, success):
    goal = "[{move: {the: cup}, to: {in: {the: toy box}}}]"
    story = Story(lab, understood(goal))
    story.then(lab.inside(moved, "toy_box_0"))
    key = json.dumps({"the": "cup"}, separators=(",", ":"))
    answer = {"about": key, "names": ["cup_0"], "places": [], "every": False}
    assert story.says(understood(goal, answer))
    assert story.verdict().success is success


def test_what_the_house_lacks_fails_by_name(lab):
    box = "to: {in: {the: toy box}}"
    goal = f"[{{move: {{the: plate}}, {box}}}, {{move: {{the: vase}}, {box}}}]"
    story = Story(lab, understood(goal))
    story.then(lab.inside("plate_0", "toy_box_0"))
    verdict = story.verdict()
    assert (verdict.success, verdict.percent_complete) == (False, 0.5)
    assert verdict.explanation == '"put the vase in the toy box" cannot be done: There is no vase.'


def test_nothing_to_do_is_done(lab):
    goal = "[{move: {all: thing, in: {the: toy box}}, to: {on_top: {a: table}}}]"
    verdict = Story(lab, understood(goal)).verdict()
    assert (verdict.success, verdict.percent_complete) == (True, 1.0)


@pytest.mark.parametrize(("x_m", "success"), [(2.0, True), (8.0, False)])
def test_what_was_found_is_where_the_robot_is_at_the_end(lab, x_m, success):
    story = Story(lab, understood("[{find: {the: plate}}]"))
    story.then(lab.at("agent_0", x_m, 1.0))
    assert story.verdict().success is success


def test_what_was_found_on_the_way_is_not_judged(lab):
    clear = "{move: {all: thing, in: {the: toy box}}, to: {on_top: {a: table}}}"
    goal = f"[{{find: {{the: plate}}}}, then, {clear}]"
    with pytest.raises(PlannerError, match="does not show"):
        Story(lab, understood(goal)).verdict()


def test_an_instruction_is_not_judged_by_a_later_world(lab):
    words = WordsJudge()
    lab.state(steps=100)
    words.take(lab.state())
    words.instruct("1", 0.0, InstructState.RUNNING, understood(CUP_ON_TABLE))
    with pytest.raises(PlannerError, match="not seen at the time"):
        words.evaluator(lab.house, Mode.STRICT)


@pytest.mark.parametrize("goal", ["", "{}", "[]", "{", '{"propositions": []}', '{"understood": 3}'])
def test_other_goals_are_none_of_words(goal):
    assert not WordsJudge().instruct("1", 0.0, InstructState.RUNNING, goal)
    assert understood_of({"evaluation": {}}) is None


def test_history_gives_back_every_state(lab):
    history, states = StateHistory(), []
    for x in range(5):
        states.append(lab.at("cup_0", x, 1.0).state())
        history.take(states[-1])
    assert list(history.states()) == states
    history.forget_before(states[2].stamp_s + 0.01)
    assert list(history.states()) == states[2:]


@pytest.mark.parametrize("until", [0, 1, 255, 256, 257, 500, 699])
def test_a_long_history_is_kept_packed_and_gives_back_every_state(lab, until):
    history, states = StateHistory(), []
    for x in range(700):
        states.append(lab.at("cup_0", x / 100, 1.0).state())
        history.take(states[-1])
    history.forget_before(states[until].stamp_s)
    assert list(history.states()) == states[until:]


OPEN = (InstructState.RUNNING, understood(CUP_ON_TABLE))
OTHER = (InstructState.RUNNING, '{"propositions": []}')


@pytest.mark.parametrize(
    ("statuses", "count"),
    [
        pytest.param([OPEN], 2001, id="running"),
        pytest.param([OPEN, (InstructState.DONE, OPEN[1])], 101, id="ended"),
        pytest.param([OTHER], 101, id="structured goal"),
    ],
)
def test_of_a_long_task_only_the_newest_states_lie_in_memory_as_objects(lab, statuses, count):
    words = WordsJudge()
    words.take(lab.state())
    for state, goal in statuses:
        words.instruct("1", 0.0, state, goal)
    before = _alive()
    for x in range(2000):
        words.take(lab.at("cup_0", x / 1000, 1.0).state())
    assert _alive() - before < 300
    assert len(list(words._history.states())) <= count


def test_a_goal_that_is_understood_late_is_judged_from_the_instruction_on(lab):
    words = WordsJudge()
    words.take(lab.state())
    words.instruct("1", 0.0, InstructState.RUNNING, "")
    words.take(lab.inside("plate_0", "toy_box_0").state())
    for x in range(1000):
        words.take(lab.at("cup_0", x / 1000, 1.0).state())
    goal = understood("[{move: {the: plate}, to: {in: {the: toy box}}}]")
    assert words.instruct("1", 0.0, InstructState.RUNNING, goal)
    assert words.evaluator(lab.house, Mode.STRICT).finish().propositions[0].first_step == 1


def _alive() -> int:
    gc.collect()
    return sum(isinstance(each, EntityState) for each in gc.get_objects())
