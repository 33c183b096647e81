"""A hundred questions about a remembered house, each with what its answer must say.

The same answers are given to the instruction `planner words` reads and to `planner memory query`.
"""

from __future__ import annotations

import pytest

from planner.language.questions import asks
from planner.memory.memory import Memory
from planner.memory.query import ask
from planner.memory.updater import Facts, Operation
from planner.parts.calls import parse_call
from planner.world.belief import OperationKind
from planner.world.house_checks import load_house
from planner.world.shapes import Color, Look, Material
from planner.world.skill import SkillResult
from planner.world.vocabulary import Relation

UNSEEN = "I have not seen"
ON, IN = Relation.ON, Relation.WITHIN


def thing(
    name: str,
    size_cm: tuple[float, float, float],
    place: tuple[Relation, str, str],
    states: dict[str, bool] | None = None,
    look: Look | None = None,
) -> Operation:
    """An entry as an updater adds it."""
    relation, parent, room = place
    class_name = name.rpartition("_")[0]
    x, y, z = (side / 100 for side in size_cm)
    facts = Facts(class_name, (x, y, z), parent, relation, room, states, look=look or Look())
    words = [str(look.color)] if look and look.color else []
    text = " ".join([*words, class_name.replace("_", " ")])
    return Operation(
        OperationKind.ADD, description=text, position_m=(1.0, 1.0, 0.8), facts=facts, name=name
    )


KITCHEN = (ON, "counter_0", "kitchen_0")
TABLE = (ON, "table_2", "kitchen_0")
SHELF = (ON, "shelves_0", "living_room_0")
DESK = (ON, "desk_0", "bedroom_0")
THINGS = [
    thing("cup_1", (8, 8, 9), TABLE, {"clean": False}, Look(Color.RED)),
    thing("cup_2", (9, 9, 12), KITCHEN, {"clean": True}, Look(Color.BLUE)),
    thing("cup_3", (7, 7, 8), SHELF, None, Look(Color.WHITE)),
    thing("plate_1", (24, 24, 2), TABLE, {"clean": True}),
    thing("plate_2", (22, 22, 2), (IN, "dishwasher_0", "kitchen_0"), {"clean": False}),
    thing("keychain_1", (6, 4, 1), (ON, "nightstand_0", "bedroom_0")),
    thing("laptop_1", (35, 25, 3), DESK, {"powered_on": True}),
    thing("lamp_1", (20, 20, 45), DESK, {"powered_on": False}),
    thing("book_1", (21, 15, 3), SHELF),
    thing("book_2", (30, 22, 4), SHELF, None, Look(Color.GREEN)),
    thing("book_3", (18, 11, 2), (ON, "bed_0", "bedroom_0")),
    thing("vase_1", (15, 15, 30), SHELF, None, Look(Color.WHITE, Material.GLASS)),
    thing("milk_carton_1", (8, 8, 20), (IN, "fridge_0", "kitchen_0")),
    thing("apple_1", (8, 8, 8), TABLE),
]  # fmt: skip


@pytest.fixture(scope="module")
def memory() -> Memory:
    memory = Memory(load_house("train_0"), None)
    memory.edit(THINGS, "a person", 100.0)
    return memory


