"""What the reader would have to guess is asked about or refused, never done."""

from __future__ import annotations

import pytest

from planner.language.checks import conserve
from planner.language.drafts import Act, Do, Noun, Way, Where
from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal, Move
from planner.language.interpretation import interpret, interpret_all
from planner.language.lexicon import Relation, default_lexicon
from planner.language.ordering import Order
from planner.language.reading import Ask, NotUnderstood, Reading, Refused, Source, tokens_of


def has_moves(reading: Reading) -> bool:
    return isinstance(reading, Goal) and any(isinstance(it, Move) for it in reading.requests)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Put two cups on the table and the remaining cups in the cabinet.", "remaining"),
        ("Put the cups in the sink twice.", "twice"),
        ("Leave the lamp on until I come back.", "until"),
    ],
)
def test_a_word_without_a_trace_in_the_goal_is_named(text: str, words: str) -> None:
    assert interpret(text) == NotUnderstood(words=(words,))


# Things that no robot here can do, as people ask for them beside what it can.
UNDOABLE = [
    "call Chris", "wake up the kids", "pay the bills", "dress the kids",
    "phone my boss", "email the bills", "help the kids", "change the sheets", "charge the phone",
    "cool the beer", "wait for grandma", "walk the dog", "sing a song", "cut the grass",
    "say hello to mom", "play some music", "stay with the kids", "light a candle", "dance",
]  # fmt: skip
JOINED = [
    "{do}, then {more}.", "{do} and {more}", "{do}. {More}.", "{More}. {Do}.", "{More} and {do}",
    "{More}, {do}", "{do}, {more} and open the window", "Please {do} while you {more}",
]  # fmt: skip


@pytest.mark.parametrize("more", UNDOABLE)
def test_a_clause_that_cannot_be_done_is_never_left_out(more: str) -> None:
    """A goal of the other clause alone would end with success and half of the work."""
    do = "put the cup in the sink"
    big = {"Do": do.capitalize(), "More": more[0].upper() + more[1:]}
    texts = [joined.format(do=do, more=more, **big) for joined in JOINED]
    assert {text: read for text in texts if isinstance(read := interpret(text), Goal)} == {}


def test_these_things_behind_a_request_are_those_named_before() -> None:
    """Read as an announcement of what comes next, the request would be left out."""
    goal = interpret(
        "Put the pen on the desk and the cup next to it. Move these items to the hall. "
        "Put the vase close by."
    )
    plain = "Put the pen on the desk and the cup next to it. Move the pen and the cup to the hall."
    assert isinstance(goal, Goal)
    assert isinstance(before := interpret(plain), Goal)
    assert len(goal.requests) == len(before.requests) + 1


def test_what_belongs_to_no_request_can_be_told() -> None:
    goal, outside = interpret_all("I am hungry. Could you put the cake on the table?")
    assert isinstance(goal, Goal)
    assert outside == ("I am hungry", "Could you")


@pytest.mark.parametrize(
    "text",
    [
        "Grasp a pear from the shelf and wibble it.",
        "We walk to the kitchen and wash the cups. Then switch on the lamp.",
    ],
)
def test_what_has_no_subject_is_no_remark(text: str) -> None:
    assert isinstance(interpret(text), NotUnderstood)


def test_see_that_with_a_question_mark_wishes_for_nothing() -> None:
    assert not has_moves(interpret("See that mug next to the pot?"))
    assert isinstance(interpret("See that the mug is clean."), Goal)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The laptop on the desk, the mouse next to it, the cup behind it.", "it"),
        ("Put every book on a shelf.", "on a shelf"),
        ("Leave the pen and the book on the desk.", "Leave the pen and the book on the desk"),
        ("Bring a towel for my mother.", "Bring a towel for my mother"),
        ("Bring me the pen from the hall to the gym.", "Bring me the pen from the hall to the gym"),
        ("Put two cups on three tables.", "on three tables"),
        ("Put three plates and cups on the table.", "three plates and cups"),
        ("Put the clean plates and cups in the cabinet.", "the clean plates and cups"),
        (
            "Take the cups from the table and the sink to the kitchen.",
            "from the table and the sink",
        ),
        (
            "Get the suitcase down from the wardrobe and put the shirts in it.",
            "Get the suitcase down from the wardrobe",
        ),
    ],
)
def test_what_has_two_meanings_is_asked_about(text: str, words: str) -> None:
    found = interpret(text)
    assert isinstance(found, Ask), found
    assert found.words == (words,)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Bring me both the cup and the plate.", "Bring me the cup and the plate."),
        ("Wash every plate and cup.", "Wash all plates and all cups."),
        (
            "I'll bring the knives to the table and you bring the forks.",
            "I'll bring the knives to the table and you bring the forks to the table.",
        ),
        ("Go to the bedroom and get my slippers.", "Get my slippers that are in the bedroom."),
        (
            "Put the spoon to the left of the plate, not the cup.",
            "Put the spoon left of the plate.",
        ),
        ("Bring the plates to the dishwasher.", "Bring the plates into the dishwasher."),
    ],
)
def test_both_mean_the_same(text: str, plain: str) -> None:
    found = interpret(text)
    assert isinstance(found, Goal), found
    assert found == interpret(plain)


