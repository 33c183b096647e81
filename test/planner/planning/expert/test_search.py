"""The order in which places are looked at, and the way to water."""

from __future__ import annotations

import pytest

from planner.grounding.scene import classes_of
from planner.planning.expert.facts import Facts
from planner.planning.expert.job import Job, Steps
from planner.planning.expert.notes import MAX_TRIES, Look, Notes
from planner.planning.expert.search import (
    NOTHING_SOUGHT,
    Likelihood,
    Search,
    Sought,
    sought_words,
    usual_furniture,
    usual_furniture_of,
)
from planner.planning.planner import AgentResult
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.vocabulary import Affordance, EntityKind, Relation, floor_name


@pytest.fixture(scope="module")
def house() -> House:
    return load_house("train_2")


def facts_of(house: House) -> Facts:
    nodes = {
        name: BeliefNode(
            entity_id=None,
            name=name,
            class_name="robot",
            kind=EntityKind.AGENT,
            position_m=(0.0, 0.0, 0.0),
            size_m=(0.5, 0.5, 1.0),
            source=Source.SEEN,
            stamp_s=0.0,
        )
        for name in ("agent_0", "agent_1")
    }
    return Facts(Belief(0.0, 0, nodes), house, {}, {}, {})


def test_fills_at_the_nearest_faucet_and_at_the_next_one_where_that_cannot_be_reached(
    house: House,
) -> None:
    faucets = sorted(p.name for p in house.furniture if Affordance.FAUCET in p.affordances)
    far = {name: 10.0 - index for index, name in enumerate(faucets)}
    notes = Notes(hands={"agent_0": ("cup_0",)})
    facts = facts_of(house)
    facts = Facts(facts.belief, house, {}, notes.hands, {})
    steps = Steps(facts, notes, lambda _, to: far.get(to, 0.0))
    job = Job("cup_0", SkillName.FILL, 0)
    assert str(steps.next_call("agent_0", job)) == f"Navigate[{faucets[-1]}]"
    notes.detours["cup_0"] = 2
    assert str(steps.next_call("agent_0", job)) == f"Navigate[{faucets[-2]}]"
    notes.at["agent_0"] = faucets[0]
    assert str(steps.next_call("agent_0", job)) == "Fill[cup_0]"


@pytest.mark.parametrize("class_name", ["shelves", "sink"])
def test_low_boards_and_basins_are_left_for_an_agent_of_another_height_until_all_have_looked(
    house: House, class_name: str
) -> None:
    shelves = next(p.name for p in house.furniture if p.class_name == class_name)
    look = Look(shelves, inside=False)
    notes = Notes(agents=("agent_0", "agent_1"), looked={shelves}, looked_by={("agent_1", shelves)})

    def search() -> Search:
        return Search(facts_of(house), notes, ["vase_0"], Likelihood(house))

    others = {p.name for p in house.furniture} | {floor_name(r.name) for r in house.rooms}
    others.discard(shelves)
    assert search().best("agent_0", lambda _: 1.0, others) == look
    assert search().best("agent_1", lambda _: 1.0, others) is None
    notes.looked_by.add(("agent_0", shelves))
    assert search().best("agent_0", lambda _: 1.0, others) is None


def test_for_all_of_a_kind_one_look_is_enough(house: House) -> None:
    """To look everywhere twice for things that may not exist takes longer than a task may."""
    shelves = next(p.name for p in house.furniture if p.class_name == "shelves")
    notes = Notes(agents=("agent_0", "agent_1"), looked={shelves}, looked_by={("agent_1", shelves)})
    sought = {"vase_0": Sought("all vases", frozenset({shelves}), by_one=True)}
    search = Search(facts_of(house), notes, ["vase_0"], Likelihood(house), sought)
    assert search.best("agent_0", lambda _: 1.0, set()) is None


def test_agents_look_in_different_rooms(house: House) -> None:
    notes = Notes(agents=("agent_0", "agent_1"))
    search = Search(facts_of(house), notes, ["book_0"], Likelihood(house))
    first = search.best("agent_0", lambda _: 5.0, set())
    assert first is not None
    second = search.best("agent_1", lambda _: 5.0, {first.furniture})
    assert second is not None

    def room(look: Look) -> str:
        piece = house.furniture_by_name.get(look.furniture)
        return piece.room if piece is not None else look.furniture.removeprefix("floor_")

    assert room(first) != room(second)