# The question; what the answer must say, in any case; what it must not say.
QUESTIONS = [
    # Where
    ("Where is the red cup?", "cup_1 table_2", "cup_2"),
    ("Where is my laptop?", "laptop_1 desk_0", UNSEEN),
    ("Where are my keys?", "keychain_1 nightstand_0", UNSEEN),
    ("Did you see my keys?", "keychain_1 nightstand_0", UNSEEN),
    ("Have you seen my keys?", "keychain_1 nightstand_0", UNSEEN),
    ("When did you last see my keys?", "keychain_1 100.0 s", UNSEEN),
    ("Where did I leave the laptop?", "laptop_1 desk_0", UNSEEN),
    ("Hey robot, where is the vase?", "vase_1 shelves_0", UNSEEN),
    ("Do you know where the green book is?", "book_2 shelves_0", "book_3"),
    ("Where can I find an apple?", "apple_1 table_2", UNSEEN),
    ("Any idea where the milk is?", "milk_carton_1 fridge_0", UNSEEN),
    ("where's the lamp", "lamp_1 desk_0", UNSEEN),
    ("Could you tell me where the blue cup is?", "cup_2 counter_0", "cup_1"),
    ("Where is the white cup?", "cup_3 shelves_0", "cup_1"),
    ("Which room is the laptop in?", "laptop_1 bedroom_0", UNSEEN),
    ("What room are my keys in?", "keychain_1 bedroom_0", UNSEEN),
    ("Where do we keep the milk?", "milk_carton_1 fridge_0", UNSEEN),
    # What never was seen
    ("Where is the umbrella?", UNSEEN, "umbrella_"),
    ("Have you seen my sunglasses?", UNSEEN, " is on "),
    ("Where is the hippopotamus?", UNSEEN, " is on "),
    ("Where is the green cup?", UNSEEN, "book_2"),
    ("Do you know where my wallet is?", UNSEEN, " is on "),
    ("Is there a guitar in the house?", UNSEEN, "Yes"),
    ("Is there a pear on the kitchen table?", UNSEEN, "Yes"),
    ("Do we have any butter?", UNSEEN, "Yes"),
    ("What color is the umbrella?", UNSEEN, "umbrella is"),
    ("Is the radio on?", UNSEEN, "Yes No:"),
    ("Are there any forks in the kitchen?", UNSEEN, "Yes"),
    ("How many forks are in the kitchen?", "Nothing", "1 thing"),
    ("Which is the biggest fork?", UNSEEN, "The biggest"),
    # What is there
    ("What is on the kitchen table?", "3 things cup_1 plate_1 apple_1", "cup_2"),
    ("What's in the fridge?", "milk_carton_1", "plate_2"),
    ("What is in the dishwasher?", "plate_2", "milk"),
    ("What do we have in the fridge?", "milk_carton_1", "plate_2"),
    ("What is on the desk?", "laptop_1 lamp_1", "keychain_1"),
    ("What can you see on the shelf?", "cup_3 book_1 book_2 vase_1", "book_3"),
    ("What is on the bed?", "book_3", "book_1"),
    ("What lies on the nightstand?", "keychain_1", "lamp_1"),
    ("Tell me what is on the counter", "cup_2", "cup_1"),
    ("List everything in the bedroom", "laptop_1 lamp_1 keychain_1 book_3", "cup_1"),
    ("Which books are on the shelf?", "2 things book_1 book_2", "book_3"),
    ("Which cups are in the kitchen?", "2 things cup_1 cup_2", "cup_3"),
    ("What is on the toilet?", "Nothing", "cup_"),
    ("what is in the sink in the kitchen", "Nothing", " is within "),
    # How many
    ("How many cups are there?", "3 things", "4 things"),
    ("How many cups are in the kitchen?", "2 things cup_1 cup_2", "cup_3"),
    ("How many books do we have?", "3 things", "2 things"),
    ("How many books are on the shelf?", "2 things", "book_3"),
    ("How many plates are in the dishwasher?", "1 thing plate_2", "plate_1"),
    ("How many dishes are on the kitchen table?", "2 things cup_1 plate_1", "apple_1"),
    ("Tell me how many cups there are in the kitchen", "2 things", "cup_3"),
    ("Tell me how many books there are on the bed", "1 thing book_3", "book_1"),
    ("Count the cups in the living room", "1 thing cup_3", "cup_1"),
    ("How many dirty plates are in the dishwasher?", "1 thing", "plate_1"),
    ("How many red cups are there?", "1 thing cup_1", "cup_2"),
    ("How many apples are on the kitchen table?", "1 thing", "cup_1"),
    ("How much milk is in the fridge?", "1 thing milk_carton_1", "plate_2"),
    ("Can you tell me how many lamps are in the bedroom?", "1 thing", "laptop_1"),
    # Whether something is so
    ("Is the laptop on?", "Yes laptop_1 powered on", "No:"),
    ("Is the laptop off?", "No laptop_1", "Yes"),
    ("Is the desk lamp on?", "No lamp_1", "Yes"),
    ("Is the lamp in the bedroom off?", "Yes lamp_1", "No:"),
    ("Is the red cup clean?", "No cup_1", "Yes"),
    ("Is the blue cup clean?", "Yes cup_2", "No:"),
    ("Is the white cup clean?", UNSEEN, "Yes No:"),
    ("Are the plates clean?", "No plate_1 plate_2", "Yes"),
    ("Is the plate in the dishwasher dirty?", "Yes plate_2", "plate_1"),
    ("Is the plate on the kitchen table clean?", "Yes plate_1", "plate_2"),
    ("Is the oven off?", UNSEEN, "Yes No:"),
    ("Is the fridge open?", UNSEEN, "Yes No:"),
    ("Tell me if the laptop is on", "Yes laptop_1", "No:"),
    ("Do you know whether the lamp is on?", "No lamp_1", "Yes"),
    ("Is the lamp still on?", "No lamp_1", "Yes"),
    ("Is the laptop not on?", "No laptop_1", "Yes"),
    # Whether something is there
    ("Is there a cup on the kitchen table?", "Yes cup_1", "cup_2"),
    ("Are there any books on the bed?", "Yes book_3", "book_1"),
    ("Is there a red cup in the kitchen?", "Yes cup_1", "cup_2"),
    ("Is there a blue cup on the kitchen table?", UNSEEN, "Yes"),
    ("Do we have any milk?", "Yes milk_carton_1", UNSEEN),
    ("Are there any dirty plates?", "Yes plate_2", "plate_1"),
    ("Is the milk in the fridge?", "Yes milk_carton_1", UNSEEN),
    ("Is the vase on the shelf?", "Yes vase_1", UNSEEN),
    ("Is my laptop in the kitchen?", f"{UNSEEN} laptop_1 bedroom_0", "Yes"),
    ("Are my keys on the desk?", f"{UNSEEN} keychain_1 nightstand_0", "Yes"),
    ("Is there anything in the fridge?", "milk_carton_1", "plate_2"),
    ("Is the vase in the bedroom?", f"{UNSEEN} shelves_0", "Yes"),
    # Which is the biggest
    ("Which is the biggest cup?", "cup_2", "cup_1"),
    ("Which cup is the smallest?", "cup_3", "cup_1"),
    ("What is the biggest thing on the shelf?", "vase_1", "book_2 ("),
    ("Tell me what is the largest object on the desk", "lamp_1", "laptop_1 ("),
    ("Tell me what is the smallest object on the kitchen table", "apple_1", "plate_1 ("),
    ("What is the thinnest object on the kitchen table?", "plate_1", "apple_1 ("),
    ("Which book on the shelf is the biggest?", "book_2", "book_1 ("),
    ("What is the heaviest thing on the desk?", UNSEEN, "The heaviest"),
    ("Which is the tallest thing in the bedroom?", "lamp_1", "laptop_1 ("),
    # Looks
    ("What color is the vase?", "white", "green"),
    ("What colour is the cup on the counter?", "blue", "red"),
    ("What is the vase made of?", "glass", "wood"),
    ("What color is the laptop?", UNSEEN, "laptop_1 is white"),
    # What was done
    ("What did you do?", "Nothing", "agent_0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says", "never"),
    [
        ("How many chairs are in the kitchen?", "2 things chair_0 chair_1", "counter"),
        ("How many rooms are there?", "4 rooms bathroom_0", "thing"),
        ("What is next to the lamp?", UNSEEN, "laptop_1"),
        ("What is under the kitchen table?", UNSEEN, "cup_1"),
        ("Which cups are dirty?", "cup_1", "Nothing is known"),
    ],
)
def test_no_answer_is_about_something_else(
    memory: Memory, text: str, says: str, never: str
) -> None:
    assert judged(memory, text, says, never) == ""


