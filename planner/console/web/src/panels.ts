// The panels of what happens: instruction, agents, judge, model calls, health, log.

import { clock, el, number, percent } from "../../../replay/report/assets/dom.js";
import type { App } from "./app";
import { inControl } from "./app";
import { button, byId, refill } from "./draw";
import type { Call, Question, Status, Trace } from "./protocol";

const SHOWN_ROWS = 40;

/** What the instruction is doing, and the form for the next one or for an answer. */
export function drawInstruction(app: App): void {
  const now = app.store.instruction;
  const running = app.store.isRunning;
  const question = now?.question ?? "";
  const may = inControl(app);
  const input = byId<HTMLInputElement>("words");
  const send = byId<HTMLButtonElement>("send");
  const label = byId("words-label");
  label.textContent = question ? "Your answer" : "Instruction";
  input.placeholder = question ? "answer the question above" : "bring the cup to the kitchen table";
  input.disabled = !may || (running && !question);
  send.disabled = input.disabled;
  send.textContent = question ? "Answer" : "Send";
  byId("instruct-form").hidden = app.mode === "bag";
  refill(
    byId("instruction"),
    now && now.state !== "idle"
      ? [
          el("p", { class: "quote" }, `“${now.instruction}”`),
          el("p", { class: `state ${now.state}` }, mark(now.state), ` ${now.state}`, now.cycle ? ` · step ${now.cycle}` : "",
            now.planner ? ` · planner ${now.planner}` : "", now.model ? ` · ${now.model}` : ""),
          now.text ? el("p", null, now.text) : null,
          question ? el("p", { class: "question", role: "alert" }, el("b", null, "The robot asks: "), question) : null,
          now.plan ? el("details", { open: true, "data-key": "plan" }, el("summary", null, "Plan"), el("p", { class: "plan" }, now.plan)) : null,
          running && may ? button("End this instruction", "cancel", () => void app.order({ type: "cancel" })) : null,
        ]
      : el("p", { class: "soft" }, app.store.info?.task ? `The task: “${app.store.info.task}”` : app.mode === "bag" ? "no instruction yet at this time" : "no instruction yet"),
  );
}

function mark(state: string): string {
  return { done: "✔", succeeded: "✔", failed: "✘", canceled: "■", running: "▶", waiting: "?" }[state] ?? "·";
}

/** The call that an agent carries out now, planned or a person's; "" = none is known. */
export function running(app: App, agent: string): string {
  const now = app.store.instruction;
  const planned = now && app.store.isRunning ? now.calls[now.agents.indexOf(agent)] : "";
  return planned || app.store.get<string>("agents", `${agent}/doing`) || "";
}

/** What each agent does, and its last call. */
export function drawAgents(app: App): void {
  const calls = app.store.rows<Call>("calls").map(([, call]) => call);
  const agents = app.store.info?.agents ?? [];
  refill(
    byId("agents"),
    agents.map((agent, i) => {
      const planned = running(app, agent);
      const last = calls.find((call) => call.agent === agent && !call.part_of);
      const hands = (app.entity(agent).truth ?? app.entity(agent).belief)?.hands.filter(Boolean) ?? [];
      const mayMove = app.store.get<boolean>("agents", `${agent}/may_move`);
      const safety = app.store.get<Status>("agents", `${agent}/safety`);
      return el("div", { class: "agent-row" },
        el("h3", null, el("span", { class: `dot a${i % 6}` }), agent,
          app.holder(agent) ? el("span", { class: "badge" }, app.holder(agent) === app.mine ? "you" : "a person") : null,
          mayMove === false ? el("span", { class: "badge warn" }, "may not move") : null),
        planned ? el("p", { class: "call" }, `▶ ${planned}`) : null,
        hands.length ? el("p", { class: "soft" }, `holds ${hands.join(", ")}`) : null,
        last ? el("p", { class: last.code ? "bad" : "good" }, `${last.code ? "✘" : "✔"} ${last.call}`,
          last.code || !planned ? el("span", { class: "soft" }, ` — ${last.text}`) : null) : null,
        safety && safety.level !== "ok" ? el("p", { class: "warn" }, safety.message) : null,
      );
    }),
    agents.length ? null : el("p", { class: "soft" }, "no world yet"),
    calls.length
      ? el("details", { "data-key": "calls" }, el("summary", null, `Calls so far (${calls.length})`),
          el("ol", { class: "calls" }, calls.slice(0, SHOWN_ROWS).map((call) =>
            el("li", { class: call.code ? "bad" : "" }, `${clock(call.at)} ${call.agent} ${call.call}`,
              el("span", { class: "soft" }, ` ${call.text}${call.took === null ? "" : ` (${number(call.took, 1)} s)`}`)))))
      : null,
  );
}

