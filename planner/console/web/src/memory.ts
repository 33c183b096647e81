// The memory as a tree: house, rooms, furniture, objects; each with source and age, beside the truth.

import { el } from "../../../replay/report/assets/dom.js";
import type { App } from "./app";
import { ago, button, byId, refill } from "./draw";
import type { Believed } from "./protocol";

const SOURCE = { seen: "◉ seen", told: "✎ told", inferred: "∴ inferred" };

export function drawMemory(app: App): void {
  const { belief } = app.store;
  const wrong = [...app.comparison.of.values()].filter((found) => found.difference !== "same").length;
  const byParent = new Map<string, string[]>();
  for (const [name, entity] of belief) {
    const parent = entity.kind === "room" ? "" : entity.parent || entity.room || "somewhere";
    const list = byParent.get(parent);
    if (list) list.push(name);
    else byParent.set(parent, [name]);
  }
  const shown = new Set<string>();
  const branch = (parent: string): unknown => {
    const names = byParent.get(parent);
    if (!names || shown.has(parent)) return null;
    shown.add(parent);
    const wanted = names.filter((name) => filtered(name, belief.get(name)!, app));
    return el("ul", null, wanted.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).map((name) => leaf(app, name, branch)));
  };
  refill(
    byId("memory-note"),
    belief.size === 0 ? "the memory is empty" : null,
    app.comparison.known && belief.size
      ? el("span", { class: wrong || app.comparison.unknown.length ? "warn" : "good" },
          `${app.comparison.of.size - wrong} of ${app.comparison.of.size} remembered objects are where they are said to be; ` +
          `${app.comparison.unknown.length} true objects are not remembered`)
      : null,
  );
  refill(
    byId("memory"),
    branch("") as Node | null,
    [...byParent.keys()].filter((parent) => parent && !belief.has(parent) && !shown.has(parent)).map((parent) =>
      el("div", null, el("span", { class: "soft" }, parent), branch(parent))) as Node[],
    app.comparison.unknown.length
      ? el("details", { "data-key": "not-remembered" }, el("summary", null, "not remembered"), el("ul", null, app.comparison.unknown.map((name) => {
          const real = app.store.truth.get(name);
          return el("li", null, button(name, `memory-${name}`, () => app.select(name), { class: "leaf" }),
            el("span", { class: "soft" }, ` ${real?.relation ?? ""} ${real?.parent ?? ""}`));
        })))
      : null,
  );
}

function filtered(name: string, entity: Believed, app: App): boolean {
  if (entity.kind === "room" || entity.kind === "agent") return true;
  const words = byId<HTMLInputElement>("memory-filter").value.trim().toLowerCase();
  if (words) return `${name} ${entity.description} ${entity.room} ${entity.parent}`.toLowerCase().includes(words) || entity.kind === "furniture";
  if (entity.kind === "furniture" && byId<HTMLInputElement>("memory-all").checked) return true;
  if (entity.kind !== "furniture") return true;
  // Furniture with nothing in or on it is left out.
  return [...app.store.belief.values()].some((other) => other.parent === name);
}

function leaf(app: App, name: string, branch: (parent: string) => unknown): Node {
  const entity = app.store.belief.get(name)!;
  const found = app.comparison.of.get(name);
  const states = Object.entries(entity.states).filter(([, value]) => value)
    .map(([state]) => state.replaceAll("_", " ")).filter((state) => !/^(color|material) |^clean$/.test(state));
  const age = entity.since === null || entity.kind === "room" ? "" : ago(app.store.clock - entity.since);
  const note = !found || found.difference === "same" ? null
    : el("span", { class: "badge warn" }, found.difference === "misplaced" ? `≠ ${found.offM.toFixed(1)} m off` : "≠ not there");
  const real = app.store.truth.get(found?.truth ?? "");
  const differs = found?.difference === "same" && real && real.parent && entity.parent && real.parent !== entity.parent
    ? el("span", { class: "badge warn" }, `≠ ${real.relation} ${real.parent}`) : null;
  return el("li", { class: entity.kind },
    button(name, `memory-${name}`, () => app.select(name),
      { class: app.selection.name === name ? "leaf selected" : "leaf", "aria-pressed": app.selection.name === name }),
    el("span", { class: "soft" }, ` ${entity.kind === "object" || entity.kind === "agent" ? `${entity.relation} ` : ""}`,
      states.length ? `${states.join(", ")} ` : "",
      entity.open !== null && entity.open > 0.5 ? "open " : "",
      entity.kind === "room" ? "" : `${SOURCE[entity.source]}${entity.source === "told" ? "" : ` ${age === "now" ? "now" : `${age} ago`}`}`),
    note, differs,
    branch(name) as Node | null) as Node;
}
