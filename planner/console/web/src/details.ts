// The selected entity: what is believed and true of it, what the partner can do, corrections.

import { el } from "../../../replay/report/assets/dom.js";
import type { App } from "./app";
import { inControl } from "./app";
import { button, byId, refill } from "./draw";
import type { Believed, Entity } from "./protocol";

interface Act {
  words: string;
  call: string;
}

/** The skill calls of a partner for an entity, by what it is and what its hands hold. */
export function acts(name: string, entity: Entity, held: string[]): Act[] {
  const found: Act[] = [];
  const add = (words: string, call: string) => found.push({ words, call });
  if (entity.kind !== "agent") add("Go there", `Navigate[${name}]`);
  const can = new Set(entity.affordances);
  if (entity.kind === "object" && held.length < 2) {
    if (!held.includes(name)) add("Pick up", `Pick[${name}]`);
  }
  if (entity.kind === "furniture" || entity.kind === "room") {
    for (const thing of held) {
      if (entity.kind === "furniture") {
        add(`Put ${thing} on it`, `Place[${thing}, on, ${name}, None, None]`);
        add(`Put ${thing} in it`, `Place[${thing}, within, ${name}, None, None]`);
      } else {
        const floor = `floor_${name}`;
        add(`Put ${thing} on the floor`, `Place[${thing}, on, ${floor}, None, None]`);
      }
    }
    // Negative: nothing about it opens.
    if (entity.kind === "furniture" && entity.open !== null && entity.open >= 0) {
      add("Open", `Open[${name}]`);
      add("Close", `Close[${name}]`);
    }
    if (entity.kind === "room") {
      add("Look around there", `Explore[${name}]`);
    }
  }
  if (can.has("cleanable")) add("Clean", `Clean[${name}]`);
  if (can.has("fillable")) add("Fill", `Fill[${name}]`);
  if (can.has("powerable")) {
    add("Switch on", `PowerOn[${name}]`);
    add("Switch off", `PowerOff[${name}]`);
  }
  return found;
}

export function drawDetails(app: App): void {
  const { name, at } = app.selection;
  const box = byId("details");
  const { truth, belief } = app.entity(name);
  const entity = truth ?? belief;
  if (!entity) {
    refill(box, el("p", { class: "soft" }, app.mode === "live" && app.partner()
      ? `You are ${app.partner()}: choose a thing, furniture or a room on the plan or in the memory.`
      : "Choose a thing, furniture or a room on the plan or in the memory."));
    return;
  }
  refill(
    box,
    el("h3", null, name, el("span", { class: "soft" }, ` ${entity.kind}`)),
    el("dl", null, row("believed", belief), row("true", truth)),
    app.partner() ? partnerButtons(app, name, entity) : null,
    belief && inControl(app) ? corrections(app, name, belief, at) : null,
  );
}

function row(words: string, entity: Entity | Believed | undefined): (Node | null)[] {
  if (!entity) return [];
  const states = Object.entries(entity.states).map(([state, value]) => `${value ? "" : "not "}${state.replaceAll("_", " ")}`);
  const where = [entity.relation, entity.parent, entity.room && entity.room !== entity.parent ? `in ${entity.room}` : ""].filter(Boolean).join(" ");
  const place = entity.x === null || entity.y === null ? "" : `${entity.x.toFixed(2)}, ${entity.y.toFixed(2)} m`;
  const text = [where, place, ...states, "description" in entity ? (entity as Believed).description : ""].filter(Boolean).join(" · ");
  return [el("dt", null, words) as Node, el("dd", null, text) as Node];
}

function partnerButtons(app: App, name: string, entity: Entity): Node {
  const agent = app.partner();
  const body = app.entity(agent).truth ?? app.entity(agent).belief;
  const held = body?.hands.filter(Boolean) ?? [];
  return el("div", { class: "buttons", role: "group", "aria-label": `what you do as ${agent}` },
    acts(name, entity, held).map(({ words, call }) =>
      button(words, `act-${call}`, () => void app.order({ type: "skill", agent, call }), { class: "primary", title: call, "data-call": call }))) as Node;
}

function corrections(app: App, name: string, belief: Believed, at: [number, number] | null): Node {
  const send = (change: string, more: object) => void app.order({ type: "correct", change, entity: belief.id, ...more }).then(({ good }) => {
    const used = byId("details").querySelector<HTMLInputElement>("#correction");
    if (good && used?.dataset["key"] === `correction-${name}`) used.value = "";
  });
  const input = el("input", { type: "text", id: "correction", "data-key": `correction-${name}`, maxlength: 200, placeholder: "mug · dirty · table_1" }) as HTMLInputElement;
  const words = () => ({ words: input.value.trim() });
  const movable = belief.kind === "object";
  return el("details", { "data-key": `correct-${name}` }, el("summary", null, "Correct the memory"),
    el("p", { class: "buttons" },
      el("label", { for: "correction" }, "Words "), input,
      movable ? button("It is a …", "c-rename", () => send("rename", words())) : null,
      button("It is (state) …", "c-state", () => send("state", words())),
      movable ? button("It is on (furniture) …", "c-onto", () => send("onto", words())) : null,
      movable && at ? button("It is where I clicked", "c-move", () => send("move", { at: [at[0], at[1], belief.z ?? 0.8] })) : null,
      movable ? button(`There is no ${name}`, "c-remove", () => send("remove", {})) : null)) as Node;
}
