"""The memory as one object: effects, belief, deltas and rhythm (EPM-C22)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from memory_samples import layout_of

from planner.memory.camera import surface_point
from planner.memory.memory import EditError, Memory
from planner.memory.updater import Facts, Operation
from planner.parts.calls import parse_call
from planner.world.belief import OperationKind, Source
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.observation import Observation
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import AgentKind, EntityKind, Relation

ADD, UPDATE, REMOVE = OperationKind.ADD, OperationKind.UPDATE, OperationKind.REMOVE
OK = SkillResult.success()


def add(name: str, class_name: str = "cup") -> Operation:
    facts = Facts(class_name, (0.1, 0.1, 0.1), "table_0", Relation.ON, "hall_0", {})
    return Operation(
        ADD, description=class_name, position_m=(1.0, 1.0, 0.8), name=name, facts=facts
    )


@pytest.fixture
def memory() -> Memory:
    memory = Memory(layout_of(2), None, agents={"agent_0": AgentKind.ROBOT})
    memory.edit([add("cup_0"), add("kettle_0", "kettle")], "test", 0.0)
    return memory


def do(memory: Memory, call: str, result: SkillResult = OK, agent: str = "agent_0") -> list[str]:
    before = memory.sequence
    memory.note_result(agent, parse_call(call), result, 5.0)
    return memory.deltas_since(before).lines


def test_pick_and_place_move_a_thing(memory: Memory) -> None:
    memory.observe(Observation.at_rest(1.0))
    assert do(memory, "Pick[cup_0]") == ["Update Object.102 (picked): cup"]
    belief = memory.belief(6.0)
    cup, agent = belief.nodes["cup_0"], belief.nodes["agent_0"]
    assert (cup.parent, cup.relation, cup.source) == ("agent_0", Relation.HELD, Source.INFERRED)
    assert cup.position_m == agent.position_m
    assert (agent.holding, agent.class_name) == ("cup_0", "robot")
    lines = do(memory, "Place[Object.102, on, table_1, None, None]")
    assert lines == ["Update Object.102: cup with the Object.101"]
    cup = memory.belief(6.0).nodes["cup_0"]
    table = memory.layout.furniture_by_name["table_1"]
    assert (cup.parent, cup.relation, cup.room) == ("table_1", Relation.ON, "hall_0")
    assert table.box.contains(cup.position_m, 0.01)
    assert memory.belief(6.0).nodes["agent_0"].holding is None


def test_a_hand_that_closed_or_opened_by_itself_is_believed(memory: Memory) -> None:
    memory.observe(Observation.at_rest(1.0, base=Pose.planar(1.0, 1.0, 0.0)))
    failed = SkillResult.failure(SkillCode.NOT_GROUNDED, "No object found.")
    assert do(memory, "Pick[cup_0]", failed) == []
    assert do(memory, "Pick[cup_0]", replace(failed, hands=("cup_0",))) == [
        "Update Object.102 (picked): cup"
    ]
    assert memory.belief(6.0).nodes["agent_0"].holding == "cup_0"
    assert do(memory, "Navigate[table_1]", replace(OK, hands=("cup_0",))) == []
    # Nobody knows what one hand holds, or calls it by a name that is not the memory's.
    assert do(memory, "Navigate[table_1]") == []
    assert do(memory, "Navigate[table_1]", replace(OK, hands=("mug_7",))) == []
    lost = do(memory, "Navigate[table_1]", replace(OK, hands=(None,)))
    assert lost == ["Update Object.102: cup"]
    cup = memory.belief(6.0).nodes["cup_0"]
    assert (cup.parent, cup.relation) == (f"floor_{cup.room}", Relation.ON)
    assert cup.position_m == (1.0, 1.0, 0.0)
    assert memory.belief(6.0).nodes["agent_0"].holding is None


def test_what_a_place_that_failed_let_go_of_is_where_it_was_to_be(memory: Memory) -> None:
    memory.observe(Observation.at_rest(1.0))
    do(memory, "Pick[cup_0]")
    table = memory.layout.furniture_by_name["table_1"]
    at_m = surface_point(table, Relation.ON)
    failed = SkillResult.failure(SkillCode.BACKEND_FAULT, "The arm does not answer.")
    do(
        memory,
        "Place[cup_0, on, table_1, None, None]",
        replace(failed, hands=(None,), position_m=at_m),
    )
    cup = memory.belief(6.0).nodes["cup_0"]
    assert (cup.parent, cup.relation, cup.position_m) == ("table_1", Relation.ON, at_m)


def test_a_picture_older_than_a_pick_adds_nothing_of_what_was_taken(memory: Memory) -> None:
    do(memory, "Pick[cup_0]")
    do(memory, "Place[cup_0, on, table_1, None, None]")
    late, now = Observation.at_rest(4.0), Observation.at_rest(6.0)
    again = replace(add("cup_1"), position_m=(1.1, 1.0, 0.8))
    assert memory.learn(late, [again], "eye") is None
    text = replace(again, description="cup", facts=None)
    assert memory.learn(late, [text], "eye") is None
    # Other things, other places and newer pictures are no echo of it.
    others = [replace(again, position_m=(2.0, 1.0, 0.8), name="cup_2"), add("plate_0", "plate")]
    for picture, operations in ((late, others), (now, [again])):
        change = memory.learn(picture, operations, "eye")
        assert change is not None
        assert len(change.edits) == len(operations)


def test_what_becomes_slices_is_gone_and_what_has_none_is_sliced(memory: Memory) -> None:
    memory.edit([add("apple_0", "apple"), add("cheese_0", "cheese")], "test", 1.0)
    assert do(memory, "Slice[apple_0]") == ["Remove Object.104"]
    assert do(memory, "Slice[cheese_0]") == ["Update Object.105: cheese sliced with the Object.100"]


def test_what_is_in_a_bowl_is_where_the_bowl_is(memory: Memory) -> None:
    memory.edit([add("bowl_0", "bowl")], "test", 1.0)
    memory.observe(Observation.at_rest(1.0))
    do(memory, "Pick[cup_0]")
    do(memory, "Place[cup_0, within, bowl_0, None, None]")
    cup = memory.belief(6.0).nodes["cup_0"]
    assert (cup.parent, cup.relation, cup.room) == ("bowl_0", Relation.WITHIN, "hall_0")
    assert "with the Object.104" in cup.description
    do(memory, "Pick[bowl_0]")
    belief = memory.belief(6.0)
    cup, agent = belief.nodes["cup_0"], belief.nodes["agent_0"]
    assert (cup.parent, cup.position_m, agent.holding) == ("bowl_0", agent.position_m, "bowl_0")
    assert belief.base_of(cup).name == "bowl_0"
    put = replace(OK, position_m=(1.5, 2.5, 0.75))
    do(memory, "Place[bowl_0, on, table_1, None, None]", put)
    cup = memory.belief(6.0).nodes["cup_0"]
    assert (cup.parent, cup.relation) == ("bowl_0", Relation.WITHIN)
    assert cup.position_m == (1.5, 2.5, 0.75)


def test_a_models_words_may_put_a_thing_into_another(memory: Memory) -> None:
    memory.edit([add("bowl_0", "bowl")], "test", 1.0)
    words = Operation(
        ADD, description="apple with the Object.104", position_m=(1.0, 1.0, 0.8), name="apple_0"
    )
    memory.edit([words], "test", 2.0)
    apple = memory.belief(6.0).nodes["apple_0"]
    assert (apple.parent, apple.relation) == ("bowl_0", Relation.WITHIN)


def test_a_result_says_where_it_was_put(memory: Memory) -> None:
    put = replace(OK, position_m=(1.5, 2.5, 0.75))
    do(memory, "Place[cup_0, on, table_1, None, None]", put)
    assert memory.belief(6.0).nodes["cup_0"].position_m == (1.5, 2.5, 0.75)
    do(memory, "Place[cup_0, on, floor_hall_0, None, None]", OK)
    cup = memory.belief(6.0).nodes["cup_0"]
    assert (cup.parent, cup.description) == ("floor_hall_0", "cup")


@pytest.mark.parametrize(
    ("call", "name", "state", "value", "text"),
    [
        ("Clean[cup_0]", "cup_0", "clean", True, "cup with the Object.100"),
        ("Fill[cup_0]", "cup_0", "filled", True, "cup filled with water with the Object.100"),
        ("PowerOn[table_0]", "table_0", "powered_on", True, "table powered on"),
        ("PowerOff[table_0]", "table_0", "powered_on", False, "table"),
    ],
)
def test_states_follow_actions(
    memory: Memory, call: str, name: str, state: str, value: bool, text: str
) -> None:
    do(memory, call)
    node = memory.belief(6.0).nodes[name]
    assert node.states[state] is value
    assert node.description == text


def test_pouring_fills_one_and_empties_the_other(memory: Memory) -> None:
    do(memory, "Fill[kettle_0]")
    do(memory, "Pick[kettle_0]")
    assert do(memory, "Pour[cup_0]") == [
        "Update Object.102: cup filled with water with the Object.100",
        "Update Object.103 (picked): kettle",
    ]
    nodes = memory.belief(6.0).nodes
    assert nodes["cup_0"].states["filled"]
    assert not nodes["kettle_0"].states["filled"]


def test_opening_is_reported(memory: Memory) -> None:
    assert do(memory, "Open[table_0]") == ["Update Object.100: table open"]
    assert memory.belief(6.0).nodes["table_0"].openness == 1.0
    assert do(memory, "Close[table_0]") == ["Update Object.100: table closed"]


@pytest.mark.parametrize(
    "call",
    ["Pick[cup_0]", "Place[cup_0, on, table_1, None, None]", "Open[table_0]", "Clean[cup_0]"],
)
def test_a_failure_changes_nothing(memory: Memory, call: str) -> None:
    assert do(memory, call, SkillResult.failure(SkillCode.TOO_FAR, "It is too far.")) == []


@pytest.mark.parametrize(
    "call", ["Pick[ghost_1]", "Pick[table_0]", "Navigate[cup_0]", "Open[cup_0]", "Wait[]"]
)
def test_what_has_no_effect_changes_nothing(memory: Memory, call: str) -> None:
    assert do(memory, call) == []


def test_rooms_floors_and_furniture_are_reported_at_the_start() -> None:
    belief = Memory(layout_of(2), None).belief(3.0)
    kinds = [(n.name, n.kind, n.class_name, n.parent) for n in belief.nodes.values()]
    assert kinds == [
        ("hall_0", EntityKind.ROOM, "hallway", None),
        ("floor_hall_0", EntityKind.FURNITURE, "floor", "hall_0"),
        ("table_0", EntityKind.FURNITURE, "table", "hall_0"),
        ("table_1", EntityKind.FURNITURE, "table", "hall_0"),
    ]
    assert {n.source for n in belief.nodes.values()} == {Source.TOLD}
    assert belief.find("Object.101") is belief.nodes["table_1"]


def test_a_things_abilities_are_those_of_its_class(memory: Memory) -> None:
    classes = default_catalogue().objects
    assert memory.belief(0.0).nodes["kettle_0"].affordances == classes["kettle"].affordances


def test_22_ten_steps_lie_between_two_looks(small_house: House) -> None:
    memory = Memory(small_house, None)
    looks = []
    for step in range(54):
        if memory.due("agent_0", step / 30):
            memory.observe(Observation.at_rest(step / 30))
            looks.append(step)
    assert looks == [0, 10, 20, 30, 40, 50]


def test_edits_by_hand_are_all_or_none(memory: Memory) -> None:
    sequence, before = memory.sequence, memory.snapshot().entities
    wrong = [add("bowl_0", "bowl"), Operation(REMOVE, 100)]
    with pytest.raises(EditError, match=r"operation 1: Remove: Object.100 is furniture"):
        memory.edit(wrong, "somebody", 1.0)
    assert (memory.sequence, memory.snapshot().entities) == (sequence, before)
    outcome = memory.edit([add("bowl_0", "bowl"), Operation(REMOVE, 102)], "somebody", 1.0)
    assert outcome.ids == (104, 102)


def test_deltas_say_when_they_are_not_complete(memory: Memory) -> None:
    assert memory.deltas_since(0).complete
    assert memory.deltas_since(memory.sequence).lines == []
    assert not memory.deltas_since(memory.sequence + 1).complete
    memory.load(memory.content())
    assert not memory.deltas_since(1).complete
    assert memory.deltas_since(memory.sequence).complete


def test_a_hand_that_differs_from_the_memory_is_a_doubt(memory: Memory) -> None:
    memory.observe(Observation.at_rest(1.0))
    do(memory, "Pick[cup_0]")
    assert memory.disagreements() == ["agent_0's hand is empty; the memory thinks it holds cup_0"]


def test_nodes_that_did_not_change_are_the_same(memory: Memory) -> None:
    before = memory.belief(1.0)
    do(memory, "Pick[cup_0]")
    after = memory.belief(6.0)
    assert after.nodes["kettle_0"] is before.nodes["kettle_0"]
    assert after.nodes["cup_0"] is not before.nodes["cup_0"]


def test_an_agent_faces_where_it_said_until_it_says_more(memory: Memory) -> None:
    memory.observe(Observation.at_rest(1.0, base=Pose.planar(1.0, 2.0, 0.7)))
    assert memory.belief(1.0).nodes["agent_0"].heading_rad == pytest.approx(0.7)
    memory.note_self("agent_0", (1.0, 2.0, 0.0), 2.0, holds=False, heading_rad=-1.0)
    assert memory.belief(2.0).nodes["agent_0"].heading_rad == -1.0
