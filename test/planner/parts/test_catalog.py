"""Parts by name: this project's, and those of other packages however broken they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from planner.doctor import KINDS
from planner.parts.catalog import Catalog, Part, PartError
from planner.planning.part import PLANNERS, PlannerPart
from sim_bridge.backend import BACKENDS

GOOD = """
from planner.planning.part import PlannerPart
PLANNER = PlannerPart(summary="waits", make=lambda request: None)
NEWER = PlannerPart(summary="waits", make=lambda request: None, interface=99)
NO_PART = "waits"
"""
# As the interface of version 1 had it.
FLAT = """
from planner.planning.part import PlannerPart
PLANNER = PlannerPart(summary="waits", make=lambda request: None, needs_model=True)
"""


def catalog() -> Catalog[PlannerPart]:
    return Catalog(
        "planner", "planner.planning.planners", "PLANNERS", "planner.planning.part:PlannerPart", 2
    )


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Makes an installed package of others, with these entry points."""

    def make(package: str, source: str, group: str = "planner.planners", **points: str) -> None:
        (tmp_path / f"{package}.py").write_text(source)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {package}:{attribute}" for name, attribute in points.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))

    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield make
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_every_part_of_this_project_can_be_used() -> None:
    for kind in KINDS:
        assert kind.problems() == ()
        assert {kind.package_of(name) for name in kind.names()} <= {"planner"}
    assert set(PLANNERS.names()) >= {"expert", "react"}
    assert set(BACKENDS.names()) >= {"embedded", "ros"}


@pytest.mark.needs("papers", "sim_bridge/habitat", "sim_bridge/spot")
def test_parts_that_stand_apart_are_found_as_well() -> None:
    assert "partnr_rag" in PLANNERS.names()
    assert set(BACKENDS.names()) >= {"habitat", "rescue", "spot", "spot_emulator"}


def test_an_unknown_name_is_reported_with_the_nearest() -> None:
    with pytest.raises(PartError, match=r"no planner 'reakt'; .*; did you mean 'react'\?"):
        PLANNERS.get("reakt")


def test_a_part_of_another_package_is_found(install) -> None:  # type: ignore[no-untyped-def]
    install("sitters", GOOD, sitter="PLANNER")
    found = catalog()
    assert found.names()[-1] == "sitter"
    assert found.package_of("sitter") == "sitters"
    assert found.get("sitter").summary == "waits"
    assert found.problems() == ()


JUDGE = """
from planner.evaluation.constraints import JudgePart, StrictJudge
PART = JudgePart(summary="as strict", make=StrictJudge)
"""
RULES = """
from planner.evaluation.subtasks import SubtaskRules
from planner.world.episode import Act
ACTS = {"Nap": Act.NAVIGATE}
PART = SubtaskRules(summary="a nap is a walk", acts=ACTS, done=lambda trace, items: {})
"""


@pytest.mark.parametrize(
    ("source", "group", "record", "summary"),
    [
        (JUDGE, "planner.judges", "planner.evaluation.constraints:JudgePart", "as strict"),
        (
            RULES,
            "planner.subtask_rules",
            "planner.evaluation.subtasks:SubtaskRules",
            "a nap is a walk",
        ),
    ],
)
def test_a_kind_that_is_entry_points_only_has_parts_of_others_beside_ours(
    install,  # type: ignore[no-untyped-def]
    source: str,
    group: str,
    record: str,
    summary: str,
) -> None:
    install("sitters", source, group, sitter="PART")
    found: Catalog[Part] = Catalog("kind", "", "", record, 1, group=group)
    *ours, sitter = found.names()
    assert {found.package_of(name) for name in ours} <= {"planner"}
    assert sitter == "sitter"
    assert found.get("sitter").summary == summary
    assert found.problems() == ()


@pytest.mark.parametrize(
    ("source", "attribute", "reason"),
    [
        ("raise RuntimeError('no GPU here')", "PLANNER", "no GPU here; fix or uninstall"),
        ("import torch_of_nobody", "PLANNER", "No module named 'torch_of_nobody'; fix"),
        (GOOD, "ABSENT", "has no attribute 'ABSENT'; fix or uninstall the package"),
        (GOOD, "NO_PART", "expected a PlannerPart, got str; fix its entry point"),
        (FLAT, "PLANNER", "unexpected keyword argument 'needs_model'; fix or uninstall"),
        (GOOD, "NEWER", "written for version 99 of the planner interface, this is version 2"),
    ],
)
def test_a_broken_part_is_one_line_that_names_its_package_and_all_else_continues(
    install,  # type: ignore[no-untyped-def]
    source: str,
    attribute: str,
    reason: str,
) -> None:
    install("sitters", source, sitter=attribute)
    found = catalog()
    (line,) = found.problems()
    assert line.startswith("planner sitter of the package sitters cannot be used: ")
    assert reason in line
    assert "\n" not in line
    assert "sitter" not in found.usable()
    assert set(found.usable()) == set(PLANNERS.names())


def test_two_parts_of_one_name_are_reported_and_the_first_stays(install) -> None:  # type: ignore[no-untyped-def]
    install("sitters", GOOD, expert="PLANNER", sitter="PLANNER")
    install("squatters", GOOD, sitter="PLANNER")
    found = catalog()
    assert found.package_of("expert") == "planner"
    assert found.package_of("sitter") == "sitters"
    assert found.problems() == (
        (
            "planner expert of the package sitters is not used: planner has one of that name; "
            "rename its entry point"
        ),
        (
            "planner sitter of the package squatters is not used: sitters has one of that name; "
            "rename its entry point"
        ),
    )


def test_every_number_of_an_option_has_a_range() -> None:
    unbounded = [
        (part, option.name)
        for kind in KINDS
        for part in kind.names()
        for option in getattr(kind.get(part), "options", ())
        if type(option.default) in (int, float) and None in (option.min_value, option.max_value)
    ]
    assert unbounded == []
