"""What a page that has a version gets next."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planner.console import facts
from planner.console.facts import Patch, Table

Page = dict[tuple[str, str], Any]


def applied(page: Page, patch: Patch) -> Page:
    """What the page shows after a patch, as store.ts makes it."""
    message = json.loads(patch.text)
    assert message["version"] == patch.version
    shown = {} if message["type"] == "all" else dict(page)
    for section, entries in message["set"].items():
        shown |= {(section, key): value for key, value in entries.items()}
    for section, keys in message["drop"].items():
        for key in keys:
            shown.pop((section, key), None)
    return shown


def contents(of: Table, *sections: str) -> Page:
    return {(s, key): value for s in sections for key, value in of.section(s).items()}


def test_a_patch_has_only_what_changed() -> None:
    shown = Table()
    shown.set("truth", "cup_0", {"x": 1.0})
    first = shown.patch(0)
    shown.set("truth", "cup_0", {"x": 1.0})
    assert shown.version == first.version
    shown.set("truth", "cup_1", {"x": 2.0})
    shown.drop("truth", "cup_0")
    message = json.loads(shown.patch(first.version).text)
    assert message["set"] == {"truth": {"cup_1": {"x": 2.0}}}
    assert message["drop"] == {"truth": ["cup_0"]}


def test_a_version_that_is_not_ours_gets_everything() -> None:
    shown = Table()
    shown.set("a", "b", 1)
    assert json.loads(shown.patch(77).text)["type"] == "all"
    assert json.loads(shown.patch(shown.version).text)["set"] == {}


def test_a_page_that_missed_forgotten_removals_gets_everything(monkeypatch: Any) -> None:
    monkeypatch.setattr(facts, "_MAX_REMOVED", 3)
    shown = Table()
    for number in range(10):
        shown.set("a", str(number), number)
    page = applied({}, shown.patch(0))
    before = shown.version
    for number in range(8):
        shown.drop("a", str(number))
    patch = shown.patch(before)
    assert json.loads(patch.text)["type"] == "all"
    assert applied(page, patch) == contents(shown, "a")


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["set", "drop", "clear", "read"]), st.integers(0, 4), st.integers(0, 3)
    )
)


@given(_STEPS)
def test_a_page_that_reads_now_and_then_shows_the_same(steps: list[tuple[str, int, int]]) -> None:
    shown, page, version = Table(), {}, 0
    for what, key, value in steps:
        section = f"s{value % 2}"
        if what == "set":
            shown.set(section, str(key), value)
        elif what == "drop":
            shown.drop(section, str(key))
        elif what == "clear":
            shown.clear(section)
        else:
            patch = shown.patch(version)
            page, version = applied(page, patch), patch.version
            assert page == contents(shown, "s0", "s1")
