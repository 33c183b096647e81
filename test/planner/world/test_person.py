"""Persons: what files say of them, their words and their states in messages."""

import pytest
from pydantic import ValidationError

from planner.world.catalogue import default_catalogue
from planner.world.house_checks import check_episode, load_shipped_episode
from planner.world.person import (
    Garment,
    Gesture,
    Person,
    PersonDescription,
    PersonPlacement,
    Posture,
    garment_text,
    person_states,
    read_description,
    take_person,
)
from planner.world.shapes import Color

CHARLIE = Person(
    "Charlie",
    ("red shirt", "blue jeans"),
    Posture.SITTING,
    Gesture.RAISING_LEFT_ARM,
    ("met", "told count:3", "guided kitchen_0"),
)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("red shirt", "red shirt"),
        ("Shirt red", "red shirt"),
        ("grey T-Shirts", "gray t-shirt"),
        ("jeans blue", "blue jeans"),
        ("black trousers", "black trousers"),
    ],
)
def test_a_garment_is_a_colour_and_a_word_in_any_order(text: str, normal: str) -> None:
    assert garment_text(text) == normal


@pytest.mark.parametrize("text", ["shirt", "red", "red blue shirt", "red hat", ""])
def test_anything_else_is_no_garment(text: str) -> None:
    with pytest.raises(ValueError, match="is not a colour and a garment"):
        garment_text(text)


def test_a_person_goes_through_states_of_messages_and_back() -> None:
    states = {"clean": True, **person_states(CHARLIE)}
    assert take_person("person", states) == ({"clean": True}, CHARLIE)
    assert take_person("person", {"burning": True}) == ({"burning": True}, None)
    assert take_person("cup", states) == (states, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [("posture", "flying"), ("gesture", "sleeping"), ("clothes", ["red hat"]), ("name", "R2 D2")],
)
def test_a_bad_field_is_named(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        PersonPlacement.model_validate({"room": "kitchen_0", field: value})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Charlie", PersonDescription("Charlie")),
        ("waving person", PersonDescription(gesture=Gesture.WAVING)),
        ("the sitting person", PersonDescription(posture=Posture.SITTING)),
        (
            "person raising their left arm",
            PersonDescription(gesture=Gesture.RAISING_LEFT_ARM),
        ),
        (
            "person pointing to the right in kitchen_0",
            PersonDescription(gesture=Gesture.POINTING_RIGHT),
        ),
        (
            "person wearing a blue t shirt",
            PersonDescription(color=Color.BLUE, garment=Garment.T_SHIRT),
        ),
        (
            "Charlie in the red coat",
            PersonDescription("Charlie", color=Color.RED, garment=Garment.COAT),
        ),
        ("person", PersonDescription()),
    ],
)
def test_descriptions_are_read(text: str, wanted: PersonDescription) -> None:
    assert read_description(text) == wanted


def test_colour_and_garment_are_of_one_piece_of_clothing() -> None:
    assert read_description("person in a red shirt").fits(CHARLIE)
    assert not read_description("person in a blue shirt").fits(CHARLIE)
    assert read_description("person in blue").fits(CHARLIE)


def test_an_unknown_name_fits_no_name() -> None:
    assert not read_description("Charlie").fits(Person())
    assert read_description("Charlie").without_name.fits(Person())


@pytest.mark.parametrize(
    ("people", "field", "reason"),
    [
        ([{"room": "cellar_0"}], "people.0.room", "unknown room 'cellar_0'"),
        ([{"room": "bedroom_0", "at": "throne_0"}], "people.0.at", "unknown furniture"),
        ([{"room": "bedroom_0", "holds": "sword_0"}], "people.0.holds", "unknown object"),
        (
            [{"room": "bedroom_0", "answers": {"goes_to": "moon_0"}}],
            "people.0.answers.goes_to",
            "unknown place",
        ),
    ],
)
def test_lint_names_field_and_reason(
    people: list[dict[str, object]], field: str, reason: str
) -> None:
    episode, house = load_shipped_episode("bedside_0")
    persons = tuple(PersonPlacement.model_validate(person) for person in people)
    episode = episode.model_copy(update={"people": persons})
    (finding,) = check_episode(episode, house, default_catalogue())
    assert finding.field == field
    assert reason in finding.reason


def test_two_persons_have_different_names() -> None:
    episode, _ = load_shipped_episode("bedside_0")
    document = episode.model_dump(mode="json")
    document["people"] = [{"name": "Ann", "room": "bedroom_0"}] * 2
    with pytest.raises(ValidationError, match="two persons have the name 'Ann'"):
        type(episode).model_validate(document)
