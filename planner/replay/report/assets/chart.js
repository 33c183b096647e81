// Charts over the time of a run. Each is redrawn when its width or the visible range changes.

import { clock, el, svg } from "./dom.js";
import { timeTicks } from "./timeline.js";

export const LEFT = 92;
export const RIGHT = 14;

/** A place in which `draw(width, follow)` makes an SVG element, anew for each width and view. */
export function responsive(timeline, draw) {
  const box = el("div", { class: "chart" });
  let width = 0;
  let movers = [];
  const again = () => {
    if (width <= 0) return;
    movers = [];
    const drawn = draw(width, (move) => {
      movers.push(move);
      move(timeline.t);
    });
    box.replaceChildren(drawn);
  };
  timeline.follow((t) => movers.forEach((move) => move(t)));
  new ResizeObserver((entries) => {
    const now = Math.round(entries[0].contentRect.width);
    if (now === width) return;
    width = now;
    // Deferred: redrawing inside the callback would notify the observer again.
    requestAnimationFrame(again);
  }).observe(box);
  timeline.onView(again);
  return box;
}

/** Pixels of times of the part in view. */
export function scale(timeline, width) {
  const span = timeline.to - timeline.from;
  const px = (t) => LEFT + ((t - timeline.from) / span) * (width - LEFT - RIGHT);
  const time = (x) => timeline.from + ((x - LEFT) / (width - LEFT - RIGHT)) * span;
  return { px, time, left: LEFT, right: width - RIGHT };
}

/** Lines and words of a time axis at the bottom of a chart. */
export function timeAxis(timeline, x, width, top, bottom) {
  const ticks = timeTicks(timeline.from, timeline.to, Math.max(3, Math.floor(width / 110)));
  return svg(
    "g",
    { class: "axis" },
    ticks.map((t) => [
      svg("line", { x1: x.px(t), x2: x.px(t), y1: top, y2: bottom, class: "grid" }),
      svg("text", { x: x.px(t), y: bottom + 14, "text-anchor": "middle" }, clock(t)),
    ]),
  );
}

/** The cursor of the timeline on a chart; a click or a drag on the chart moves it. */
export function cursor(timeline, follow, x, top, bottom, root) {
  const line = svg("line", { class: "cursor", y1: top, y2: bottom });
  follow((t) => {
    const shown = t >= timeline.from && t <= timeline.to;
    line.setAttribute("visibility", shown ? "visible" : "hidden");
    line.setAttribute("x1", x.px(t));
    line.setAttribute("x2", x.px(t));
  });
  const seek = (event) => {
    const at = event.clientX - root.getBoundingClientRect().left;
    if (at >= x.left - 4) timeline.seek(x.time(at));
  };
  root.addEventListener("pointerdown", (event) => {
    root.setPointerCapture(event.pointerId);
    seek(event);
  });
  root.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) seek(event);
  });
  return line;
}

/** A legend of names with the class of their colours. */
export function legend(entries) {
  return el(
    "div",
    { class: "legend" },
    entries.map(({ name, kind, shape }) => el("span", null, el("i", { class: `${shape || "swatch"} ${kind}` }), name)),
  );
}

/**
 * Lines over time that keep their value until the next point.
 *
 * `series`: [{name, kind, points: [[t, value], ...]}]; a value of null breaks the line.
 */
export function stepChart(timeline, { series, max, label, height = 120, format = String, end }) {
  return responsive(timeline, (width, follow) => {
    const top = 8;
    const bottom = height - 22;
    const x = scale(timeline, width);
    const y = (v) => bottom - (Math.min(v, max) / (max || 1)) * (bottom - top);
    const root = svg("svg", { width, height, role: "img", "aria-label": label });
    root.append(timeAxis(timeline, x, width, top, bottom));
    for (const part of [0, 0.5, 1]) {
      const value = part * max;
      root.append(
        svg("line", { class: "grid", x1: x.left, x2: x.right, y1: y(value), y2: y(value) }),
        svg("text", { class: "value", x: x.left - 8, y: y(value) + 4, "text-anchor": "end" }, format(value)),
      );
    }
    const clip = clipTo(root, x, top, bottom);
    const lines = svg("g", { "clip-path": clip });
    for (const { kind, points } of series) lines.append(svg("path", { class: `line ${kind}`, d: stepPath(points, x, y, end) }));
    root.append(lines, cursor(timeline, follow, x, top, bottom, root));
    return root;
  });
}

let clips = 0;

/** Keeps what is drawn inside the chart; returns the reference for `clip-path`. */
export function clipTo(root, x, top, bottom) {
  const id = `clip-${(clips += 1)}`;
  const box = svg("rect", { x: x.left, y: top - 4, width: Math.max(0, x.right - x.left), height: bottom - top + 8 });
  root.append(svg("defs", null, svg("clipPath", { id }, box)));
  return `url(#${id})`;
}

function stepPath(points, x, y, end) {
  let path = "";
  let last = null;
  for (const [t, value] of points) {
    if (value === null) {
      if (last !== null) path += `H${x.px(t).toFixed(1)}`;
      last = null;
      continue;
    }
    path += last === null ? `M${x.px(t).toFixed(1)} ${y(value).toFixed(1)}` : `H${x.px(t).toFixed(1)}V${y(value).toFixed(1)}`;
    last = value;
  }
  if (last !== null) path += `H${x.px(end).toFixed(1)}`;
  return path;
}

/** Bars at times, such as a latency for each call. */
export function barChart(timeline, { bars, max, label, height = 90, format = String }) {
  return responsive(timeline, (width, follow) => {
    const top = 8;
    const bottom = height - 22;
    const x = scale(timeline, width);
    const y = (v) => bottom - (Math.min(v, max) / (max || 1)) * (bottom - top);
    const root = svg("svg", { width, height, role: "img", "aria-label": label });
    root.append(timeAxis(timeline, x, width, top, bottom));
    for (const value of [0, max]) {
      root.append(svg("text", { class: "value", x: x.left - 8, y: y(value) + 4, "text-anchor": "end" }, format(value)));
    }
    const drawn = svg("g", { "clip-path": clipTo(root, x, top, bottom) });
    for (const { t, value, kind, text } of bars) {
      const bar = svg("rect", { class: `bar ${kind}`, x: x.px(t) - 1.5, width: 3, y: y(value), height: Math.max(1, bottom - y(value)) });
      bar.append(svg("title", null, text));
      drawn.append(bar);
    }
    root.append(drawn, cursor(timeline, follow, x, top, bottom, root));
    return root;
  });
}
