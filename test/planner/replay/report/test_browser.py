"""The page in a real browser: it is drawn, the slider moves it, it asks nothing of a network."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from planner.cli import main
from planner.world.geometry import Pose
from planner.world.person import Person
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind, Relation


@pytest.fixture
def page(film, tmp_path):
    film.solved()
    bag = film.everything("bag").close()
    output = tmp_path / "out"
    main(["report", str(bag), "-o", str(output)])
    return output / "report.html"


@pytest.fixture
def walk(record, tmp_path):
    """An agent that goes ten metres in ten seconds, a picture a second, and picks something."""
    bag = record("walk")
    for i in range(101):
        t_s = i / 10
        bag.clock(t_s)
        bag.frames(t_s, bag.frame("map", "agent_0/base_link", t_s, t_s, 1.0))
        if i % 10 == 0:
            bag.picture("agent_0", t_s, 8 + i)
    bag.result("agent_0", "Navigate[table_1]", 4.0, duration_s=4.0)
    bag.result("agent_0", "Pick[cup_0]", 6.0, code=21, duration_s=1.0)
    bag.result("agent_0", "Pick[cup_0]", 9.0, duration_s=2.0)
    output = tmp_path / "out"
    assert main(["report", str(bag.close()), "-o", str(output)]) == 0
    return output / "report.html"


@pytest.mark.slow
def test_a_person_is_drawn_as_one_and_named(film, browser, tmp_path) -> None:
    """Also one who never moves."""
    film.solved()
    ann = EntityState(
        name="person_0",
        kind=EntityKind.OBJECT,
        class_name="person",
        instance_id=99,
        pose=Pose.planar(2.0, 1.0, 0.6),
        size_m=(0.4, 0.5, 1.7),
        parent="floor_kitchen_0",
        relation=Relation.ON,
        room="kitchen_0",
        person=Person("Ann", ("red shirt",)),
    )
    film.states = [
        replace(state, entities={**state.entities, ann.name: ann}) for state in film.states
    ]
    output = tmp_path / "out"
    main(["report", str(film.everything("bag").close()), "-o", str(output)])
    browser.open(output / "report.html")
    marks = "document.querySelectorAll('.things .person')"
    assert browser.run(f"{marks}.length") == 1
    assert browser.run(f"{marks}[0].querySelectorAll('.shoulders, .head').length") == 2
    assert (
        browser.run(f"getComputedStyle({marks}[0].querySelector('text')).visibility") == "visible"
    )
    assert not browser.complaints


@pytest.mark.slow
def test_the_slider_moves_the_map_the_picture_and_what_is_done(walk, browser) -> None:
    browser.open(walk)
    body = "document.querySelector('.body').getAttribute('transform')"
    picture = "document.querySelector('img.view').src"
    doing = "document.querySelector('.doing').textContent"
    before = browser.run(body), browser.run(picture)
    assert browser.run(doing) == "Navigate[table_1]"
    browser.run(
        "(() => { const s = document.getElementById('slider'); s.value = 8; "
        "s.dispatchEvent(new Event('input')); })()"
    )
    assert browser.run(body).startswith("translate(8.000 -1.000)")
    assert (browser.run(body), browser.run(picture)) != before
    assert browser.run(doing) == "Pick[cup_0]"
    assert browser.run("document.getElementById('now').textContent") == "00:08.0 of 00:10"
    cursors = browser.run("document.querySelectorAll('.gantt .cursor').length")
    assert cursors == 1
    assert not browser.complaints
    assert not browser.requests


@pytest.mark.slow
def test_it_plays(walk, browser) -> None:
    browser.open(walk)
    browser.run("document.getElementById('play').click()")
    browser.wait("window.planner_timeline.t > 0.5")
    browser.run("document.getElementById('play').click()")
    stopped = browser.run("window.planner_timeline.t")
    browser.run("new Promise(done => setTimeout(done, 200))")
    assert browser.run("window.planner_timeline.t") == stopped


@pytest.mark.slow
def test_calls_are_bars_and_failures_are_marked(walk, browser) -> None:
    browser.open(walk)
    assert browser.run("document.querySelectorAll('.gantt .call').length") == 3
    assert browser.run("document.querySelectorAll('.gantt .call.failed').length") == 1
    bars = "[...document.querySelectorAll('.gantt .call rect')]"
    widths = browser.run(f"{bars}.map(bar => bar.getBoundingClientRect().width)")
    # Four seconds, one and two.
    assert widths[0] > 1.8 * widths[2] > 3.2 * widths[1] > 0


@pytest.mark.slow
def test_zoom_shows_less_of_the_run(walk, browser) -> None:
    browser.open(walk)
    first = "document.querySelector('.gantt .call rect').getBoundingClientRect().width"
    before = browser.run(first)
    browser.run("document.querySelectorAll('.zoom button')[1].click()")
    assert browser.run(first) == pytest.approx(2 * before, abs=4)


@pytest.mark.slow
def test_nothing_stands_out_of_a_narrow_window_and_dark_is_dark(page, browser) -> None:
    browser.open(page, width=420, height=900, dark=True)
    assert browser.run("document.documentElement.scrollWidth") <= 420
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert all(int(level) < 60 for level in ground[4:-1].split(","))
    assert not browser.complaints


@pytest.mark.slow
def test_house_and_parts_of_the_task_are_drawn(page, browser) -> None:
    browser.open(page)
    assert browser.run("document.querySelectorAll('.floors polygon').length") > 0
    assert browser.run("document.querySelectorAll('.furniture .outline').length") > 0
    words = browser.run("document.getElementById('verdict').textContent")
    assert "cup_0 on top of table_1" in words
    assert "both the same" in words
    assert not browser.complaints


@pytest.mark.slow
def test_names_are_over_ways_and_none_is_over_another(film, tmp_path, browser) -> None:
    # Two things that end closer to one another than their names are high.
    film.put("cup_0", -0.05).put("apple_0", 0.05)
    bag = film.everything("bag").close()
    assert main(["report", str(bag), "-o", str(tmp_path / "out")]) == 0
    browser.open(tmp_path / "out" / "report.html")
    browser.run(
        "(() => { const s = document.getElementById('slider'); s.value = s.max; "
        "s.dispatchEvent(new Event('input')); })()"
    )
    boxes = browser.run(
        "[...document.querySelectorAll('.names text, .thing.moved text')].map(text => "
        "{ const b = text.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })"
    )
    assert len(boxes) >= 4
    for one, other in combinations(boxes, 2):
        apart_px = max(one[0] - other[2], other[0] - one[2], one[1] - other[3], other[1] - one[3])
        # Lines are a little higher than their letters.
        assert apart_px > -3
    follows = "trails.compareDocumentPosition(names) & Node.DOCUMENT_POSITION_FOLLOWING"
    groups = "const [trails, names] = ['.trails', '.names'].map(n => document.querySelector(n))"
    assert browser.run(f"(() => {{ {groups}; return {follows}; }})()") == 4
    assert not browser.complaints


@pytest.mark.slow
def test_the_dash_of_a_way_ends_where_the_agent_is(walk, browser) -> None:
    browser.open(walk)
    past = "document.querySelector('.trail:not(.future):not(.casing)')"
    browser.run(
        "(() => { const s = document.getElementById('slider'); s.value = 5; "
        "s.dispatchEvent(new Event('input')); })()"
    )
    lengths = browser.run(f"{past}.getAttribute('stroke-dasharray')").split()
    assert float(lengths[0]) == pytest.approx(5.0, abs=0.2)
    assert float(lengths[-1]) > 10.0


@pytest.mark.slow
def test_several_bags_are_one_page(film, tmp_path, browser) -> None:
    film.solved()
    one, other = film.everything("one").close(), film.everything("other").close()
    assert main(["report", str(one), str(other), "-o", str(tmp_path / "out")]) == 0
    browser.open(tmp_path / "out" / "report.html")
    assert browser.run("document.querySelectorAll('.tabs button').length") == 2
    browser.run("document.querySelectorAll('.tabs button')[1].click()")
    pressed = "document.querySelectorAll('.tabs button')[1].getAttribute('aria-pressed')"
    assert browser.run(pressed) == "true"
    assert not browser.complaints
