// Several bags side by side: one row each, metrics with intervals, paired tests, differences.

import { badge, clock, el, grid, number, percent, section, svg } from "./dom.js";

/** The overview of all bags; `open(i)` shows one of them. */
export function comparisonSection(report, open) {
  const { bags, comparison } = report;
  const rows = bags.map((bag, i) => {
    const best = bag.verdicts.bag || bag.verdicts.live;
    return [
      el("button", { type: "button", class: "jump", onclick: () => open(i) }, bag.name),
      best ? badge(best.success ? "good" : "bad", best.success ? "success" : "failure") : badge("", "no verdict"),
      best ? percent(best.percent_complete) : "–",
      best ? number(best.sim_steps) : "–",
      clock(bag.about.duration_s),
      bag.about.episode_id || bag.about.instruction,
      bag.about.house,
      [bag.about.planner, bag.about.model].filter(Boolean).join(" · "),
      number(bag.calls.length),
      number(bag.calls.filter((c) => c.code !== 0).length),
    ];
  });
  const parts = [grid(["bag", "verdict", "done", "steps", "lasted", "task", "house", "planner", "calls", "failed"], rows, ["", "", "num", "num", "num", "", "", "", "num", "num"])];
  if (comparison) {
    parts.push(metrics(comparison), tests(comparison), differences(comparison, bags));
    for (const note of comparison.notes) parts.push(el("p", { class: "note" }, note));
  }
  return section("comparison", `${bags.length} bags`, null, ...parts);
}

// Metrics shown by default; the others on demand.
const FIRST = ["success", "percent_complete", "sim_steps", "planning_cycles", "skill_success", "task_offloading"];

function metrics(comparison) {
  const { arms } = comparison;
  const names = [...new Set(arms.flatMap((arm) => arm.metrics.map((m) => m.metric)))];
  if (!names.length) return null;
  const rest = names.filter((name) => !FIRST.includes(name));
  const table = (shown) => grid(["metric", ...arms.map((arm) => `${arm.name} (${arm.bags.length})`), "interval"], shown.map((name) => metricRow(arms, name)), ["", ...arms.map(() => ""), "small"]);
  return [
    el("h3", null, arms.length > 1 ? "Metrics of each group, with intervals of 95 %" : "Metrics, with intervals of 95 %"),
    table(names.filter((name) => FIRST.includes(name))),
    rest.length ? el("details", null, el("summary", null, `${rest.length} more metrics`), table(rest)) : null,
  ];
}

function metricRow(arms, name) {
  const found = arms.map((arm) => arm.metrics.find((m) => m.metric === name));
  const most = Math.max(1e-9, ...found.filter(Boolean).map(({ estimate }) => Math.max(estimate.high ?? 0, estimate.value ?? 0)));
  const cells = found.map((metric, i) => {
    if (!metric) return "–";
    const { value, low, high, n } = metric.estimate;
    const reach = low === null ? `n = ${n}` : `${number(low)} … ${number(high)}, n = ${n}`;
    return el("div", { class: "estimate" }, el("b", null, number(value)), whisker(metric.estimate, most, i), el("span", { class: "small" }, reach));
  });
  const made = found.find(Boolean).estimate.interval;
  return [name.replaceAll("_", " "), ...cells, made === "none" ? "one bag has none" : made.replaceAll("_", " ")];
}

function whisker({ value, low, high }, most, i) {
  const x = (v) => 4 + (v / most) * 152;
  const root = svg("svg", { class: `whisker agent-${i % 6}`, width: 160, height: 16 });
  root.append(svg("line", { class: "grid", x1: 4, x2: 156, y1: 8, y2: 8 }));
  if (low !== null) root.append(svg("line", { class: "reach", x1: x(Math.max(0, low)), x2: x(high), y1: 8, y2: 8 }));
  if (value !== null) root.append(svg("circle", { cx: x(value), cy: 8, r: 4 }));
  return root;
}

function tests(comparison) {
  if (!comparison.tests.length) return null;
  const rows = comparison.tests.map((t) => [
    t.metric,
    `${t.second} − ${t.first}`,
    number(t.difference.value),
    t.difference.low === null ? "–" : `${number(t.difference.low)} … ${number(t.difference.high)}`,
    `${t.larger} / ${t.smaller} of ${t.difference.n}`,
    t.p < 0.05 ? badge("warn", t.p.toPrecision(2)) : t.p.toPrecision(2),
    t.test.replaceAll("_", " "),
  ]);
  return [
    el("h3", null, "Paired tests"),
    el("p", { class: "note" }, "Over the tasks that both did. p: how often at least such a difference would come about if they were alike."),
    grid(["metric", "difference", "mean", "interval", "larger / smaller", "p", "test"], rows, ["", "", "num", "num", "num", "num", "small"]),
  ];
}

function differences(comparison, bags) {
  if (!comparison.differences.length) return [el("h3", null, "What differs"), el("p", { class: "note" }, "Nothing that the bags tell of.")];
  const rows = comparison.differences.map((d) => [d.setting, ...d.values.map((v) => v || "–")]);
  return [el("h3", null, "What differs"), grid(["", ...bags.map((b) => b.name)], rows, ["key"])];
}