def test_what_was_done_is_told_in_order() -> None:
    memory = Memory(load_house("train_0"), None)
    memory.edit(THINGS, "a person", 100.0)
    done = SkillResult.success()
    memory.note_result("agent_0", parse_call("Pick[cup_1]"), done, 120.0)
    memory.note_result("agent_0", parse_call("Clean[cup_1]"), done, 130.0)
    told = ask(memory, "What have you done?").text
    assert told.splitlines() == [
        "agent_0 Pick cup_1 at 120.0 s.",
        "agent_0 Clean cup_1 at 130.0 s.",
    ]
    assert ", 30 s ago" in ask(memory, "Where is the blue cup?").text


def judged(memory: Memory, text: str, says: str, never: str) -> str:
    """Empty if an answer is right; else what is wrong with it."""
    told = ask(memory, text).text
    parts = [UNSEEN] if UNSEEN in says else []
    parts += says.replace(UNSEEN, "").split()
    missing = [part for part in parts if part.lower() not in told.lower()]
    if missing:
        return f"lacks {missing}: {told}"
    return f"says {never!r}: {told}" if never in told else ""


def test_there_are_a_hundred() -> None:
    assert len({text for text, _, _ in QUESTIONS}) == 100


@pytest.mark.parametrize(("text", "says", "never"), QUESTIONS)
def test_an_answer_is_right(memory: Memory, text: str, says: str, never: str) -> None:
    assert judged(memory, text, says, never) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Tell me how many people in the office are wearing hats",
        "Where is the cup, bring it to me",
        "Tell me where the cup is and wash it",
        "Wash the cup",
        "What time is it?",
        "How are you?",
        "Is it raining?",
        "Is there room on the table?",
        "Does it fit in the sink?",
        "When the dishwasher is full turn it on",
        "The cup is on the table",
    ],
)
def test_what_a_memory_cannot_answer_is_no_question_for_it(text: str) -> None:
    assert not asks(text)


@pytest.mark.parametrize("text", [text for text, _, _ in QUESTIONS])
def test_it_is_known_for_a_question(text: str) -> None:
    assert asks(text)
