"""Who can use the page: contrast, a walk by keyboard, and texts that look like markup."""

from __future__ import annotations

import json
from typing import Any

import pytest
from console_messages import (
    believed,
    entity,
    graph,
    info,
    instruction,
    judgement,
    skill_report,
    state,
    trace,
)
from headless_browser import Browser
from test_live_page import choose, page, press, site
from test_server import Site

__all__ = ["page", "site"]

# WCAG 2.2, 1.4.3: of text, and of large or bold text.
CONTRAST = 4.5
HOSTILE = "<img src=x onerror=document.title='taken'><script>document.title='taken'</script>"

# Each visible text with its contrast to what lies behind it; inactive controls need none.
TEXTS = """
(() => {
  const channels = css => {
    const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1});
    const context = canvas.getContext('2d', {willReadFrequently: true});
    context.fillStyle = css; context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.push(channels(getComputedStyle(at).backgroundColor));
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const opacity = element => {
    let product = 1;
    for (let at = element; at; at = at.parentElement) product *= +getComputedStyle(at).opacity;
    return product;
  };
  const light = rgb => rgb.map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const words = [...element.childNodes].filter(n => n.nodeType === 3)
      .map(n => n.data.trim()).join('');
    if (!words || element.closest('svg, :disabled, script, style, [hidden]')) continue;
    if (!element.checkVisibility()) continue;
    const ground = behind(element);
    const ink = channels(getComputedStyle(element).color);
    ink[3] *= opacity(element);
    const [a, b] = [light(over(ink, ground)), light(ground)].sort((x, y) => y - x);
    found.push([words.slice(0, 40), Math.round(100 * (a + 0.05) / (b + 0.05)) / 100]);
  }
  return found;
})()
"""
# What can have the focus, in the order of the document: a name for each, as far as it is visible.
STOPS = """
[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]
  .filter(e => e.tabIndex >= 0 && !e.disabled && e.checkVisibility())
  .map(e => { e.dataset.stop ??= String(window.stops = (window.stops ?? 0) + 1);
              return e.dataset.stop; })
"""
FOCUSED = """
(() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  const marked = e.closest('svg')
    ? style.filter !== 'none' || [...e.querySelectorAll('*'), e].some(
        each => getComputedStyle(each).stroke !== 'none')
    : style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
  return {stop: e.dataset.stop ?? '', what: e.outerHTML.slice(0, 90), marked,
          seen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth};
})()
"""


def fill(site: Site) -> None:
    """All parts of the page have something to show, good and bad."""
    site.view.take("/instruct/status", instruction(1, "agent_0"))
    parts = {"cup_0__on__table_0": True, "book_0__clean": False}
    site.view.take("/evaluation", judgement(1.0, 0, **parts))
    site.view.take("/skills/results", skill_report(2.0, "agent_1", "Pick[cup_0]", 4, "too far"))
    site.view.take("/skills/results", skill_report(3.0, "agent_0", "Pick[cup_0]"))
    site.view.take("/planner/trace", trace("What now?", "Thought: bring it.\nWait[]", "no call"))
    nodes = [believed("cup_0", 0.0, 2.0), believed("book_0", 0.0, 1.5)]
    site.view.take("/world_graph", graph(2.0, *nodes))


def fill_and_choose(site: Site, page: Browser) -> None:
    """All that the page can show is drawn, a thing is chosen."""
    fill(site)
    page.wait("document.querySelectorAll('#traces .row').length > 0")
    choose(page, "cup_0")
    page.wait("!!document.querySelector('#correction')")


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_has_enough_contrast(site: Site, page: Browser, dark: bool) -> None:
    page.visit(site.server.address, dark=dark)
    fill_and_choose(site, page)
    page.run("document.querySelectorAll('details').forEach(d => { d.open = true; }); 1")
    found = page.run(TEXTS)
    assert len(found) > 40
    assert [each for each in found if each[1] < CONTRAST] == []
    # Also while the server is lost, which greys everything.
    page.run("document.body.classList.add('lost'); 1")
    assert [each for each in page.run(TEXTS) if each[1] < CONTRAST] == []


def tab(page: Browser, *, back: bool = False) -> None:
    page.press("Shift+Tab" if back else "Tab")


