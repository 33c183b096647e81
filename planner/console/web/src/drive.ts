// Driving by keys: what is held is wished again and again; who lets go, or is lost, moves nothing.

import type { App } from "./app";
import { byId } from "./draw";

// Between two wishes; the server forgets one after 500 ms.
const REPEAT_MS = 150;
const KEYS: Record<string, [forward: number, turn: number]> = {
  KeyW: [1, 0], ArrowUp: [1, 0], KeyS: [-1, 0], ArrowDown: [-1, 0],
  KeyA: [0, 1], ArrowLeft: [0, 1], KeyD: [0, -1], ArrowRight: [0, -1],
};

export class DriveKeys {
  private held = new Set<string>();
  private timer = 0;
  private toggle = byId<HTMLInputElement>("drive");

  constructor(private app: App) {
    document.addEventListener("keyup", (event) => this.release(event.code));
    window.addEventListener("blur", () => this.releaseAll());
    document.addEventListener("visibilitychange", () => this.releaseAll());
    this.toggle.addEventListener("change", () => {
      // So that the arrows drive and do not scroll or choose.
      if (this.toggle.checked) this.toggle.blur();
      this.releaseAll();
      this.show();
    });
    for (const pad of document.querySelectorAll<HTMLElement>("[data-drive]")) {
      const code = pad.dataset["drive"] ?? "";
      pad.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        this.hold(code);
      });
      for (const end of ["pointerup", "pointerleave", "pointercancel"]) pad.addEventListener(end, () => this.release(code));
      pad.addEventListener("contextmenu", (event) => event.preventDefault());
    }
  }

  /** Shows the switch to partners of a live stack only. */
  show(): void {
    const agent = this.app.mode === "live" ? this.app.partner() : "";
    byId("driving").hidden = agent === "";
    byId("drive-words").textContent = ` Drive ${agent} by keys: W A S D or arrows`;
    byId("drive-pad").hidden = !this.toggle.checked;
    if (!agent) this.off();
  }

  /** Whether the key drives; only with the switch on, and never while somebody types. */
  take(event: KeyboardEvent): boolean {
    if (!this.toggle.checked || event.ctrlKey || event.metaKey || event.altKey || !(event.code in KEYS)) return false;
    const into = event.target;
    if (into instanceof HTMLInputElement && into !== this.toggle) return false;
    if (into instanceof HTMLSelectElement || document.querySelector("dialog[open]")) return false;
    this.hold(event.code);
    return true;
  }

  /** Ends the driving and switches it off. */
  off(): void {
    this.releaseAll();
    this.toggle.checked = false;
    byId("drive-pad").hidden = true;
  }

  private hold(code: string): void {
    if (!this.toggle.checked || this.held.has(code)) return;
    this.held.add(code);
    this.wish();
    if (!this.timer) this.timer = window.setInterval(() => this.wish(), REPEAT_MS);
  }

  private release(code: string): void {
    if (!this.held.delete(code)) return;
    if (this.held.size === 0) this.rest();
    else this.wish();
  }

  private releaseAll(): void {
    if (this.held.size === 0) return;
    this.held.clear();
    this.rest();
  }

  private rest(): void {
    clearInterval(this.timer);
    this.timer = 0;
    this.wish();
  }

  private wish(): void {
    const agent = this.app.partner();
    if (!agent) return;
    let [forward, turn] = [0, 0];
    for (const code of this.held) {
      forward += KEYS[code]?.[0] ?? 0;
      turn += KEYS[code]?.[1] ?? 0;
    }
    const within = (share: number) => Math.max(-1, Math.min(1, share));
    const message = { type: "drive", agent, forward: within(forward), turn: within(turn) };
    void this.app.connection.order(message).then(({ good, text }) => {
      if (good || !this.toggle.checked) return;
      this.off();
      this.app.tell(text, false);
    });
  }
}
