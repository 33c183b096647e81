// The slider of a bag: play, speed, step, and a link to a moment.

import { clock } from "../../../replay/report/assets/dom.js";
import { byId } from "./draw";
import type { Connection } from "./connection";

export interface Position {
  t: number;
  playing: boolean;
  rate: number;
}

const STEP_S = 1;

export class Playback {
  private slider = byId<HTMLInputElement>("time");
  private play = byId<HTMLButtonElement>("play");
  private rate = byId<HTMLSelectElement>("rate");
  private duration = 0;
  private now: Position = { t: 0, playing: false, rate: 1 };
  private dragging = false;

  constructor(private connection: Connection) {
    this.slider.addEventListener("input", () => {
      this.dragging = true;
      this.seek(Number(this.slider.value));
    });
    this.slider.addEventListener("change", () => (this.dragging = false));
    this.play.addEventListener("click", () => this.toggle());
    this.rate.addEventListener("change", () => this.send(this.now.playing));
    byId("back").addEventListener("click", () => this.step(-STEP_S));
    byId("forth").addEventListener("click", () => this.step(STEP_S));
    window.addEventListener("hashchange", () => this.seek(timeInLink()));
    byId("share").addEventListener("click", () => {
      const link = linkTo(this.now.t);
      history.replaceState(null, "", link);
      void navigator.clipboard?.writeText(link.toString()).catch(() => undefined);
    });
  }

  begin(duration: number): void {
    this.duration = duration;
    this.slider.max = String(duration);
    byId("playback").hidden = false;
    const at = timeInLink();
    if (at > 0) this.seek(at);
  }

  show(position: Position): void {
    this.now = position;
    if (!this.dragging) this.slider.value = String(position.t);
    const words = `${clock(position.t, 1)} of ${clock(this.duration)}`;
    byId("time-text").textContent = words;
    this.slider.setAttribute("aria-valuetext", words);
    this.play.textContent = position.playing ? "❚❚ Pause" : "▶ Play";
  }

  toggle(): void {
    this.send(!this.now.playing);
  }

  step(seconds: number): void {
    this.seek(Math.min(this.duration, Math.max(0, this.now.t + seconds)));
  }

  private seek(at: number): void {
    this.connection.send({ type: "seek", at });
  }

  private send(on: boolean): void {
    this.connection.send({ type: "play", on, rate: Number(this.rate.value) });
  }
}

/** The time of `#t=12.3`, seconds. */
export function timeInLink(): number {
  const t = Number(new URLSearchParams(location.hash.slice(1)).get("t"));
  return Number.isFinite(t) && t > 0 ? t : 0;
}

function linkTo(t: number): URL {
  const link = new URL(location.href);
  const parameters = new URLSearchParams(link.hash.slice(1));
  parameters.set("t", t.toFixed(1));
  parameters.delete("token");
  link.hash = parameters.toString();
  return link;
}
