"""What the ranking model reads of a noun."""

from __future__ import annotations

from planner.planning.et_ranking.words import (
    BUCKETS,
    Noun,
    class_text,
    features,
    holding_of,
    is_thing,
)


def test_names_of_all_forms_are_alike() -> None:
    assert class_text("kitchen_table_3") == class_text("KitchenTable") == "kitchen table"
    assert features("coffee mug_2", Noun.TARGET) == features("coffee_mug", Noun.TARGET)


def test_an_alias_is_its_class_and_has_its_groups() -> None:
    mug, cup = features("mug", Noun.TARGET), features("cup", Noun.TARGET)
    assert (mug.identity, mug.kind) == (cup.identity, cup.kind)
    assert mug.spelling != cup.spelling
    assert features("living room", Noun.ROOM).identity == features("livingroom", Noun.ROOM).identity


def test_a_word_for_a_group_has_what_its_members_share() -> None:
    fruit, apple = features("fruit", Noun.TARGET), features("apple", Noun.TARGET)
    assert fruit.identity == ()
    assert fruit.kind
    assert set(fruit.kind) <= set(apple.kind)


def test_a_noun_that_nobody_knows_still_has_its_letters() -> None:
    found = features("zugzwang", Noun.TARGET)
    assert (found.identity, found.kind) == ((), ())
    assert found.spelling
    assert features("", Noun.TARGET).spelling
    rows = (*found.spelling, *features("cup", Noun.TARGET).kind)
    assert all(0 <= row < BUCKETS for row in rows)


def test_how_furniture_holds_things() -> None:
    assert holding_of("fridge") == ("closed",)
    assert holding_of("table_1") == ("on",)
    assert holding_of("zugzwang") is None
    assert is_thing("mug_0")
    assert not is_thing("sofa")
    assert not is_thing("zugzwang")
