// Why a task is not done, in words: what the judge says is open, and which calls failed last.

import { el, percent } from "../../../replay/report/assets/dom.js";
import type { App } from "./app";
import { inControl } from "./app";
import { button, byId, refill } from "./draw";
import type { Call, Tries, Work } from "./protocol";

const WORDS: Record<string, (a: string[]) => string> = {
  Navigate: ([where]) => `go to ${where}`,
  Explore: ([where]) => `look around in ${where}`,
  Pick: ([thing]) => `pick up ${thing}`,
  Place: ([thing, relation, where]) => `put ${thing} ${relation} ${where}`,
  Rearrange: ([thing, relation, where]) => `bring ${thing} and put it ${relation} ${where}`,
  Open: ([what]) => `open ${what}`,
  Close: ([what]) => `close ${what}`,
  Clean: ([what]) => `clean ${what}`,
  Fill: ([what]) => `fill ${what}`,
  Pour: ([what]) => `pour into ${what}`,
  PowerOn: ([what]) => `switch on ${what}`,
  PowerOff: ([what]) => `switch off ${what}`,
};

/** A skill call as what one does; the call itself where it is none that we know. */
export function inWords(call: string): string {
  const found = /^\s*(\w+)\s*\[(.*)\]\s*$/.exec(call);
  const name = found?.[1] ?? "";
  const words = Object.hasOwn(WORDS, name) ? WORDS[name] : undefined;
  return words && found ? words((found[2] ?? "").split(",").map((part) => part.trim())) : call;
}

/** The last call of each agent, where it failed, as a sentence. */
export function failures(app: App): string[] {
  const calls = app.store.rows<Call>("calls").map(([, call]) => call).filter((call) => !call.part_of);
  const agents = app.store.info?.agents ?? [...new Set(calls.map((call) => call.agent))];
  return agents.flatMap((agent) => {
    const last = calls.find((call) => call.agent === agent);
    return last?.code ? [`${agent} could not ${inWords(last.call)}: ${last.text}`] : [];
  });
}

/** The explanation, once the task has ended and something is open. */
export function drawWhy(app: App): void {
  const { judgement: judge, instruction: now } = app.store;
  const open = (judge?.parts ?? []).filter((part) => !part.satisfied);
  const ended = judge?.state === "failed" || (now !== undefined && ["failed", "canceled"].includes(now.state));
  const box = byId("why");
  box.hidden = !ended || app.store.isRunning || judge?.state === "succeeded";
  if (box.hidden) return refill(box);
  const failed = failures(app);
  refill(box,
    el("h3", null, "Why it is not done"),
    judge?.parts.length
      ? el("p", null, `${open.length} of ${judge.parts.length} parts ${open.length === 1 ? "is" : "are"} open:`,
          el("ul", null, open.map((part) => el("li", null, part.detail || part.text))))
      : el("p", null, "The judge knows no parts of this task."),
    failed.length
      ? el("p", null, "What failed last:", el("ul", null, failed.map((line) => el("li", null, line))))
      : el("p", null, "No agent's last call failed."),
    now?.text ? el("p", null, `The planner said: ${now.text}`) : null);
}

/** Whose calls did the parts, and the share that persons had done for them by robots. */
export function drawWork(app: App): void {
  const work = app.store.get<Work>("judge", "work");
  const done = Object.entries(work?.done ?? {}).sort(([a], [b]) => a.localeCompare(b));
  const share = app.store.judgement?.state === "succeeded" ? (work?.offloaded ?? null) : null;
  refill(byId("work"), done.length
    ? el("p", { class: "soft" }, `parts done: ${done.map(([agent, count]) => `${agent} ${count}`).join(", ")}`,
        share === null ? null : ` · task offloading ${percent(share)}`)
    : null);
}

/** The tries at the task: each with what was done, the best one marked, and the next one offered. */
export function drawTries(app: App): void {
  const tries = app.store.get<Tries>("tries", "now");
  const ended = tries?.tries.some((each) => each.state !== "running");
  // Nobody else says when it is over.
  const ends = tries?.together && tries.tries.at(-1)?.state === "running" && app.partner() !== "";
  const offered = tries && !ends && !tries.again && !app.store.isRunning && (tries.together || app.store.instruction?.state !== "idle");
  refill(byId("tries"), tries && (ended || tries.tries.length > 1 || offered || ends)
    ? [
        el("ol", { class: "tries", "aria-label": "tries" }, tries.tries.map((each) =>
          el("li", { class: each.state === "succeeded" ? "good" : "" }, `Try ${each.number}: `,
            each.state === "running" && each.number === tries.tries.length && (app.store.isRunning || tries.together) ? "running" : each.percent === null ? "not judged" : percent(each.percent),
            each.number === tries.best && tries.tries.length > 1 ? el("span", { class: "badge good" }, "best") : null))),
        ends ? button("We are done", "finish", () => void app.order({ type: "finish" }), { title: "the judge gives its verdict; a task that is done ends by itself" }) : null,
        offered && inControl(app)
          ? button(`Try again (${tries.tries.length + 1} of ${tries.most})`, "again", () => void app.order({ type: "again" }), { title: "the same world from its beginning, and the same instruction" })
          : el("p", { class: "soft" }, tries.again),
      ]
    : null);
}