def test_each_has_one_of_its_own() -> None:
    found = interpret("Put each cup on a saucer.")
    assert isinstance(found, Goal)
    assert found.model_dump(mode="json", by_alias=True, exclude_defaults=True) == [
        {"move": {"all": "cup"}, "to": {"on_top": {"a": "saucer", "each": True}}}
    ]


def _source(text: str) -> Source:
    return Source(text, tokens_of(text), default_lexicon())


def _refusal(source: Source, order: Order) -> Refused:
    with pytest.raises(Refused) as refused:
        conserve(source, order, frozenset())
    return refused.value


def _put(thing: Noun, anchor: str, start: int, end: int) -> Do:
    place = Noun(anchor, end - 1, end, definite=True)
    return Do(Act.MOVE, [thing], start, end, [Where(Relation.IN, place, Way.TO, end - 3, end)])


def test_an_order_word_that_orders_nothing_is_named() -> None:
    source = _source("boil the egg and when it cools wash the pan")
    order = Order(source)
    order.steps = [[
        Do(Act.MAKE, [Noun("egg", 1, 3, definite=True)], 0, 3, states=["boiled"]),
        Do(Act.MAKE, [Noun("pan", 8, 10, definite=True)], 7, 10, states=["clean"]),
    ]]  # fmt: skip
    assert _refusal(source, order).reading == NotUnderstood(words=("when",))
    order.steps = [[do] for do in order.requests]
    conserve(source, order, frozenset())


def test_an_order_word_in_a_reason_orders_nothing() -> None:
    source = _source("boil the egg and when it cools wash the pan")
    order = Order(source)
    order.steps = [[
        Do(Act.MAKE, [Noun("egg", 1, 3)], 0, 3, states=["boiled"]),
        Do(Act.MAKE, [Noun("pan", 8, 10)], 7, 10, states=["clean"]),
    ]]  # fmt: skip
    conserve(source, order, frozenset({4, 5, 6}))


def test_one_thing_with_two_places_is_asked_about() -> None:
    source = _source("the cup lives in the cabinet so put it in the sink")
    cup = Noun("cup", 0, 2, definite=True)
    order = Order(source)
    order.steps = [[_put(cup, "cabinet", 0, 6)], [_put(cup, "sink", 7, 12)]]
    reading = _refusal(source, order).reading
    assert isinstance(reading, Ask)
    assert reading.words == ("put it in the sink",)


def test_what_is_done_with_a_thing_between_two_places_explains_both() -> None:
    source = _source("bring the cup to the sink wash it and set it in the cabinet")
    cup = Noun("cup", 1, 3, definite=True)
    order = Order(source)
    wash = Do(Act.MAKE, [cup], 6, 8, states=["clean"])
    order.steps = [[_put(cup, "sink", 0, 6)], [wash], [_put(cup, "cabinet", 9, 14)]]
    conserve(source, order, frozenset())


@pytest.mark.parametrize("text", [
    "Bring the dirty plates to the sink, wash them, and stack them on the counter.",
    "Bring me the drill and I will put it back in the toolbox later.",
    "Put the cup on the shelf, then put it in the sink.",
    "Wash the bowl and the ladle. The former goes in the sink afterwards, the latter on the shelf.",
    "Clean up my office: the books go onto the shelf and the cups to the kitchen.",
    "When you have a second, take the mug to the kitchen and the book to the study.",
    "I want the two photo frames on the dresser, one next to the other.",
    "I'll cook the chicken, and when I'm done, you can clean the stove.",
])  # fmt: skip
def test_what_is_right_is_let_through(text: str) -> None:
    assert isinstance(interpret(text), Goal)


def test_the_last_of_a_list_is_not_alone_in_its_place() -> None:
    reading = interpret(
        "Get everything off the playroom floor and into the toy box, next put the puzzle and the "
        "board game on the table in there."
    )
    assert isinstance(reading, Ask)
    assert reading.words == ("on the table",)


def test_whoever_knew_which_is_asked() -> None:
    reading = interpret("The plate goes in the sink or the dishwasher, whichever I said yesterday.")
    assert isinstance(reading, NotUnderstood)


@pytest.mark.parametrize("shown", ["You know", "See", "Do you remember"])
def test_what_a_question_shows_is_no_request(shown: str) -> None:
    reading = interpret(
        f"{shown} the shirts on the chair? Just the white ones need to go in the basket."
    )
    assert same_meaning(reading, interpret("Put the white shirts on the chair into the basket."))


