// The run as it went: the map with agents and things, the pictures of the moment, and the slider.

import { clock, el, svg } from "./dom.js";
import { dashArray, DASHES, floorPlan, nameOffsets, personShapes, roomNameBoxes, View } from "./floor_plan.js";
import { lastAt } from "./timeline.js";

const SPEEDS = [1, 2, 5, 10, 30, 100];

/** Map, pictures and slider of a bag's report; `images` are the pictures as data URLs. */
export function player(timeline, bag, images) {
  const view = mapView(bag);
  const wide = view && view.width / view.height > 1.6;
  const several = bag.about.agents.length > 1;
  return el(
    "div",
    { class: "player" },
    el(
      "div",
      { class: `stage${wide ? " wide" : several ? " several" : ""}` },
      el("div", { class: "mapbox" }, map(timeline, bag, view), controls(timeline)),
      views(timeline, bag, images),
    ),
  );
}

function controls(timeline) {
  const slider = el("input", { type: "range", id: "slider", min: 0, max: timeline.duration, step: "any", value: 0, "aria-label": "time" });
  const now = el("output", { class: "now", id: "now" });
  const button = el("button", { type: "button", class: "play", id: "play", "aria-label": "play" }, "▶");
  const speed = el("select", { "aria-label": "speed" }, SPEEDS.map((s) => el("option", { value: s, selected: s === 10 }, `${s}×`)));
  let playing = false;
  let before = 0;
  const step = (at) => {
    if (!playing) return;
    timeline.seek(timeline.t + ((at - before) / 1000) * Number(speed.value));
    before = at;
    if (timeline.t >= timeline.duration) toggle();
    else requestAnimationFrame(step);
  };
  const toggle = () => {
    playing = !playing;
    button.textContent = playing ? "❚❚" : "▶";
    button.setAttribute("aria-label", playing ? "pause" : "play");
    if (!playing) return;
    if (timeline.t >= timeline.duration) timeline.seek(0);
    requestAnimationFrame((at) => {
      before = at;
      requestAnimationFrame(step);
    });
  };
  button.addEventListener("click", toggle);
  slider.addEventListener("input", () => timeline.seek(Number(slider.value)));
  timeline.follow((t) => {
    slider.value = t;
    now.textContent = `${clock(t, 1)} of ${clock(timeline.duration, 0)}`;
  });
  return el("div", { class: "controls" }, button, slider, now, speed);
}

function views(timeline, bag, images) {
  const column = el("div", { class: "views" });
  bag.about.agents.forEach((agent, index) => {
    const rows = bag.pictures.map((p, i) => [p.t_s, i]).filter(([, i]) => bag.pictures[i].agent === agent);
    const calls = bag.calls.filter((call) => call.agent === agent);
    if (!rows.length && !calls.length) return;
    const picture = el("img", { alt: `what ${agent} sees`, class: "view" });
    const doing = el("div", { class: "doing" });
    const when = el("span", { class: "when" });
    const figure = el(
      "figure",
      { class: `agent-${index % 6}` },
      rows.length ? picture : null,
      el("figcaption", null, el("b", null, agent), rows.length ? when : null, doing),
    );
    let shown = -1;
    timeline.follow((t) => {
      const at = rows.length ? Math.max(0, lastAt(rows, t)) : -1;
      if (at !== shown && at >= 0) {
        shown = at;
        picture.src = images[rows[at][1]];
        when.textContent = `seen at ${clock(rows[at][0])}`;
      }
      const call = calls.find((c) => c.start_s <= t && t < c.end_s);
      doing.textContent = call ? call.call : "idle";
      doing.classList.toggle("idle", !call);
    });
    column.append(figure);
  });
  return column;
}

/** The part of the map that is shown; null where nothing is known of any place. */
function mapView(bag) {
  const corners = [...bag.paths.flatMap((p) => p.points.map(([, x, y]) => [x, y])), ...bag.things.flatMap((t) => t.places.map((p) => [p.x_m, p.y_m]))];
  return bag.plan || corners.length ? new View(bag.plan, corners) : null;
}

function map(timeline, bag, view) {
  if (!view) return el("p", { class: "note empty" }, "The bag tells neither of a house nor of any agent's place: there is no map.");
  const root = svg("svg", { class: "map", viewBox: `${view.x} ${view.y} ${view.width} ${view.height}`, role: "img", "aria-label": "map" });
  const layers = bag.plan ? floorPlan(bag.plan, view) : null;
  if (layers) root.append(layers.floors, layers.furniture, layers.walls);
  const trails = svg("g", { class: "trails" });
  const true_ = svg("g", { class: "things" });
  const believed = svg("g", { class: "believed" });
  const bodies = svg("g", { class: "bodies" });
  root.append(trails);
  // Names are over ways.
  if (layers) root.append(layers.names, layers.pieces);
  root.append(believed, true_, bodies);
  const pose = drawPaths(timeline, bag, view, trails, bodies);
  drawThings(timeline, bag, view, true_, pose);
  if (bag.memory) drawBelieved(timeline, bag.memory.believed, view, believed);
  root.append(scaleBar(view));
  const switches = [
    ["ways", trails, true],
    ["things", true_, true],
    ["memory", bag.memory ? believed : null, true],
    ["furniture names", layers && layers.pieces, false],
  ];
  const boxes = switches.filter(([, group]) => group).map(([name, group, on]) => {
    group.classList.toggle("hidden", !on);
    return el("label", null, el("input", { type: "checkbox", checked: on, onchange: (event) => group.classList.toggle("hidden", !event.target.checked) }), name);
  });
  const key = el(
    "span",
    { class: "key" },
    el("i", { class: "thing-key" }), "where it is",
    bag.memory ? [el("i", { class: "belief-key" }), "where the memory has it"] : null,
  );
  return [root, el("div", { class: "switches" }, boxes, key)];
}

