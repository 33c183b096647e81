// The sections of one bag's report that are tables and charts.

import { barChart, legend, stepChart } from "./chart.js";
import { badge, clock, el, grid, number, percent, section, svg, table } from "./dom.js";

const LEVELS = table([["error", "bad"], ["warning", "warn"], ["info", ""]]);

/** What the bag is of, and what must be known before anything else. */
export function head(bag) {
  const { about, verdicts } = bag;
  const best = verdicts.bag || verdicts.live;
  const facts = [
    ["house", about.house],
    ["task", about.episode_id],
    ["planner", about.planner],
    ["model", about.model],
    ["backend", about.backend],
    ["bodies", about.body],
    ["version", about.version],
    ["seed", about.seed === null ? "" : String(about.seed)],
    ["agents", about.agents.join(", ")],
    ["lasted", clock(about.duration_s)],
    ["recorded", clock(about.recorded_s)],
    ["messages", number(about.messages)],
  ].filter(([, value]) => value);
  const word = best ? (best.success ? badge("good", "success") : badge("bad", "failure")) : badge("", "no verdict");
  return el(
    "header",
    null,
    el("div", { class: "title" }, word, el("h1", null, about.instruction || about.episode_id || bag.name)),
    el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value)))),
    bag.notices.map((notice) => el("p", { class: `notice ${LEVELS.get(notice.level) || ""}` }, notice.text)),
  );
}

/** Verdicts, parts of the task, and progress. */
export function verdictSection(timeline, bag) {
  const { verdicts } = bag;
  const shown = verdicts.bag || verdicts.live;
  const say = (name, verdict, note) =>
    el(
      "div",
      { class: "card" },
      el("h3", null, name),
      verdict
        ? [
            badge(verdict.success ? "good" : "bad", verdict.success ? "success" : "failure"),
            el("span", { class: "big" }, percent(verdict.percent_complete)),
            el("span", { class: "small" }, ` ${verdict.sim_steps.toLocaleString("en")} steps, ${[verdict.mode, verdict.variant].filter(Boolean).join(", ")}`),
            verdict.criteria ? el("p", { class: "small" }, `criteria: ${verdict.criteria}`) : null,
          ]
        : el("span", { class: "small" }, "none"),
      note,
    );
  const agree = verdicts.agree === null ? null : badge(verdicts.agree ? "good" : "bad", verdicts.agree ? "both the same" : "they differ");
  const final = verdicts.bag ? badge(verdicts.final ? "good" : "warn", verdicts.final ? "final" : "not final") : null;
  const cards = el(
    "div",
    { class: "cards" },
    say("judged again from the bag", verdicts.bag, el("p", { class: "small" }, final, " ", verdicts.reason)),
    say("as judged live", verdicts.live, el("p", { class: "small" }, agree)),
  );
  if (!shown) return section("verdict", "Verdict", null, cards);
  const rows = shown.propositions.map((p) => [
    badge(p.satisfied ? "good" : "bad", p.satisfied ? "done" : "open"),
    p.text,
    p.first_t_s === null ? "–" : jump(timeline, p.first_t_s),
    p.doer || "–",
    p.reason,
  ]);
  const points = bag.progress.map((p) => [p.t_s, p.percent_complete]);
  return section(
    "verdict",
    "Verdict",
    null,
    cards,
    points.length ? stepChart(timeline, { series: [{ name: "done", kind: "series-0 area", points }], max: 1, label: "share of the task that is done", format: percent, end: timeline.duration }) : null,
    rows.length ? grid(["", "part of the task", "first done", "by", "why not"], rows, ["", "", "num", "", "small"]) : null,
    shown.explanation && !rows.length ? el("p", null, shown.explanation) : null,
  );
}

/** A time that takes the cursor there. */
function jump(timeline, t) {
  return el("button", { type: "button", class: "jump", onclick: () => timeline.seek(t) }, clock(t, 1));
}

/** Instruction's history, where the bag has it. */
export function instructionSection(timeline, bag) {
  if (!bag.instructions.length) return null;
  const rows = bag.instructions.map((i) => [jump(timeline, i.t_s), i.state, i.instruction, i.question || i.text]);
  return section("instruction", "Instruction", null, grid(["when", "state", "instruction", "question or result"], rows, ["num", "", "", ""]));
}

