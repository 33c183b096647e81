"""What the words tell about where things are, and that the search believes them."""

from __future__ import annotations

import pytest
from planning_toys import prop

from planner.planning.expert.facts import Goal, read_goal
from planner.planning.expert.location_hints import LocationHint, location_hints
from planner.planning.expert.search import Likelihood
from planner.world.house import House
from planner.world.house_checks import load_house

Place = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def house() -> House:
    return load_house("train_2")


def goal(*things: str, at: str = "table_0") -> Goal:
    return read_goal({"propositions": [prop("is_on_top", [name], [at]) for name in things]})


def sure(text: str, house: House, *things: str) -> dict[str, list[Place]]:
    told = location_hints(text, goal(*things), house)
    return {
        name: [(sorted(t.furniture), sorted(t.rooms)) for t in places if t.sure]
        for name, places in told.items()
        if any(t.sure for t in places)
    }


KITCHEN: Place = ([], ["kitchen"])
LIVING: Place = ([], ["living_room"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Put the cup from the kitchen on the table.", {"cup": [KITCHEN]}),
        ("Lay the plate on the table; it is somewhere in the kitchen.", {"plate": [KITCHEN]}),
        ("The cup and the plate were left in the living room.",
         {"cup": [LIVING], "plate": [LIVING]}),
        ("The cup in the kitchen should be on the table.", {"cup": [KITCHEN]}),
        ("Get the plate, the cup from the kitchen and a fork.", {"cup": [KITCHEN]}),
        ("Take the cup off the bed.", {"cup": [(["bed"], [])]}),
        ("Get the cup out of the kitchen cabinet.", {"cup": [(["cabinet"], ["kitchen"])]}),
        ("The cup has to leave the couch.", {"cup": [(["couch"], [])]}),
        ("One cup is in the kitchen and the other one in the living room.",
         {"cup": [KITCHEN, LIVING]}),
        ("Move the cup from the table in the living room to the kitchen.",
         {"cup": [(["table"], ["living_room"])]}),
    ],
)  # fmt: skip
def test_reads_where_things_are_said_to_be(
    text: str, expected: dict[str, list[Place]], house: House
) -> None:
    assert sure(text, house, "cup_0", "plate_0") == expected


@pytest.mark.parametrize(
    "text",
    [
        "Put the cup on the counter in the kitchen.",
        "The cup belongs in the kitchen.",
        "The cup has to be on the couch.",
        "Once the cup is on the couch, bring the plate.",
        "Make sure that the cup is on the couch.",
        "Somebody took the cup out of the kitchen.",
        "Bring the cup, turn off the floor lamp in the kitchen.",
        "Bring me the cup!",
        "",
    ],
)
def test_where_something_shall_go_or_is_no_more_says_nothing(text: str, house: House) -> None:
    assert sure(text, house, "cup_0", "plate_0") == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Somebody took the cup out of the kitchen.", {"cup"}),
        ("Someone took the cup and the plate from the kitchen. Put them back.", {"cup", "plate"}),
        ("The cup was taken from the kitchen and belongs on the table.", {"cup"}),
        ("The plate has been removed from the kitchen.", {"plate"}),
        ("The cup is missing from the kitchen.", {"cup"}),
        ("Take the cup out of the kitchen.", set()),
        ("The cup should be taken from the kitchen to the table.", set()),
        ("I want the cup moved from the kitchen to the table.", set()),
        ("Somebody took the cup to the kitchen.", set()),
        ("Somebody took the cup, turn off the floor lamp in the kitchen.", set()),
    ],
)
def test_a_place_that_something_was_taken_from_is_where_it_is_no_more(
    text: str, expected: set[str], house: House
) -> None:
    told = location_hints(text, goal("cup_0", "plate_0"), house)
    left = {name for name, hints in told.items() if any(hint.left for hint in hints)}
    assert left == expected
    assert not any(hint.left and hint.sure for hints in told.values() for hint in hints)


def test_where_a_thing_was_taken_from_is_looked_at_late(house: House) -> None:
    told = location_hints("Somebody took the cup out of the kitchen.", goal("cup_0"), house)
    plain, hinted = Likelihood(house).of("cup"), Likelihood(house, told).of("cup")
    kitchens = {room.name for room in house.rooms if room.class_name == "kitchen"}
    pieces = house.furniture_by_name
    there = {k for k in plain if k.furniture in pieces and pieces[k.furniture].room in kitchens}
    assert there
    assert sum(hinted[look] for look in there) < 0.3 * sum(plain[look] for look in there)
    assert all(hinted[look] > 0 for look in there)
    assert sum(hinted.values()) == pytest.approx(1.0)


def test_a_place_named_besides_counts_unless_it_is_where_something_shall_go(house: House) -> None:
    told = location_hints(
        "Tidy up the kitchen. The cup belongs on the table.", goal("cup_0"), house
    )
    assert told["cup"] == (LocationHint(frozenset(), frozenset({"kitchen"}), sure=False),)


def test_the_room_of_a_destination_says_nothing_of_where_things_are(house: House) -> None:
    (kitchen,) = [room.name for room in house.rooms if room.class_name == "kitchen"]
    counter = next(
        p.name for p in house.furniture if p.room == kitchen and p.class_name == "counter"
    )
    wanted = goal("cup_0", at=counter)
    assert location_hints("In the kitchen the cup goes on the counter.", wanted, house) == {}
    assert location_hints("Tidy up the kitchen: the cup goes on the counter.", wanted, house) != {}


def test_most_of_the_likelihood_is_where_the_words_say(house: House) -> None:
    rooms = {room.name for room in house.rooms if room.class_name == "bedroom"}
    told = location_hints("The cup was left in the bedroom.", goal("cup_0"), house)

    def there(likelihood: Likelihood) -> float:
        return sum(
            share
            for look, share in likelihood.of("cup").items()
            if (
                piece.room
                if (piece := house.furniture_by_name.get(look.furniture))
                else look.furniture.removeprefix("floor_")
            )
            in rooms
        )

    plain, hinted = Likelihood(house), Likelihood(house, told)
    assert there(plain) < 0.4 < 0.75 < there(hinted)
    for likelihood in (plain, hinted):
        assert sum(likelihood.of("cup").values()) == pytest.approx(1.0)


def test_words_for_a_place_that_the_house_lacks_change_nothing(house: House) -> None:
    told = {"cup": (LocationHint(frozenset({"no_such_class"}), frozenset(), sure=True),)}
    plain, hinted = Likelihood(house).of("cup"), Likelihood(house, told).of("cup")
    assert hinted == pytest.approx(plain)