/** What the judge says of each part of the task. */
export function drawJudge(app: App): void {
  const judge = app.store.judgement;
  refill(
    byId("judge"),
    judge && (judge.parts.length || judge.state !== "running")
      ? [
          el("div", { class: "progress", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100,
            "aria-valuenow": Math.round(100 * (judge.percent ?? 0)), "aria-label": "complete" },
            el("meter", { min: 0, max: 1, value: judge.percent ?? 0 }), ` ${percent(judge.percent)} `,
            el("span", { class: `state ${judge.state}` }, `${mark(judge.state)} ${judge.state}`)),
          el("ul", { class: "checklist" }, judge.parts.map((part) =>
            el("li", { class: part.satisfied ? "good" : "" },
              el("span", { class: "tick", "aria-hidden": "true" }, part.satisfied ? "☑" : "☐"),
              el("span", null, el("span", { class: "hidden" }, part.satisfied ? "done: " : "open: "), part.text,
                part.detail && !part.satisfied ? el("span", { class: "soft" }, ` — ${part.detail}`) : null)))),
          judge.explanation && judge.state !== "succeeded" ? el("p", { class: "soft" }, judge.explanation) : null,
        ]
      : el("p", { class: "soft" }, judge?.explanation || "nothing is judged: no task with a goal"),
  );
}

/** Questions of agents before their hand or arm does something. */
export function drawApprovals(app: App): void {
  const questions = [...app.store.of<Question>("questions")];
  const box = byId("approvals");
  box.hidden = questions.length === 0;
  const may = inControl(app);
  refill(box, questions.map(([agent, asked]) => {
    const answer = (word: string) => () => void app.order({ type: "approve", agent, question: asked.id, answer: word });
    const picture = app.asked.get(asked.picture);
    const what = [asked.primitive, asked.class].filter(Boolean).join(" ");
    return el("div", { class: "approval", role: "alert" },
      picture ? el("img", { src: picture, alt: `what ${agent} sees${asked.in_picture ? `; a red cross marks where it would ${what}` : ""}` }) : null,
      el("div", null,
        el("p", null, el("b", null, `${agent} asks: may I ${what}? `), asked.why, " ",
          // Not read out again each time that it changes.
          el("span", { class: "soft", "data-expires": asked.expires, "aria-live": "off" })),
        asked.picture && !picture ? el("p", { class: "soft" }, "its picture has not come yet") : null,
        !asked.picture ? el("p", { class: "warn" }, "there is no picture of it") : null,
        picture && !asked.in_picture ? el("p", { class: "warn" }, "The picture does not show the place: it lies outside.") : null,
        may ? el("p", { class: "buttons" },
          button("Approve (Alt+Y)", `yes-${agent}`, answer("yes"), { class: "primary", "data-approve": "yes" }),
          button("Refuse (Alt+N)", `no-${agent}`, answer("no"), { "data-approve": "no" }),
          button("Approve this kind", `kind-${agent}`, answer("kind"))) : el("p", { class: "soft" }, "this page is not in control")));
  }));
  drawTimeLeft(app);
}

/** How long each question may still be answered. */
export function drawTimeLeft(app: App): void {
  for (const shown of byId("approvals").querySelectorAll<HTMLElement>("[data-expires]")) {
    const left = Math.max(0, Math.round(Number(shown.dataset["expires"]) - app.store.clock));
    const text = `${left} s left`;
    if (shown.textContent !== text) shown.textContent = text;
  }
}