def test_a_walk_by_keyboard_through_the_whole_page(site: Site, page: Browser) -> None:
    fill_and_choose(site, page)
    page.run("document.activeElement.blur(); window.getSelection().removeAllRanges(); 1")
    stops = page.run(STOPS)
    assert len(stops) > 15
    walked: list[dict[str, Any]] = []
    for _ in range(3 * len(stops)):
        tab(page)
        found = page.run(FOCUSED)
        if found is None or (walked and found["stop"] == walked[0]["stop"]):
            break
        walked.append(found)
    else:
        pytest.fail(f"no way out: {walked[-3:]}")
    assert [each["what"] for each in walked if not each["marked"]] == []
    assert [each["what"] for each in walked if not each["seen"]] == []
    order = [each["stop"] for each in walked]
    # Every control once, in the order of the page.
    begin = stops.index(order[0])
    assert order == stops[begin:] + stops[:begin] or order == stops[begin:]
    assert set(order) == set(stops)
    # And the other way round.
    tab(page, back=True)
    tab(page, back=True)
    assert page.run(FOCUSED)["stop"] in stops


def test_a_dialog_keeps_the_focus_until_it_is_closed(site: Site, page: Browser) -> None:
    fill(site)
    page.wait("document.querySelectorAll('#traces .row').length > 0")
    page.run("document.querySelector('#traces .row').focus(); 1")
    page.run("document.activeElement.click(); 1")
    page.wait("document.querySelector('#trace').open")
    assert page.run("document.querySelector('#trace').contains(document.activeElement)")
    press(page, "Close", "#trace")
    page.wait("!document.querySelector('#trace').open")
    assert page.run("document.activeElement.className.includes('row')")


def test_no_text_of_a_bag_a_model_or_a_person_becomes_markup(site: Site, page: Browser) -> None:
    name = f"cup_{HOSTILE}"
    said = instruction(1, "agent_0")
    said.instruction, said.plan, said.text, said.question = (HOSTILE,) * 4
    said.calls = [f"Pick[{HOSTILE}]"]
    site.view.take("/instruct/status", said)
    thing = entity(name, 2.0, 2.0, class_name=HOSTILE, room=HOSTILE, parent=HOSTILE)
    site.view.take("/world/state", state(2, thing))
    site.view.take("/world_graph", graph(2.0, believed(name, 0.0, 2.0)))
    site.view.take("/evaluation", judgement(1.0, 0, **{HOSTILE: False}))
    site.view.take("/skills/results", skill_report(2.0, "agent_0", HOSTILE, 4, HOSTILE))
    asked = trace(HOSTILE, f"Thought: {HOSTILE}", HOSTILE)
    asked.calls = [f"Pick[{HOSTILE}]"]
    site.view.take("/planner/trace", asked)
    site.view.take("/world/info", info("agent_0", "agent_1", house_json=HOSTILE))
    page.run(
        f"document.querySelector('#words').value = {json.dumps(HOSTILE)};"
        "document.querySelector('#instruct-form').requestSubmit(); 1"
    )
    page.wait("document.querySelectorAll('#traces .row').length > 0")
    texts = {
        "an instruction": "#instruction",
        "a judge's part": "#judge",
        "a call": "#agents",
        "an object's name": "#memory",
        "a model's call": "#traces",
    }
    for what, place in texts.items():
        page.wait(f"document.querySelector('{place}').textContent.includes('<img src=x')")
        assert page.run(f"document.querySelector('{place}').textContent"), what
    page.run("document.querySelector('#traces .row').click()")
    thought = f"document.querySelector('#trace').textContent.includes({json.dumps(HOSTILE)})"
    page.wait(thought)
    assert page.run("document.querySelector('#trace').textContent").count(HOSTILE) == 4
    page.run(
        f"[...document.querySelectorAll('#map [data-name]')].find(e => e.dataset.name === "
        f"{json.dumps(name)}).dispatchEvent(new MouseEvent('click', {{bubbles: true}})); 1"
    )
    page.wait("document.querySelector('#details').textContent.includes('<img src=x')")
    assert page.run("document.querySelectorAll('img[src=x], body script').length") == 0
    assert page.run("document.title") == "planner console"
    assert page.complaints == []