@pytest.mark.parametrize(
    ("text", "words", "reason"),
    [
        ("tomato in the fridge", "tomato in the fridge", "meant"),
        ("no, the plate in the sink", "the plate in the sink", "meant"),
        ("The knife should be in the sink.", "The knife should be in the sink", "meant"),
        ("There should be a knife in the sink.", "There should be a knife in the sink", "meant"),
        ("Put the potato in the garbage can on the floor.", "in the garbage can", "which"),
        ("Cut the apple on the counter in the sink.", "on the counter in the sink", "which"),
        ("Move the pen on the tray to the desk.", "the pen on the tray", "which"),
        ("Wash two plates and put one in the cabinet.", "one", "which"),
        ("Get wine and water glasses.", "wine and water glasses", "which"),
        ("Put the salt and pepper shakers away.", "the salt and pepper shakers", "which"),
        ("Put some cups and plates in the sink.", "some cups and plates", "which"),
        ("Put all the toy food and candle holder on the table.",
         "all the toy food and candle holder", "which"),
        ("Put different cups on the table.", "different cups", "which"),
        ("Turn on a lamp in each room.", "a lamp in each room", "which"),
        ("Open the box on the table with the knife.", "the box on the table with the knife",
         "which"),
        ("Fill the glass with water from the bottle.", "the glass with water from the bottle",
         "which"),
        ("I want the toast on a plate.", "the toast", "what"),
        ("Put a pen, one cup and one cup on the desk.", "one cup and one cup", "which"),
        ("Bring me anything from the fridge.", "anything", "which"),
        ("If a plate is clean put the slices on a plate.", "a plate", "which"),
        ("Get a pen and a cup on the desk.", "Get a pen and a cup on the desk", "where"),
        ("Take a pear and a plum on the desk and give them to me.", "a pear and a plum", "which"),
        ("Set the table, I need one fork and one plate.", "I need one fork and one plate", "where"),
        ("bring the keys back here", "bring the keys back here", "where"),
        ("get the plate to the left of the stove", "get the plate to the left of the stove",
         "where"),
        ("clean spoon in a drawer", "clean spoon in a drawer", "what"),
        ("Hand me this food.", "this food", "which"),
        ("Wash the towel in the washing machine.", "the towel in the washing machine", "which"),
        ("Empty the bucket in the basket.", "the bucket in the basket", "which"),
        ("Fill the vase with wine.", "wine", "what"),
        ("Clean off the desk.", "Clean off the desk", "done"),
        ("Find my watch in the hall and the office.", "Find my watch in the hall and the office",
         "which"),
        ("Bring the pen on the desk in the office.", "Bring the pen on the desk in the office",
         "where"),
        ("Bring the pen next to the lamp.", "Bring the pen next to the lamp", "where"),
        ("Go to the hall. Bring me a pen.", "Go to the hall. Bring me a pen", "which"),
        ("Get the pen and go to the hall.", "Get the pen and go to the hall", "where"),
        ("Go to the hall with the pen.", "Go to the hall with the pen", "what"),
        ("Wipe the desk with the sponge from the sink.", "the sponge from the sink", "which"),
        ("Put the pan in the sink with the egg in it.", "in the sink with the egg in it", "which"),
        ("Put both soap in the sink.", "both soap", "which"),
        ("Go to the desk and bring me my pen.", "Go to the desk and bring me my pen", "which"),
        ("Heat a pie in a box.", "a pie in a box", "which"),
        ("I cleaned it with the brush. Throw it away.", "it", "what"),
        ("Put the pear next to the cup and plum on cup.", "next to the cup", "which"),
        ("Heat the pie in the oven over the stove.", "in the oven over the stove", "which"),
    ],
)  # fmt: skip
def test_what_may_mean_something_else_is_asked_about(text: str, words: str, reason: str) -> None:
    assert interpret(text) == Ask.model_validate({"ask": words, "reason": reason})


@pytest.mark.parametrize("text", [
    "You left the fridge open.",
    "You should see a pot on the stove.",
    "Help me move the items from the kitchen to the hall. Move the towel to the hall.",
    "Move things from the bedroom to the office. Put the laptop on the desk.",
])  # fmt: skip
def test_what_only_tells_or_announces_is_no_request(text: str) -> None:
    assert isinstance(interpret(text), NotUnderstood)


@pytest.mark.parametrize("text", [
    "The phone is on the sofa. It should be on the desk.",
    "There should be a pillow on every bed.",
    "Tomato in the fridge, please.",
    "The shoes belong in the shoe rack.",
    "Move everything from the desk to the shelf. Put the lamp on the bed.",
    "Put the wine and the water glasses on the table.",
    "Put a few cups and the plates on the table.",
    "Take the spoon out of the mug to the sink.",
    "Turn on the lamp in each room.",
    "Clean anything that is dirty.",
    "Wash the towels that are in the washing machine.",
    "Empty the bucket in the hall.",
    "Put that mail on the desk.",
    "Bring the pen that is on the desk.",
    "Come to the hall and bring me a pen.",
    "Bring me the pen, then go to the hall.",
    "Put both the cup and the pen on the desk, slice both pears.",
    "Put the cup on the table with the vase on it.",
    "Go to the hall with the blue table.",
    "Move the pen to the hall and put it on the desk. Then move the pen to the office.",
    "I'd be grateful if you brought the watch to the bedroom.",
])  # fmt: skip
def test_what_says_that_it_is_a_request_is_not_asked_about(text: str) -> None:
    assert isinstance(interpret(text), Goal)