def test_closed_furniture_is_likelier_the_more_it_is_for_things_of_that_kind() -> None:
    house = load_house("train_6")
    likely = Likelihood(house).of("hand_towel")
    inside = {
        house.furniture_by_name[look.furniture].class_name: weight
        for look, weight in likely.items()
        if look.inside and house.furniture_by_name[look.furniture].room == "living_room_0"
    }
    # Towels have cabinets in bathrooms, as have other linens, and tools have chests of drawers.
    assert inside["cabinet"] > 2 * inside["chest_of_drawers"]
    assert all(weight > 0 for weight in likely.values()), "everything is opened in the end"


def test_everything_that_shuts_is_opened_in_the_end(house: House) -> None:
    facts, notes = facts_of(house), Notes(agents=("agent_0",))
    likelihood = Likelihood(house)
    looked: list[Look] = []
    while len(looked) < 500:
        search = Search(facts, notes, ["hand_towel_0"], likelihood)
        look = search.best("agent_0", lambda _: 3.0, set())
        if look is None:
            break
        looked.append(look)
        notes.looked_by.add(("agent_0", look.furniture))
        (notes.looked_into if look.inside else notes.looked).add(look.furniture)
    assert {look for look in looked if look.inside} == {
        look for look in likelihood.of("hand_towel") if look.inside
    }
    floors = [i for i, look in enumerate(looked) if look.furniture.startswith("floor_")]
    strange = next(i for i, look in enumerate(looked) if look.inside and "oven" in look.furniture)
    assert floors[len(floors) // 2] < strange


def test_closed_furniture_without_room_for_a_thing_is_not_opened() -> None:
    """No lamp stands in a drawer; what is in all shipped houses has room where it is."""
    house = load_house("train_3")
    likelihood = Likelihood(house)
    inside = {look.furniture for look in likelihood.of("lamp") if look.inside}
    assert {"cabinet_0", "fridge_0"} <= inside
    assert inside.isdisjoint({"nightstand_0", "chest_of_drawers_0"})
    small = {look.furniture for look in likelihood.of("keychain") if look.inside}
    assert {"nightstand_0", "chest_of_drawers_0"} <= small
    for name in ("train_0", "train_3", "heldout_1"):
        house = load_house(name)
        likelihood = Likelihood(house)
        for thing in house.objects:
            piece = house.furniture_by_name.get(thing.parent)
            if piece is None or thing.relation is not Relation.WITHIN:
                continue
            if any(i.name == thing.part and i.joint for i in piece.interiors):
                assert Look(piece.name, inside=True) in likelihood.of(thing.class_name)


def test_what_was_seen_and_is_no_more_there_is_looked_for_again() -> None:
    notes = Notes(looked={"table_0"})
    assert not notes.search_again(["cup_0"])
    notes.find("cup_0", "kitchen_0")
    assert notes.search_again(["cup_0"])
    assert not notes.looked
    # And not again before it is seen again.
    assert not notes.search_again(["cup_0"])


def test_a_place_that_nobody_got_to_is_tried_in_one_more_round() -> None:
    notes = Notes(agents=("agent_0",))
    call, far = SkillCall(SkillName.NAVIGATE, ("shelves_0",)), SkillCode.UNREACHABLE
    for _ in range(MAX_TRIES):
        notes.take(AgentResult("agent_0", call, SkillResult.failure(far, "no way"), 1.0))
    assert "shelves_0" in notes.looked
    assert notes.search_again(["cup_0"])
    assert not notes.search_again(["cup_0"])


def test_a_description_is_said_once_whatever_its_classes() -> None:
    toys = Sought("all toys on the couch")
    sought = {"ball_?0": toys, "doll_?0": toys, "cup_?1": Sought("the red cup")}
    assert sought_words(sought, sought) == "all toys on the couch and the red cup"


def test_names_of_a_goal_are_said_as_they_are() -> None:
    assert sought_words(["cup_0"], NOTHING_SOUGHT) == "cup_0"


def test_of_many_things_a_few_are_said() -> None:
    names = ["cup_0", "cup_1", "cup_2", "cup_3", "cup_4"]
    assert sought_words(names, NOTHING_SOUGHT) == "cup_0 and cup_1 and cup_2 and other things"


def test_of_many_classes_only_places_where_a_good_part_is_kept_count() -> None:
    found = usual_furniture_of(classes_of("toy"))
    assert found >= {"toy_box", "shelves", "table"}
    # A rubber duck may be in a bathtub, and a ball in a wardrobe.
    assert found.isdisjoint({"bathtub", "wardrobe", "sink", "cabinet"})


def test_of_one_class_all_places_of_its_groups_count() -> None:
    assert usual_furniture_of(["cup"]) == usual_furniture("cup") >= {"cabinet", "dishwasher"}
    assert usual_furniture_of(["no_such_class"]) == frozenset()
