"""The form of a goal: what it accepts, and its way to YAML and back."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.language.goal_form import (
    Anchor,
    Description,
    Goal,
    Leave,
    Make,
    Mention,
    Move,
    NounPhrase,
    OneOf,
    Place,
    PlaceOf,
    Prepare,
    Request,
)
from planner.language.lexicon import (
    Actor,
    Amount,
    Arrangement,
    Bound,
    Occasion,
    Relation,
    Spot,
)
from planner.language.reading import read_instructions
from planner.world.errors import FileError
from planner.world.shapes import Color


def goal(text: str) -> Goal:
    return Goal.model_validate(yaml.safe_load(text))


def written(made: Goal) -> object:
    return made.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def test_yaml_means_the_records() -> None:
    assert goal(
        """
        - move: {the: plate, n: 2, in: {the: sink}}
          to: {in: {the: dishwasher, as: machine}}
        - then
        - {make: machine, be: powered on, who: speaker}
        - any_time
        - leave: {all: cup, color: red}
        """
    ) == Goal(
        steps=(
            (
                Move(
                    things=(
                        Description(
                            kind="plate",
                            count=2,
                            definite=True,
                            where=(
                                Place(
                                    relation=Relation.IN,
                                    anchor=Description(kind="sink", definite=True),
                                ),
                            ),
                        ),
                    ),
                    to=(
                        Place(
                            relation=Relation.IN,
                            anchor=Description(kind="dishwasher", definite=True, label="machine"),
                        ),
                    ),
                ),
            ),
            (
                Make(
                    things=(Mention(label="machine"),),
                    states=("powered on",),
                    who=Actor.SPEAKER,
                ),
            ),
        ),
        any_time=(Leave(things=(Description(kind="cup", count=Amount.ALL, color=Color.RED),)),),
    )


KINDS = st.sampled_from(["cup", "sofa", "toy", "thing", "living room", "floor", "drink"])
STATES = st.sampled_from(["dirty", "powered on", "filled with water", "open"])


@cache
def phrases(depth: int) -> st.SearchStrategy[NounPhrase]:
    plain = _descriptions(depth)
    return plain | st.tuples(plain, plain).map(lambda both: OneOf(one_of=both))


@st.composite
def _descriptions(draw: st.DrawFn, depth: int) -> Description:
    count = draw(st.integers(1, 9) | st.sampled_from(Amount))
    bound = Bound.EXACTLY if isinstance(count, Amount) else draw(st.sampled_from(Bound))
    plain = not isinstance(count, Amount) and bound is Bound.EXACTLY
    inner = st.nothing() if depth == 0 else _descriptions(depth - 1)
    return Description(
        kind=draw(KINDS),
        count=count,
        bound=bound,
        definite=plain and draw(st.booleans()),
        color=draw(st.none() | st.sampled_from(Color)),
        states=tuple(draw(st.lists(STATES, max_size=2))),
        where=() if depth == 0 else draw(places(depth - 1)),
        holding=tuple(draw(st.lists(inner, max_size=2))) if depth else (),
        but=tuple(draw(st.lists(inner, max_size=1))) if depth else (),
        elsewhere=draw(st.booleans()),
        each=draw(st.booleans()),
    )


@st.composite
def places(draw: st.DrawFn, depth: int) -> tuple[Place, ...]:
    anchors: st.SearchStrategy[Anchor] = (
        phrases(depth)
        | st.sampled_from(Spot)
        | phrases(depth).map(lambda phrase: PlaceOf(place_of=phrase))
    )
    # In files places of one relation stand together.
    relations = sorted(draw(st.lists(st.sampled_from(Relation), max_size=2)))
    return tuple(Place(relation=relation, anchor=draw(anchors)) for relation in relations)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    things = draw(st.lists(phrases(1), min_size=1, max_size=2).map(tuple))
    who = draw(st.none() | st.sampled_from(Actor))
    match draw(st.sampled_from(("move", "make", "leave", "prepare"))):
        case "move":
            to, together = draw(places(1)), Arrangement.TOGETHER
            return Move(things=things, to=to, arrangement=together, who=who, only_if=things)
        case "make":
            return Make(things=things, states=(draw(STATES),), who=who)
        case "leave":
            return Leave(things=things, who=who)
        case _:
            people = draw(st.none() | st.integers(1, 12))
            occasion = draw(st.sampled_from(Occasion))
            return Prepare(occasion=occasion, people=people, at=draw(st.none() | phrases(1)))


# Goals are deep; drawing them may take a busy machine longer than the check allows.
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(requests(), min_size=1, max_size=2), max_size=3),
    st.lists(requests(), max_size=1),
)
def test_every_goal_survives_yaml(steps: list[list[Request]], free: list[Request]) -> None:
    if not steps and not free:
        return
    made = Goal(steps=tuple(tuple(step) for step in steps), any_time=tuple(free))
    text = yaml.safe_dump(written(made))
    assert Goal.model_validate(yaml.safe_load(text)) == made


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- move: {the: cup}", "expected to or arrangement"),
        ("- carry: {the: cup}", "expected one of move, make"),
        ("- {move: {the: spaceship}, to: me}", "unknown kind 'spaceship'"),
        ("- {move: {the: cups}, to: me}", "unknown kind 'cups'"),
        ("- {move: {the: edible, a: cup}, to: me}", "expected one of the, a, all"),
        ("- {move: {the: dirty}, to: me}", "is not a kind of object"),
        ("- {move: {the: cup}, to: {in: {the: kitchen counter}}}", "expected the room 'kitchen'"),
        ("- {move: {all: cup, n: 2}, to: me}", "there is another count"),
        ("- {move: {the: cup, at_least: 2}, to: me}", "'the' goes with no bound"),
        ("- {move: {a: cup, n: 0}, to: me}", "greater than or equal to 1"),
        ("- {move: {a: cup, n: true}, to: me}", "count"),
        ("- {move: {a: cup, colour: red}, to: me}", "Extra inputs"),
        ("- {move: {a: cup, color: mauve}, to: me}", "'black'"),
        ("- {make: {a: cup}, be: happy}", "unknown state 'happy'"),
        ("- {move: it, to: me}", "nothing before is labelled 'it'"),
        ("- {move: [{a: cup, as: x}, {a: cup, as: x}], to: me}", "two things are labelled 'x'"),
        ("- {move: {a: cup, as: me}, to: here}", "is a place"),
        ("- {move: {a: cup, other_than: x}, to: me}", "nothing before is labelled 'x'"),
        ("- then\n- {find: {a: cup}}", "at least one request in each step"),
        ("[]", "at least one request"),
        ("[any_time]", "at least one request"),
        ("- never: {a: cup}", "expected to or be"),
        ("{steps: 3}", "steps"),
    ],
)
def test_what_means_nothing_is_refused_with_file_field_and_reason(
    text: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "some.yaml"
    entry = {"text": "some", "category": "place", "goal": yaml.safe_load(text)}
    path.write_text(yaml.safe_dump({"instructions": [entry]}))
    with pytest.raises(FileError, match=reason) as caught:
        read_instructions(path)
    assert caught.value.file == str(path)
    assert caught.value.field.startswith("instructions.0.goal")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({}, "expected either goal or outcome"),
        ({"outcome": {"ask": "it", "reason": "which"}}, "'it' is not in the text"),
        ({"outcome": {"ask": "some", "reason": "why"}}, "'which', 'what'"),
        ({"outcome": {"no_command": "shouting"}}, "'chat'"),
        ({"outcome": {"shrug": "some"}}, "expected one of ask, not_understood"),
    ],
)
def test_an_entry_has_one_reading_about_words_of_its_text(
    entry: dict[str, object], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(yaml.safe_dump({"instructions": [{"text": "some", "category": "ask"} | entry]}))
    with pytest.raises(FileError, match=reason):
        read_instructions(path)