function scaleBar(view) {
  const long = view.width > 12 ? 2 : 1;
  const [x, y] = [view.x + view.width - long - 0.25, view.y + view.height - 0.18];
  return svg("g", { class: "scale" }, svg("path", { d: `M${x} ${y - 0.06}v0.06h${long}v-0.06` }), svg("text", { x: x + long / 2, y: y - 0.1 }, `${long} m`));
}

/** Ways and bodies; returns a function that tells where an agent is. */
function drawPaths(timeline, bag, view, trails, bodies) {
  const at = new Map();
  for (const path of bag.paths) {
    const index = Math.max(0, bag.about.agents.indexOf(path.agent)) % 6;
    const kind = `agent-${index}`;
    const corners = path.points.map(([, x, y]) => [x, y]);
    const along = [0];
    for (let i = 1; i < corners.length; i += 1) {
      along.push(along[i - 1] + Math.hypot(corners[i][0] - corners[i - 1][0], corners[i][1] - corners[i - 1][1]));
    }
    const total = along.at(-1) + 1;
    const future = svg("polyline", { class: `trail future ${kind}`, points: view.points(corners) });
    const casing = svg("polyline", { class: "trail casing", points: view.points(corners) });
    const past = svg("polyline", { class: `trail ${kind}`, points: view.points(corners) });
    const body = svg("g", { class: `body ${kind}` }, svg("title", null, path.agent), svg("circle", { r: 0.22 }), svg("path", { d: "M0.4 0L0.12 -0.16V0.16Z" }));
    trails.append(future, casing, past);
    bodies.append(body);
    timeline.follow((t) => {
      const i = Math.max(0, lastAt(path.points, t));
      const [t0, x0, y0, a0] = path.points[i];
      const [t1, x1, y1] = path.points[Math.min(i + 1, path.points.length - 1)];
      const share = t1 > t0 ? Math.min(1, Math.max(0, (t - t0) / (t1 - t0))) : 0;
      const [x, y] = [x0 + (x1 - x0) * share, y0 + (y1 - y0) * share];
      at.set(path.agent, [x, y]);
      body.setAttribute("transform", `${view.translation([x, y])} rotate(${view.degrees(a0).toFixed(1)})`);
      const gone = along[i] + Math.hypot(x - x0, y - y0);
      casing.setAttribute("stroke-dasharray", dashArray([], gone, total));
      past.setAttribute("stroke-dasharray", dashArray(DASHES[index], gone, total));
    });
  }
  return (agent) => at.get(agent);
}

function drawThings(timeline, bag, view, group, pose) {
  const rooms = bag.plan ? roomNameBoxes(bag.plan, view) : [];
  const drawn = bag.things.map((thing) => {
    const name = svg("text", { x: 0.16, y: 0.06 }, thing.name.replaceAll("_", " "));
    const title = svg("title");
    const person = thing.class_name === "person";
    const node = svg("g", { class: person ? "thing person" : "thing" }, title, ...(person ? personShapes() : [svg("circle", { r: 0.09 })]), name);
    group.append(node);
    // Who a person is is always said.
    const moved = person || thing.places.length > 1;
    node.classList.toggle("moved", moved);
    return { thing, node, name, title, moved };
  });
  timeline.follow((t) => {
    const named = [];
    for (const { thing, node, name, title, moved } of drawn) {
      const place = thing.places[Math.max(0, lastAt(thing.places, t, (p) => p.t_s))];
      const held = place.holder ? pose(place.holder) : null;
      const corner = held || [place.x_m, place.y_m];
      node.setAttribute("transform", view.translation(corner));
      node.classList.toggle("held", Boolean(place.holder));
      const hand = place.hand ? ` in ${place.hand}` : "";
      title.textContent = `${thing.name}: ${place.holder ? `held by ${place.holder}${hand}` : place.parent}`;
      // What is in a hand is under the agent's body.
      const clear = held ? 0.46 : thing.class_name === "person" ? 0.3 : 0.16;
      if (moved) named.push({ name, words: thing.name, at: view.place(corner), clear });
    }
    nameOffsets(named, rooms).forEach(([dx, dy], i) => {
      named[i].name.setAttribute("x", dx.toFixed(3));
      named[i].name.setAttribute("y", dy.toFixed(3));
    });
  });
}

function drawBelieved(timeline, believed, view, group) {
  const nodes = believed.filter((b) => !b.picked).map((b) => {
    const [cx, cy] = view.place([b.x_m, b.y_m]);
    const node = svg("circle", { class: "belief hidden", r: 0.16, cx, cy }, svg("title", null, `the memory has ${b.name} here`));
    group.append(node);
    return [b, node];
  });
  timeline.follow((t) => {
    for (const [b, node] of nodes) node.classList.toggle("hidden", t < b.t_s || (b.t_end_s !== null && t >= b.t_end_s));
  });
}
