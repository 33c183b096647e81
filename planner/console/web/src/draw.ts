// Small parts that all panels use.

import { el, plain } from "../../../replay/report/assets/dom.js";

export type Child = Node | string | number | null | undefined | false | Child[];

/** Replaces what an element contains; keeps focus, typed text and what is unfolded, by `data-key`. */
export function refill(container: Element, ...children: Child[]): void {
  const active = document.activeElement;
  const focused = active instanceof HTMLElement && container.contains(active) ? active.dataset["key"] : undefined;
  const before = keyed(container);
  const top = container.scrollTop;
  container.replaceChildren(...flat(children));
  container.scrollTop = top;
  for (const [key, element] of keyed(container)) {
    const old = before.get(key);
    if (element instanceof HTMLInputElement && old instanceof HTMLInputElement) {
      element.value = old.value;
      if (key === focused) element.setSelectionRange(old.selectionStart, old.selectionEnd);
    }
    if (element instanceof HTMLDetailsElement && old instanceof HTMLDetailsElement) element.open = old.open;
    if (key === focused) element.focus({ preventScroll: true });
  }
}

function keyed(container: Element): Map<string, HTMLElement> {
  return new Map([...container.querySelectorAll<HTMLElement>("[data-key]")].map((e) => [e.dataset["key"] ?? "", e]));
}

function flat(children: Child[]): (Node | string)[] {
  return children
    .flat(Infinity as 1)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : plain(child)));
}

/** A button; `key` keeps the focus on it when its panel is drawn again. */
export function button(words: string, key: string, onclick: () => void, more: Record<string, unknown> = {}): HTMLElement {
  return el("button", { type: "button", "data-key": key, onclick, ...more }, words) as HTMLElement;
}

/** An element of the page that is always there. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found as T;
}

/** How long ago, in words. */
export function ago(seconds: number): string {
  if (!(seconds >= 1.5)) return "now";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
