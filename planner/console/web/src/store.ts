// What the server last said, by section and key, and which sections have changed.

import type { Believed, Entity, Info, Instruction, Judgement, News } from "./protocol";

export class Store {
  private sections = new Map<string, Map<string, unknown>>();
  changed = new Set<string>();

  /** Applies news; the changed sections are collected until the page is drawn. */
  apply(news: News): void {
    if (news.type === "all") {
      for (const name of this.sections.keys()) this.changed.add(name);
      this.sections.clear();
    }
    for (const [name, entries] of Object.entries(news.set)) {
      const section = this.of(name);
      for (const [key, value] of Object.entries(entries)) section.set(key, value);
      this.changed.add(name);
    }
    for (const [name, keys] of Object.entries(news.drop)) {
      const section = this.of(name);
      for (const key of keys) section.delete(key);
      this.changed.add(name);
    }
  }

  /** A section; empty where the server has none. */
  of<T = unknown>(name: string): Map<string, T> {
    let found = this.sections.get(name);
    if (!found) this.sections.set(name, (found = new Map()));
    return found as Map<string, T>;
  }

  get<T>(section: string, key: string): T | undefined {
    return this.of<T>(section).get(key);
  }

  /** Rows of a list, the newest first. */
  rows<T>(section: string): [string, T][] {
    return [...this.of<T>(section)].sort((a, b) => Number(b[0]) - Number(a[0]));
  }

  get info(): Info | undefined {
    return this.get<Info>("world", "info");
  }
  get clock(): number {
    return this.get<number>("world", "clock") ?? 0;
  }
  get instruction(): Instruction | undefined {
    return this.get<Instruction>("instruct", "now");
  }
  /** Whether an instruction runs; one that ended with a question waits with its result as text. */
  get isRunning(): boolean {
    const now = this.instruction;
    return now !== undefined && (now.state === "running" || (now.state === "waiting" && now.text === ""));
  }
  get judgement(): Judgement | undefined {
    return this.get<Judgement>("judge", "now");
  }
  get truth(): Map<string, Entity> {
    return this.of<Entity>("truth");
  }
  get belief(): Map<string, Believed> {
    return this.of<Believed>("belief");
  }
}
