"""The published check of skills: what it passes, and what it finds."""

from __future__ import annotations

import pytest
from household_kitchen import kitchen_episode, kitchen_house

from planner.app.skill_check import check_skill
from planner.parts.calls import SKILLS
from planner.parts.catalog import Verdict
from planner.skills.attempt import Attempt, Routine
from planner.skills.part import SkillPart
from planner.skills.preconditions import Arguments
from planner.world.errors import PlannerError
from planner.world.house_checks import load_episode
from planner.world.person import PersonPlacement
from planner.world.skill import OpenedTo, PutDown, Role, SkillCode, SkillResult, StateSet

EPISODE, HOUSE = load_episode("coffee_time_0")
OPENS = (OpenedTo(1.0),)
EFFECT = "does_to_the_world_what_the_memory_notes"
KETTLE = ("Navigate[electric_kettle_0]", "Pick[electric_kettle_0]", "Navigate[sink_0]")
# Both start beside the person whom they carry together.
TIMMY, DEPOSIT = "lost_person_timmy_6", "deposit_facility_5"
BESIDE_TIMMY = ((4.25, 3.25, 0.0), (3.75, 3.75, 0.0))
# What calls that are made up do not come to.
CALLS = {
    "Clean": ("Clean[plate_0]", ("Navigate[plate_0]",)),
    "Close": ("Close[fridge_0]", ("Navigate[fridge_0]", "Open[fridge_0]")),
    "Pour": ("Pour[cup_0]", (*KETTLE, "Fill[electric_kettle_0]", "Navigate[cup_0]")),
    "Boil": (
        "Boil[potato_0]",
        (
            *("Navigate[pot_0]", "Pick[pot_0]", "Navigate[sink_0]", "Fill[pot_0]"),
            "Rearrange[pot_0, on, oven_0, None, None]",
            "Rearrange[potato_0, within, pot_0, None, None]",
            "PowerOn[oven_0]",
        ),
    ),
    "Brew": (
        "Brew[cup_0]",
        ("Rearrange[cup_0, on, coffee_machine_0, None, None]", "PowerOn[coffee_machine_0]"),
    ),
    "Cook": ("Cook[potato_0]", ("Rearrange[potato_0, on, oven_0, None, None]", "PowerOn[oven_0]")),
    "Dust": ("Dust[statue_0]", ("Navigate[napkin_0]", "Pick[napkin_0]", "Navigate[statue_0]")),
    "Slice": ("Slice[tomato_0]", ("Navigate[knife_0]", "Pick[knife_0]", "Navigate[tomato_0]")),
    "Toast": (
        "Toast[bread_slice_90]",
        ("Rearrange[bread_slice_90, on, toaster_0, None, None]", "PowerOn[toaster_0]"),
    ),
    "Water": (
        "Water[plant_container_0]",
        (
            *("Navigate[cup_0]", "Pick[cup_0]", "Navigate[sink_0]", "Fill[cup_0]"),
            "Navigate[plant_container_0]",
        ),
    ),
    "Move": ("Move[Back]", ()),
    "Rotate": ("Rotate[Right]", ()),
    "LookUp": ("LookUp[30]", ()),
    "LookDown": ("LookDown[30]", ()),
    "UseSand": (
        "UseSand[caldor_fire_region_1]",
        (
            "Navigate[reservoir_utah_3]",
            "TakeSand[reservoir_utah_3]",
            "Navigate[caldor_fire_region_1]",
        ),
    ),
    "UseWater": (
        "UseWater[great_fire_2]",
        (
            "Navigate[reservoir_york_4]",
            "TakeWater[reservoir_york_4]",
            "Navigate[great_fire_region_1]",
        ),
    ),
    "Carry": (f"Carry[{TIMMY}]", (f"agent_1: Carry[{TIMMY}]",)),
    "DropOff": (
        f"DropOff[{DEPOSIT}]",
        (
            *(f"Carry[{TIMMY}]", f"agent_1: Carry[{TIMMY}]"),
            *(f"Navigate[{DEPOSIT}]", f"agent_1: Navigate[{DEPOSIT}]"),
            f"agent_1: DropOff[{DEPOSIT}]",
        ),
    ),
    "Follow": ("Follow[person_0, kitchen_0]", ()),
    "Guide": ("Guide[person_0, kitchen_0]", ()),
    "FindPerson": ("FindPerson[waving person]", ()),
    "HandOver": ("HandOver[cup_0, person_0]", ("Navigate[cup_0]", "Pick[cup_0]")),
    "TakeFrom": (
        "TakeFrom[person_0]",
        ("Navigate[cup_0]", "Pick[cup_0]", "HandOver[cup_0, person_0]"),
    ),
    "PowerOff": ("PowerOff[oven_0]", ("Navigate[oven_0]", "PowerOn[oven_0]")),
}