/** What the planner believed to be open and done, where it has subtasks. */
export function subtaskSection(timeline, bag) {
  if (!bag.subtasks.length) return null;
  const list = (texts) => (texts.length ? el("ul", null, texts.map((text) => el("li", null, text))) : "–");
  const rows = bag.subtasks.map((s) => [jump(timeline, s.t_s), list(s.open), list(s.completed), s.memory]);
  return section("subtasks", "Subtasks of the team", null, grid(["when", "open", "completed", "memory"], rows, ["num", "", "", "small"]));
}

/** Who did the work. */
export function workSection(timeline, bag) {
  const { agents, handovers } = bag.work;
  if (!agents.length) return null;
  const bars = [
    ["calls", "share_of_calls"],
    ["time at work", "share_of_time"],
    ["parts of the task", "share_of_propositions"],
  ].filter(([, key]) => agents.some((a) => a[key] !== null));
  const chart = el(
    "div",
    { class: "shares" },
    bars.map(([name, key]) => [
      el("span", null, name),
      sharesBar(agents.map((a, i) => ({ share: a[key] || 0, kind: `agent-${i % 6}`, name: a.agent }))),
    ]),
  );
  const rows = agents.map((a, i) => [
    el("span", null, el("i", { class: `swatch agent-${i % 6}` }), a.agent),
    number(a.calls),
    a.failed ? badge("bad", String(a.failed)) : "0",
    clock(a.busy_s),
    clock(a.idle_s),
    `${a.distance_m.toFixed(1)} m`,
    number(a.propositions),
  ]);
  const given = handovers.map((h) => [h.thing, h.giver, h.taker, jump(timeline, h.put_s), jump(timeline, h.taken_s)]);
  return section(
    "work",
    "Who did the work",
    null,
    agents.length > 1 ? chart : null,
    grid(["agent", "calls", "failed", "at work", "idle", "way", "parts of the task"], rows, ["", "num", "num", "num", "num", "num", "num"]),
    given.length ? [el("h3", null, "Handovers"), grid(["thing", "from", "to", "put down", "taken"], given, ["", "", "", "num", "num"])] : null,
  );
}

function sharesBar(parts) {
  const root = svg("svg", { class: "share", viewBox: "0 0 1000 22", preserveAspectRatio: "none", role: "img" });
  let x = 0;
  for (const { share, kind, name } of parts) {
    root.append(svg("rect", { class: kind, x: 1000 * x, y: 0, width: 1000 * share, height: 22 }, svg("title", null, `${name}: ${percent(share)}`)));
    x += share;
  }
  const words = parts.filter((p) => p.share > 0).map((p) => `${p.name} ${percent(p.share)}`).join("  ·  ");
  return el("div", null, root, el("span", { class: "small" }, words || "nobody"));
}

/** The memory against the truth. */
export function memorySection(timeline, bag) {
  const { memory } = bag;
  if (!memory) return null;
  const known = memory.points.some((p) => p.true !== null);
  const line = (name, kind, key) => ({ name, kind, points: memory.points.map((p) => [p.t_s, p[key]]) });
  const counts = [line("remembered", "series-0", "remembered")];
  if (known) counts.push(line("right", "series-1", "matched"), line("there are", "series-2", "true"));
  const most = Math.max(1, ...counts.flatMap((s) => s.points.map(([, v]) => v || 0)));
  const share = [line("precision", "series-0", "precision"), line("recall", "series-1", "recall")];
  const error = line("position error", "series-3", "error_m");
  const worst = Math.max(0.05, ...error.points.map(([, v]) => v || 0));
  const last = memory.points.at(-1);
  const note = known
    ? `A remembered thing is right where a true one of its class is within ${memory.distance_m} m. What is in a hand does not count.`
    : "The bag has no true states of the world: how good the memory is cannot be told.";
  const end = timeline.duration;
  return section(
    "memory",
    "Memory",
    note,
    el(
      "div",
      { class: "cards" },
      figure("remembered", number(last.remembered)),
      known ? [figure("there are", number(last.true)), figure("precision", percent(last.precision)), figure("recall", percent(last.recall)), figure("position error", last.error_m === null ? "–" : `${last.error_m.toFixed(2)} m`)] : null,
      memory.lost_updates ? figure("updates lost", number(memory.lost_updates), "bad") : null,
    ),
    legend(counts),
    stepChart(timeline, { series: counts, max: most, label: "things", format: (v) => number(Math.round(v)), end }),
    known
      ? [
          legend(share),
          stepChart(timeline, { series: share, max: 1, label: "precision and recall", format: percent, end }),
          legend([error]),
          stepChart(timeline, { series: [error], max: worst, label: "position error", height: 90, format: (v) => `${v.toFixed(2)} m`, end }),
        ]
      : null,
  );
}

