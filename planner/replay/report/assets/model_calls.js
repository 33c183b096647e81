// Calls of language models with prompt and reply; decisions of planners without one.

import { barChart } from "./chart.js";
import { badge, clock, el, grid, number, percent, section } from "./dom.js";

/** The section; `calls` have their prompts as what differs from the call before (`same`, `prompt`). */
export function modelSection(timeline, bag) {
  const calls = bag.model_calls;
  if (!calls.length) return decisionSection(timeline, bag);
  const prompts = wholePrompts(calls);
  const tokens = (key) => calls.reduce((sum, call) => sum + call[key], 0);
  const latencies = calls.map((c) => c.latency_s).filter((v) => v !== null).sort((a, b) => a - b);
  const quantile = (q) => (latencies.length ? `${latencies[Math.min(latencies.length - 1, Math.floor(q * latencies.length))].toFixed(2)} s` : "–");
  const refused = calls.filter((c) => c.error).length;
  const sent = tokens("prompt_tokens");
  const figures = [
    [number(calls.length), "calls"],
    [refused ? number(refused) : "0", "replies refused"],
    [number(sent), "prompt tokens"],
    [sent ? percent(tokens("cached_tokens") / sent) : "–", "of them from the cache"],
    [number(tokens("reply_tokens")), "reply tokens"],
    [quantile(0.5), "latency, half are below"],
    [quantile(0.95), "latency, 95 % are below"],
  ];
  if (bag.currency) {
    const priced = calls.map((c) => c.cost).filter((v) => v !== null);
    const sum = priced.reduce((all, cost) => all + cost, 0);
    const without = calls.length - priced.length;
    figures.push([priced.length ? sum.toFixed(sum < 1 ? 4 : 2) : "–", `${bag.currency}${without ? `, without ${number(without)} calls of models that have no price` : ""}`]);
  }
  const bars = calls.filter((c) => c.latency_s !== null).map((c) => ({ t: c.t_s, value: c.latency_s, kind: c.error ? "refused" : "series-0", text: `${clock(c.t_s, 1)}: ${c.latency_s.toFixed(2)} s` }));
  return section(
    "model",
    "Model calls",
    null,
    el("div", { class: "cards" }, figures.map(([value, name]) => el("div", { class: "card figure" }, el("span", { class: "big" }, value), el("span", { class: "small" }, name)))),
    bars.length ? barChart(timeline, { bars, max: Math.max(...bars.map((b) => b.value)), label: "latency of calls", format: (v) => `${v.toFixed(1)} s` }) : null,
    el("div", { class: "calls" }, calls.map((call, i) => modelCall(timeline, call, () => prompts(i)))),
  );
}

/** The prompt of a call by its number: what it shares with the one before, and what is its own. */
function wholePrompts(calls) {
  const known = [];
  return (number_) => {
    for (let i = known.length; i <= number_; i += 1) {
      known.push((i ? known[i - 1].slice(0, calls[i].same) : "") + calls[i].prompt);
    }
    return { whole: known[number_], own: calls[number_].prompt, same: calls[number_].same };
  };
}

function modelCall(timeline, call, prompt) {
  const body = el("div", { class: "body" });
  const fill = (event) => {
    if (!event.target.open || body.childNodes.length) return;
    const { whole, own, same } = prompt();
    const text = el("pre", null, same > 200 ? own : whole);
    const more = same > 200 ? el("button", { type: "button", class: "jump", onclick: (e) => { text.textContent = ""; text.append(whole); e.target.remove(); } }, `show the ${number(same)} characters that it shares with the call before`) : null;
    body.append(
      el("h4", null, "prompt"), more || "", text,
      el("h4", null, "reply"), el("pre", null, call.reply),
    );
    if (call.cut) body.append(el("p", { class: "note" }, `${number(call.cut)} characters are left out here; report.json has all.`));
    if (call.error) body.append(el("p", { class: "notice bad" }, call.error));
  };
  return el(
    "details",
    { ontoggle: fill },
    el(
      "summary",
      null,
      el("button", { type: "button", class: "jump", onclick: (e) => { e.preventDefault(); timeline.seek(call.t_s); } }, clock(call.t_s, 1)),
      el("span", { class: "who" }, `${call.agents.join(", ")} · ${call.cycle}`),
      call.error ? badge("bad", "refused") : null,
      el("span", { class: "what" }, call.calls.filter(Boolean).join("  ·  ") || call.reply.slice(0, 160)),
      el("span", { class: "small" }, `${number(call.prompt_tokens)} + ${number(call.reply_tokens)} tokens${call.latency_s === null ? "" : `, ${call.latency_s.toFixed(2)} s`}`),
    ),
    body,
  );
}

function decisionSection(timeline, bag) {
  if (!bag.decisions.length) return null;
  const rows = bag.decisions.map((d) => [
    el("button", { type: "button", class: "jump", onclick: () => timeline.seek(d.t_s) }, clock(d.t_s, 1)),
    String(d.cycle),
    el("div", null, d.calls.map((call, i) => el("div", null, `${d.agents[i] || ""}: ${call || "–"}`))),
    d.error ? badge("bad", d.error) : d.replan ? badge("warn", "after a failure") : "",
  ]);
  return section(
    "model",
    "Decisions",
    `No language model was called: ${bag.about.planner || "the planner"} decided by itself.`,
    el("details", null, el("summary", null, `${rows.length} decisions`), grid(["when", "cycle", "calls", ""], rows, ["num", "num", "", ""])),
  );
}
