// A first task with its steps: the person brings one thing to another place. Ticked by what happens.

import { el } from "../../../replay/report/assets/dom.js";
import type { App } from "./app";
import { inControl } from "./app";
import { button, byId, refill } from "./draw";
import type { Call } from "./protocol";

interface Practice {
  episode: string;
  title: string;
  hint: string;
}

interface Step {
  words: string;
  done: boolean;
}

/** A first task: what to bring where. */
interface Lesson {
  thing: string;
  place: string;
  /** Calls up to this row were made before it. */
  after: number;
  /** Steps that were done once stay done. */
  done: Set<number>;
}

export class Tutorial {
  private lesson: Lesson | null = null;
  private problem = "";

  draw(app: App): void {
    const box = byId("tutorial");
    box.hidden = app.mode !== "live" || !app.mayOrder;
    if (box.hidden) return;
    if (!this.lesson) {
      refill(box, button("First task: show me how", "tutorial", () => this.begin(app)),
        this.problem ? el("p", { class: "soft" }, this.problem) : null,
        practice(app));
      return;
    }
    const steps = this.steps(app, this.lesson);
    const next = steps.findIndex((step) => !step.done);
    refill(box,
      el("h3", null, `First task: bring ${this.lesson.thing} to ${this.lesson.place}`),
      el("ol", { class: "steps" }, steps.map((step, i) =>
        el("li", { class: step.done ? "good" : i === next ? "now" : "soft", "aria-current": i === next ? "step" : null },
          el("span", { class: "tick", "aria-hidden": "true" }, step.done ? "☑" : "☐"),
          el("span", null, el("span", { class: "hidden" }, step.done ? "done: " : "to do: "), step.words)))),
      next < 0 ? el("p", { class: "good", role: "status" }, "✔ Done. The robots can be told to do the same in words.") : null,
      button(next < 0 ? "Close" : "End the lesson", "tutorial-end", () => {
        this.lesson = null;
        this.draw(app);
      }));
  }

  private begin(app: App): void {
    const known = app.store.truth.size ? app.store.truth : app.store.belief;
    const things = [...known].filter(([, e]) => e.kind === "object" && e.relation === "on" && known.get(e.parent)?.kind === "furniture");
    const first = things.sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))[0];
    // Where other things stand, a thing can be put.
    const place = things.map(([, e]) => e.parent).find((parent) => parent !== first?.[1].parent);
    if ((app.store.info?.agents.length ?? 0) < 2) this.problem = "It needs a second agent for you: agents:=2.";
    else if (!first || !place) this.problem = "It needs a thing on furniture, and another piece with something on it.";
    else {
      const rows = app.store.rows<Call>("calls");
      this.problem = "";
      this.lesson = { thing: first[0], place, after: Number(rows[0]?.[0] ?? 0), done: new Set() };
    }
    this.draw(app);
  }

  private steps(app: App, lesson: Lesson): Step[] {
    const me = app.partner();
    const rows = app.store.rows<Call>("calls").filter(([key, call]) => Number(key) > lesson.after && call.agent === me && !call.code);
    const did = (start: string) => rows.some(([, call]) => call.call.replaceAll(" ", "").startsWith(start));
    const thing = app.entity(lesson.thing).truth ?? app.entity(lesson.thing).belief;
    const other = app.store.info?.agents[1] ?? "agent_1";
    const now: [string, boolean][] = [
      [`Press “Be ${other}” at the top: you are that agent now.`, me !== ""],
      [`Choose ${lesson.thing} on the plan or in the memory.`, app.selection.name === lesson.thing],
      ["Press “Go there” and wait until you have arrived.", did(`Navigate[${lesson.thing}`)],
      ["Press “Pick up”.", did(`Pick[${lesson.thing}`)],
      [`Choose ${lesson.place} and press “Go there”.`, did(`Navigate[${lesson.place}`)],
      [`Press “Put ${lesson.thing} on it”.`, thing?.parent === lesson.place && did(`Place[${lesson.thing}`)],
    ];
    return now.map(([words, done], i) => {
      if (done) lesson.done.add(i);
      return { words, done: lesson.done.has(i) };
    });
  }
}

/** The episodes to practise with: which are done, and what to think of in the one that is loaded. */
function practice(app: App): Node | null {
  const lessons = app.store.get<Practice[]>("practice", "lessons") ?? [];
  const done = app.store.get<number[]>("practice", "done") ?? [];
  const info = app.store.info;
  if (!lessons.length || !info?.simulated) return null;
  const loaded = lessons.find((lesson) => lesson.episode === info.episode);
  return el("details", { "data-key": "practice" },
    el("summary", null, `Practice (${done.length} of ${lessons.length} done)`),
    el("ol", { class: "steps" }, lessons.map((lesson, i) =>
      el("li", { class: done.includes(i + 1) ? "good" : "" },
        el("span", { class: "tick", "aria-hidden": "true" }, done.includes(i + 1) ? "☑" : "☐"),
        button(`${i + 1}: ${lesson.title}`, `practice-${i}`, () => void app.order({ type: "practice", lesson: i + 1 }),
          { disabled: !inControl(app) || app.store.isRunning, title: "loads the episode; the world of now is lost" }),
        el("span", { class: "hidden" }, done.includes(i + 1) ? "done" : "to do")))),
    loaded ? el("p", { role: "status" }, el("b", null, "Hint: "), loaded.hint) : null) as Node;
}