# Only rescuers can do these.
RESCUE = (
    *("Carry", "DiscardSupplies", "DropOff", "Scout", "StoreSupplies"),
    *("TakeSand", "TakeWater", "UseSand", "UseWater"),
)
# Fails where the robot does not build its map.
MAPPING = ("ExploreHouse",)
PERSONS = (
    *("AskName", "FindPerson", "Follow", "Greet", "Guide"),
    *("HandOver", "Listen", "Say", "TakeFrom"),
)
KITCHEN_WORK = ("Boil", "Brew", "Cook", "Dust", "Slice", "Toast", "Water")


def _nothing(attempt: Attempt, arguments: Arguments) -> Routine:
    yield from ()
    return attempt.success()


def _deaf(attempt: Attempt, arguments: Arguments) -> Routine:
    until_s = attempt.scene.port.now_s() + 20.0
    while attempt.scene.port.now_s() < until_s:
        yield "waiting", 0.0
    return attempt.success()


def _silent(attempt: Attempt, arguments: Arguments) -> Routine:
    yield from ()
    return SkillResult(SkillCode.UNREACHABLE, "")


def _raising(attempt: Attempt, arguments: Arguments) -> Routine:
    raise RuntimeError("no such luck")


@pytest.mark.parametrize("name", SKILLS.names())
def test_what_ships_passes(name: str) -> None:
    # What is like another skill does the same to the same things.
    like = SKILLS.get(name).like or name
    call, before = CALLS.get(like, ("", ()))
    call = call.replace(like, name, 1)
    # Elsewhere nothing is dirty.
    episode, house = load_episode("dirty_dishes_0") if like == "Clean" else (EPISODE, HOUSE)
    if like in KITCHEN_WORK:
        house = kitchen_house()
        episode = kitchen_episode(house)
    if name in PERSONS:
        asks = {"question": "Who wrote Hamlet?"}
        person = {"name": "Ann", "room": house.rooms[0].name, "gesture": "waving", "answers": asks}
        people = (PersonPlacement.model_validate(person),)
        episode = episode.model_copy(update={"people": people})
    if name in RESCUE:
        episode, house = load_episode("rescue-1-agents-2")
        pairs = zip(episode.agents, BESIDE_TIMMY, strict=True)
        agents = tuple(agent.model_copy(update={"start": start}) for agent, start in pairs)
        episode = episode.model_copy(update={"agents": agents})
    report = check_skill(name, house, episode, call, before)
    assert report.conforms, report.table()
    verdicts = {finding.check: finding.verdict for finding in report.findings}
    nothing_changes = SKILLS.get(name).is_query or name in MAPPING
    assert verdicts[EFFECT] is (Verdict.SKIPPED if nothing_changes else Verdict.PASSED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "found"),
    [
        (
            SkillPart(
                summary="-", routine=_nothing, effects=(OpenedTo(1.0),), roles=(Role.FURNITURE,)
            ),
            {EFFECT},
        ),
        (SkillPart(summary="-", routine=_deaf), {"stops_where_it_is_canceled"}),
        (SkillPart(summary="-", routine=_silent), {"ends_with_a_code_and_evidence"}),
        (SkillPart(summary="-", routine=_raising), {"ends_with_a_code_and_evidence"}),
        (
            SkillPart(summary="-", routine=_nothing, aliases=("Pick",)),
            {"is_named_as_calls_can_name_it", "reads_its_calls_as_it_writes_them"},
        ),
        (
            SkillPart(summary="-", routine=_nothing, named_text="two\nlines"),
            {"can_be_called_by_a_model"},
        ),
    ],
    ids=["forgets", "deaf", "silent", "raises", "alias", "prompt"],
)
def test_what_breaks_its_promises_is_found(
    monkeypatch: pytest.MonkeyPatch, part: SkillPart, found: set[str]
) -> None:
    monkeypatch.setitem(SKILLS._loaded, "Broken", part)
    report = check_skill("Broken", HOUSE, EPISODE)
    assert set(report.failed) == found, report.table()


def test_a_record_that_no_call_fits_is_refused() -> None:
    with pytest.raises(PlannerError, match="those of Place, or entities and then one text"):
        SkillPart(summary="-", routine=_nothing, roles=(Role.TEXT, Role.OBJECT))
    with pytest.raises(PlannerError, match="refers to an argument that the call does not have"):
        SkillPart(summary="-", routine=_nothing, roles=(Role.OBJECT,), effects=(PutDown(),))
    SkillPart(
        summary="-",
        routine=_nothing,
        roles=(Role.OBJECT,),
        effects=(StateSet("clean", True),),
    )