function figure(name, value, kind = "") {
  return el("div", { class: `card figure ${kind}` }, el("span", { class: "big" }, value), el("span", { class: "small" }, name));
}

/** What was wrong. */
export function faultSection(timeline, bag) {
  if (!bag.faults.length) return section("faults", "Faults", "None in the bag.");
  const rows = bag.faults.map((f) => [
    badge(LEVELS.get(f.level) || "", f.level),
    f.kind,
    f.source,
    el("span", { class: "said" }, f.text),
    jump(timeline, f.first_s),
    f.count > 1 ? jump(timeline, f.last_s) : "",
    number(f.count),
  ]);
  return section("faults", "Faults", null, grid(["", "kind", "from", "what", "first", "last", "times"], rows, ["", "", "", "wide", "num", "num", "num"]));
}

/** Rates and gaps of topics. */
export function topicSection(bag) {
  const heads = ["topic", "type", "messages", "per second", "longest pause", "over the recording"];
  const rows = bag.topics.map((t) => [
    el("span", null, t.name, t.gaps.length ? [" ", badge(t.gaps.some((g) => g.missing) ? "bad" : "warn", gapWords(t))] : null, t.unreadable ? [" ", badge("bad", `${t.unreadable} unreadable`)] : null),
    t.type_name,
    number(t.messages),
    t.rate_hz === null ? "–" : t.rate_hz.toFixed(t.rate_hz < 10 ? 2 : 1),
    t.longest_s === null ? "–" : `${t.longest_s.toFixed(1)} s`,
    strip(t, bag.about.recorded_s),
  ]);
  return section(
    "topics",
    "Topics",
    "Rates are of the recording's own time. Red: messages that the recorder missed, or silences far longer than usual.",
    el("details", { open: bag.topics.length <= 24 }, el("summary", null, `${bag.topics.length} topics`), grid(heads, rows, ["", "small", "num", "num", "num", ""])),
  );
}

function gapWords(topic) {
  const missing = topic.gaps.reduce((sum, gap) => sum + (gap.missing || 0), 0);
  return missing ? `${missing} missing` : `${topic.gaps.length} ${topic.gaps.length > 1 ? "gaps" : "gap"}`;
}

function strip(topic, recorded) {
  const most = Math.max(1, ...topic.counts);
  const path = topic.counts.map((n, i) => (n ? `M${i} 16v-${((n / most) * 16).toFixed(1)}h1V16z` : "")).join("");
  const root = svg("svg", { class: "strip", viewBox: `0 0 ${topic.counts.length} 16`, preserveAspectRatio: "none" }, svg("path", { d: path }));
  for (const gap of topic.gaps) {
    const x = (gap.from_s / recorded) * topic.counts.length;
    const width = Math.max(0.6, ((gap.to_s - gap.from_s) / recorded) * topic.counts.length);
    root.append(svg("rect", { class: "gap", x, y: 0, width, height: 16 }, svg("title", null, `${clock(gap.from_s, 1)} to ${clock(gap.to_s, 1)}${gap.missing ? `: ${gap.missing} missing` : ""}`)));
  }
  return root;
}

/** Parameters of the nodes, as far as the bag holds them. */
export function settingSection(bag) {
  const rows = Object.entries(bag.about.settings);
  if (!rows.length) return null;
  return section("settings", "Settings", null, el("details", null, el("summary", null, `${rows.length} parameters`), grid(["parameter", "value"], rows.map(([k, v]) => [k, el("span", { class: "said" }, v)]))));
}
