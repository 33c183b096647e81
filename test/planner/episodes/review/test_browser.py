"""The page in a real browser: keys judge and page, and what was said is there the next time."""

from __future__ import annotations

import pytest
from headless_browser import Browser

from planner.episodes.review.review import ReviewServer

PLACE = "document.getElementById('place').textContent"
SHOWN = (
    "document.getElementById('drawing').complete && document.getElementById('drawing').naturalWidth"
)
MESSAGE = "document.getElementById('message').textContent"


@pytest.fixture
def page(server: ReviewServer, browser: Browser) -> Browser:
    browser.visit(server.url)
    browser.wait(f"{PLACE} !== ''")
    return browser


def _is_at(page: Browser, place: str) -> None:
    page.wait(f"{PLACE} === '{place}'")


@pytest.mark.slow
def test_keys_judge_and_continue(page: Browser, server: ReviewServer) -> None:
    _is_at(page, "1 of 3: bed_first_0")
    page.wait(f"{SHOWN} > 300")
    page.press("r")
    _is_at(page, "2 of 3: boots_pair_0")
    page.press("w")
    page.press("5")
    page.press("9")
    page.press("Tab")
    for letter in "w5 no":
        page.press(letter)
    page.press("Enter")
    _is_at(page, "3 of 3: toys_home_0")
    assert server.review.counts() == (1, 1, 1)
    found = server.review.verdict(1)
    assert found is not None
    assert found.remark == "incorrect temporal grouping, incorrect ambiguity: w5 no"
    assert (server.review.folder / "episode_boots_pair_0.py").is_file()
    page.press("r")
    page.wait(f"{MESSAGE} === 'All episodes are judged.'")
    assert page.run("document.getElementById('progress').value") == 3
    assert not page.complaints


@pytest.mark.slow
def test_arrows_page_and_a_verdict_is_changed(page: Browser, server: ReviewServer) -> None:
    page.press("ArrowRight")
    page.press("ArrowRight")
    page.press("ArrowRight")
    _is_at(page, "3 of 3: toys_home_0")
    page.press("w")
    page.press("Escape")
    page.press("ArrowLeft")
    _is_at(page, "2 of 3: boots_pair_0")
    assert server.review.counts() == (0, 0, 3)
    page.press("r")
    _is_at(page, "3 of 3: toys_home_0")
    page.press("ArrowLeft")
    page.press("Backspace")
    page.wait("document.getElementById('counts').textContent.includes('3 not judged')")
    assert server.review.counts() == (0, 0, 3)


@pytest.mark.slow
def test_it_continues_where_it_was_left(server: ReviewServer, page: Browser) -> None:
    page.press("r")
    _is_at(page, "2 of 3: boots_pair_0")
    page.visit("about:blank")
    page.visit(server.url)
    _is_at(page, "2 of 3: boots_pair_0")
    assert page.run("document.getElementById('counts').textContent").startswith("1 right")


@pytest.mark.slow
def test_what_cannot_be_drawn_or_saved_is_said(page: Browser, server: ReviewServer) -> None:
    server.review.episodes[2].path.write_text("{", "utf-8")
    page.run("location.hash = '3'")
    page.wait(f"{MESSAGE}.includes('not well formed')")
    (server.review.folder / "review.json").unlink()
    (server.review.folder / "review.json").mkdir()
    page.press("r")
    page.wait(f"{MESSAGE}.startsWith('Not saved: ')")
    assert server.review.counts() == (0, 0, 3)


def test_nothing_stands_out_of_a_narrow_window(server: ReviewServer, browser: Browser) -> None:
    browser.visit(server.url, width=420, height=900, dark=True)
    browser.wait(f"{SHOWN} > 300")
    assert browser.run("document.documentElement.scrollWidth") <= 420
    assert not browser.complaints
    assert all(request.startswith(server.url) for request in browser.requests)