/** Model calls, with prompt and reply on a click. */
export function drawTraces(app: App): void {
  const rows = app.store.rows<Trace>("traces");
  const used = [...app.store.of<Record<string, number>>("models")];
  const currency = app.store.get<string>("prices", "currency") ?? "";
  const money = (sum: number | undefined) => (sum === undefined ? "–" : sum.toFixed(sum < 1 ? 4 : 2));
  const whole = used.some(([, sum]) => sum["cost"] !== undefined) ? used.reduce((all, [, sum]) => all + (sum["cost"] ?? 0), 0) : undefined;
  refill(
    byId("traces"),
    currency && used.length
      ? el("p", null, el("b", null, `${money(whole)} ${currency}`), used.some(([, sum]) => sum["cost"] === undefined) ? el("span", { class: "soft" }, " without models that have no price") : null)
      : null,
    used.length
      ? el("table", null, el("tr", null, ["model", "calls", "tokens in", "cached", "out", "s", ...(currency ? [currency] : [])].map((h) => el("th", null, h))),
          used.map(([name, sum]) => el("tr", null, el("td", null, name), ["calls", "prompt_tokens", "cached_tokens", "reply_tokens"].map((k) =>
            el("td", { class: "number" }, number(sum[k] ?? 0))), el("td", { class: "number" }, number(sum["seconds"] ?? 0, 1)),
            currency ? el("td", { class: "number" }, money(sum["cost"])) : null)))
      : el("p", { class: "soft" }, "no model was asked"),
    rows.slice(0, SHOWN_ROWS).map(([key, row]) =>
      button(`${clock(row.at)} ${row.role} ${row.agents.join(", ")}: ${row.calls.join("; ") || row.error || "—"}`, `trace-${key}`,
        () => void showTrace(app, key, row), { class: row.error ? "row bad" : "row", title: row.thought || row.error || (row.asked ? "prompt and reply" : "what was decided") })),
  );
}

async function showTrace(app: App, key: string, row: Trace): Promise<void> {
  const found = await app.connection.trace(key);
  const dialog = byId<HTMLDialogElement>("trace");
  dialog.replaceChildren(
    el("h2", null, `${row.role}, ${clock(row.at)}, ${row.model || row.planner}`),
    el("p", { class: "soft" }, !row.asked ? "decided without a model" : `${row.prompt_tokens} tokens in, ${row.cached_tokens} of them cached, ${row.reply_tokens} out, ${number(row.latency)} s`),
    row.error ? el("p", { class: "bad" }, `refused: ${row.error}`) : "",
    row.thought ? el("p", null, el("b", null, "Thought: "), row.thought) : "",
    el("h3", null, "Reply"), el("pre", { tabindex: 0 }, found ? found.reply : "no longer kept"),
    ...(row.asked ? [el("h3", null, "Prompt"), el("pre", { tabindex: 0 }, found ? found.prompt : "no longer kept")] : []),
    button("Close", "close-trace", () => dialog.close(), { autofocus: true }),
  );
  dialog.showModal();
}

/** Health of nodes and rates of topics. */
export function drawHealth(app: App): void {
  const nodes = [...app.store.of<Status>("health")].sort(([a], [b]) => a.localeCompare(b));
  const rates = [...app.store.of<number>("rates")].filter(([, hz]) => hz > 0);
  const icon = { ok: "✔", warning: "▲", error: "✘", stale: "…" };
  refill(
    byId("health"),
    el("ul", { class: "health" }, nodes.map(([name, status]) =>
      el("li", { class: status.level }, `${icon[status.level]} ${name}`, el("span", { class: "soft" }, ` ${status.message}`)))),
    rates.length ? el("p", { class: "soft" }, "rates: ", rates.map(([name, hz]) => `${name} ${number(hz, 1)} Hz`).join(" · ")) : null,
    nodes.length ? null : el("p", { class: "soft" }, "nothing was reported yet"),
  );
}

/** What persons did at this console. */
export function drawLog(app: App): void {
  const rows = app.store.rows<{ who: string; text: string; good: boolean }>("log");
  refill(byId("log"), rows.length
    ? el("ol", { class: "calls" }, rows.slice(0, SHOWN_ROWS).map(([, row]) =>
        el("li", { class: row.good ? "" : "bad" }, `${row.good ? "✔" : "✘"} ${row.text}`, el("span", { class: "soft" }, ` ${row.who}`))))
    : el("p", { class: "soft" }, "nothing was done here yet"));
}
