// The page: connects, keeps what the server says, and draws what has changed.

import { el } from "../../../replay/report/assets/dom.js";
import type { App } from "./app";
import { compare } from "./compare";
import { Connection } from "./connection";
import { drawDetails } from "./details";
import { DriveKeys } from "./drive";
import { button, byId, refill } from "./draw";
import { drawTries, drawWhy, drawWork, inWords } from "./explain";
import { FloorMap } from "./map";
import { drawMemory } from "./memory";
import { drawAgents, drawApprovals, drawHealth, drawInstruction, drawJudge, drawLog, drawTimeLeft, drawTraces, running } from "./panels";
import type { Position } from "./playback";
import { Playback } from "./playback";
import type { News, Welcome } from "./protocol";
import { Store } from "./store";
import { Tutorial } from "./tutorial";
import { Voice } from "./voice";

const TOAST_MS = 7000;

/** The same after a reload of this tab, another one in each tab. */
function session(): string {
  const kept = sessionStorage.getItem("session");
  if (kept && /^[a-z0-9]{8,64}$/.test(kept)) return kept;
  const made = [...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem("session", made);
  return made;
}

/** The token of the address, kept for reloads and taken out of what others see. */
function token(): string {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const given = parameters.get("token");
  if (given !== null) {
    sessionStorage.setItem("token", given);
    parameters.delete("token");
    history.replaceState(null, "", `${location.pathname}${parameters.size ? `#${parameters}` : ""}`);
  }
  return sessionStorage.getItem("token") ?? "";
}

class Page implements App {
  store = new Store();
  comparison = compare(this.store.belief, this.store.truth);
  mode: "live" | "bag" = "live";
  mayOrder = false;
  mine = "";
  selection: App["selection"] = { name: "", at: null };
  connection: Connection;
  private map = new FloorMap((name, at) => this.select(name, at));
  private playback: Playback;
  private drive = new DriveKeys(this);
  private tutorial = new Tutorial();
  private voice: Voice;
  private version = 0;
  private waiting = false;
  private connected = false;
  asked = new Map<string, string>();
  private pictures = new Map<string, string>();

  constructor() {
    this.connection = new Connection(
      {
        welcome: (message) => this.welcome(message),
        news: (message) => this.news(message),
        picture: (agent, jpeg) => this.picture(agent, jpeg),
        trouble: (text) => this.tell(text, false),
        state: (connected, text) => this.connectionState(connected, text),
      },
      token(),
      session(),
    );
    this.playback = new Playback(this.connection);
    this.voice = new Voice(this, (words) => this.speak(words));
    this.listen();
    this.connection.open();
  }

  async order(message: { type: string; [field: string]: unknown }) {
    const outcome = await this.connection.order(message);
    this.tell(outcome.text, outcome.good);
    return outcome;
  }

  select(name: string, at: [number, number] | null = null): void {
    this.selection = { name, at };
    this.map.select(name);
    drawDetails(this);
    drawMemory(this);
    this.tutorial.draw(this);
  }

  again(...sections: string[]): void {
    for (const section of sections) this.store.changed.add(section);
    this.later();
  }

  holder(seat: string): string {
    const seats = this.store.get<Record<string, { session: string; name: string }>>("seats", "now");
    return seats?.[seat]?.session ?? "";
  }

  partner(): string {
    return (this.store.info?.agents ?? []).find((agent) => this.mine !== "" && this.holder(agent) === this.mine) ?? "";
  }

  entity(name: string) {
    const truth = this.store.truth.get(name);
    const belief = this.store.belief.get(name);
    return { ...(truth ? { truth } : {}), ...(belief ? { belief } : {}) };
  }

  private listen(): void {
    byId("instruct-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const input = byId<HTMLInputElement>("words");
      const words = input.value.trim();
      input.value = "";
      this.speak(words);
    });
    byId("stop").addEventListener("click", () => this.stop());
    for (const id of ["memory-filter", "memory-all"]) byId(id).addEventListener("input", () => drawMemory(this));
    const consent = byId<HTMLInputElement>("consent");
    consent.addEventListener("change", () => void this.order({ type: "consent", yes: consent.checked }));
    byId("show-pictures").addEventListener("change", () => this.wantPictures());
    document.addEventListener("keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement && event.target.type === "text";
    if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      this.stop();
    } else if (event.altKey && (event.code === "KeyY" || event.code === "KeyN")) {
      event.preventDefault();
      const word = event.code === "KeyY" ? "yes" : "no";
      document.querySelector<HTMLElement>(`[data-approve="${word}"]`)?.click();
    } else if (this.drive.take(event)) {
      event.preventDefault();
    } else if (!typing && event.key === "/") {
      event.preventDefault();
      byId("words").focus();
    } else if (this.mode === "bag" && !typing && event.target === document.body) {
      if (event.key === " ") this.playback.toggle();
      else if (event.key === "ArrowLeft") this.playback.step(-1);
      else if (event.key === "ArrowRight") this.playback.step(1);
      else return;
      event.preventDefault();
    }
  }

  private stop(): void {
    this.drive.off();
    if (this.mode === "live") void this.order({ type: "stop" });
  }

  private speak(words: string): void {
    const input = byId<HTMLInputElement>("words");
    if (!words) return;
    const now = this.store.instruction;
    const asks = now?.question ?? "";
    // A question that ended the instruction: it is given again, with question and answer.
    const again = asks && now ? { words: now.instruction, dialogue: [...now.dialogue, asks, words] } : { words };
    const order = asks && this.store.isRunning ? { type: "answer", words } : { type: "instruct", ...again };
    void this.order(order).then((outcome) => {
      this.voice.reply(outcome.text);
      // What was refused or lost need not be typed again.
      if (!outcome.good && !input.value) input.value = words;
    });
  }

  private welcome(message: Welcome): void {
    this.mode = message.mode;
    this.mine = message.mine ?? "";
    this.mayOrder = message.may_order ?? false;
    this.version = 0;
    document.body.classList.toggle("bag", message.mode === "bag");
    if (message.mode === "bag") {
      byId("where").textContent = [message.bag, message.note].filter(Boolean).join(" — ");
      this.playback.begin(message.duration ?? 0);
    }
    this.wantPictures();
    this.again("instruct", "seats", "world", "judge", "traces", "health", "log", "belief", "questions");
  }

  private news(message: News): void {
    this.store.apply(message);
    this.version = message.version;
    this.later();
  }

  /** Draws with the next frame; a page that nobody sees draws without one. */
  private later(): void {
    if (this.waiting) return;
    this.waiting = true;
    const draw = () => {
      this.waiting = false;
      this.draw();
      if (this.version) this.connection.send({ type: "drawn", version: this.version });
    };
    if (document.hidden) setTimeout(draw, 50);
    else requestAnimationFrame(draw);
  }

  private draw(): void {
    const { changed } = this.store;
    const has = (...names: string[]) => names.some((name) => changed.has(name));
    if (has("truth", "belief")) this.comparison = compare(this.store.belief, this.store.truth);
    this.map.draw(this.store, this.comparison);
    if (has("instruct", "seats")) drawInstruction(this);
    if (has("instruct")) this.voice.ask(this.store.isRunning ? (this.store.instruction?.question ?? "") : "");
    if (has("instruct", "calls", "agents", "seats", "world", "truth")) drawAgents(this);
    if (has("judge")) drawJudge(this);
    if (has("judge")) drawWork(this);
    if (has("judge", "instruct", "calls", "world")) drawWhy(this);
    if (has("tries", "instruct", "seats")) drawTries(this);
    if (has("calls", "truth", "belief", "seats", "world", "practice", "instruct")) this.tutorial.draw(this);
    if (has("questions", "seats")) drawApprovals(this);
    else if (has("world")) drawTimeLeft(this);
    if (has("traces", "models", "prices")) drawTraces(this);
    if (has("health", "rates")) drawHealth(this);
    if (has("log")) drawLog(this);
    if (has("belief")) drawMemory(this);
    // Not under the hands of who types: an input method would lose what it is composing.
    const typing = document.activeElement instanceof HTMLInputElement && byId("details").contains(document.activeElement);
    if (has("belief", "truth", "seats") && !typing) drawDetails(this);
    if (has("seats", "world")) this.drawHead();
    if (has("bag")) this.drawPosition();
    changed.clear();
  }

  private drawPosition(): void {
    const position = this.store.get<Position>("bag", "now");
    if (position) this.playback.show(position);
  }

  private drawHead(): void {
    const info = this.store.info;
    if (this.mode === "live" && info) {
      byId("where").textContent = [info.house, info.episode, info.backend].filter(Boolean).join(" · ");
    }
    const agents = (info?.agents ?? []).filter((agent, i) => i > 0 || this.holder(agent) !== "");
    const lobby = this.store.get<string[]>("seats", "lobby") ?? [];
    const waits = lobby.includes(this.mine);
    const mayWait = (info?.agents.length ?? 0) > 1 && !this.partner();
    const holder = this.holder("operator");
    const mine = holder !== "" && holder === this.mine;
    refill(
      byId("seats"),
      this.mode === "bag" ? el("span", { class: "badge" }, "recording") : null,
      this.mode === "live" && !this.mayOrder ? el("span", { class: "badge" }, "view only") : null,
      this.mode === "live" && this.mayOrder
        ? [
            mine ? el("span", { class: "badge good" }, "in control")
              : button(holder ? "another page is in control" : "Take control", "take", () => void this.order({ type: "take", seat: "operator" }), { disabled: holder !== "" }),
            agents.map((agent) => {
              const who = this.holder(agent);
              if (who === this.mine && who) return button(`Stop being ${agent}`, `seat-${agent}`, () => void this.order({ type: "leave", seat: agent }));
              return button(who ? `${agent} is a person` : `Be ${agent}`, `seat-${agent}`, () => void this.order({ type: "take", seat: agent }), { disabled: who !== "" });
            }),
            mayWait
              ? button(waits ? "Wait no longer" : lobby.length ? "Join who waits" : "Wait for a second person", "lobby", () => void this.order({ type: "join", on: !waits }),
                  { title: "two persons are the partners of the first two agents" })
              : null,
            waits ? el("span", { class: "badge warn", role: "status" }, "waiting for a second person") : null,
          ]
        : null,
    );
    byId("stop").hidden = this.mode === "bag";
    byId<HTMLButtonElement>("stop").disabled = !this.connected;
    const agreed = this.store.get<Record<string, boolean>>("seats", "consents");
    byId<HTMLInputElement>("consent").checked = agreed?.[this.mine] ?? false;
    byId<HTMLInputElement>("consent").disabled = !this.mayOrder;
    byId("live-only").hidden = this.mode === "bag";
    this.drive.show();
    this.drawPictures();
  }

  private wantPictures(): void {
    const on = byId<HTMLInputElement>("show-pictures").checked;
    this.connection.send({ type: "pictures", on });
    if (!on) {
      for (const url of this.pictures.values()) URL.revokeObjectURL(url);
      this.pictures.clear();
    }
    this.drawPictures();
  }

  private picture(name: string, jpeg: Blob): void {
    const isAsked = name.includes("/asks/");
    const [known, of] = isAsked ? [this.asked, name.split("/")[0] + "/"] : [this.pictures, name];
    // An agent's question has one picture; that of the one before is over.
    for (const [other, url] of [...known]) {
      if (isAsked ? !other.startsWith(of) : other !== of) continue;
      URL.revokeObjectURL(url);
      known.delete(other);
    }
    known.set(name, URL.createObjectURL(jpeg));
    if (isAsked) this.again("questions");
    else this.drawPictures();
  }

  private drawPictures(): void {
    const box = byId("pictures");
    for (const [agent, url] of this.pictures) {
      let figure = box.querySelector<HTMLElement>(`[data-agent="${CSS.escape(agent)}"]`);
      if (!figure) {
        figure = el("figure", { "data-agent": agent }, el("img", { alt: `what ${agent} sees` }), el("figcaption", null, agent)) as HTMLElement;
        box.append(figure);
      }
      figure.querySelector("img")!.src = url;
      const doing = running(this, agent);
      figure.querySelector("figcaption")!.textContent = doing ? `${agent} ▶ ${inWords(doing)}` : agent;
    }
    for (const figure of [...box.querySelectorAll<HTMLElement>("figure")]) {
      if (!this.pictures.has(figure.dataset["agent"] ?? "")) figure.remove();
    }
  }

  private connectionState(connected: boolean, text: string): void {
    this.connected = connected;
    const note = byId("connection");
    note.textContent = connected ? "● connected" : `○ ${text}`;
    note.classList.toggle("bad", !connected);
    document.body.classList.toggle("lost", !connected);
    byId<HTMLButtonElement>("stop").disabled = !connected;
  }

  tell(text: string, good: boolean): void {
    const line = el("p", { class: good ? "good" : "bad" }, `${good ? "✔" : "✘"} ${text}`) as HTMLElement;
    byId("toasts").append(line);
    setTimeout(() => line.remove(), TOAST_MS);
  }
}

new Page();
