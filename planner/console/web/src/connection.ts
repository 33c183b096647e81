// The connection to the server: hello, news, and coming back after it was lost.

import type { Incoming, News, TraceTexts, Welcome } from "./protocol";
import { VERSION } from "./protocol";

// Milliseconds between attempts, and for the outcome of an order that the server did not refuse.
const FIRST_MS = 300;
const MOST_MS = 5000;
// Close codes for which another attempt would end in the same way.
const FINAL = new Map([
  [4400, "refused"],
  [4401, "wrong token"],
  // Pages that come back at once would push each other out for ever.
  [4429, "too many pages are open; reload to come back"],
]);

export interface Listener {
  welcome(message: Welcome): void;
  news(message: News): void;
  picture(agent: string, jpeg: Blob): void;
  trouble(text: string): void;
  state(connected: boolean, text: string): void;
}

export interface Outcome {
  good: boolean;
  text: string;
}

export class Connection {
  private socket: WebSocket | null = null;
  private waitMs = FIRST_MS;
  private number = 0;
  private orders = new Map<number, (outcome: Outcome) => void>();
  private traces = new Map<string, (found: TraceTexts | null) => void>();

  constructor(
    private listener: Listener,
    private token: string,
    private session: string,
  ) {}

  open(): void {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = (this.socket = new WebSocket(`${scheme}://${location.host}/ws`));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.send({ type: "hello", version: VERSION, token: this.token, session: this.session });
    };
    socket.onmessage = (event) => this.take(event.data as string | ArrayBuffer);
    socket.onclose = (event) => this.lost(event);
  }

  /** Sends a message; whether it was sent. */
  send(message: object): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /** Sends an order and gives its outcome. */
  order(message: { type: string; [field: string]: unknown }): Promise<Outcome> {
    const number = ++this.number;
    return new Promise((resolve) => {
      this.orders.set(number, resolve);
      if (!this.send({ ...message, order: number })) {
        this.orders.delete(number);
        resolve({ good: false, text: "not connected: nothing was sent" });
      }
    });
  }

  /** Prompt and reply of a model call; null where they are no longer kept. */
  trace(key: string): Promise<TraceTexts | null> {
    return new Promise((resolve) => {
      this.traces.set(key, resolve);
      if (!this.send({ type: "trace", key })) resolve(null);
    });
  }

  private take(data: string | ArrayBuffer): void {
    if (typeof data !== "string") {
      const bytes = new Uint8Array(data);
      const length = bytes[0] ?? 0;
      const agent = new TextDecoder().decode(bytes.slice(1, 1 + length));
      this.listener.picture(agent, new Blob([bytes.slice(1 + length)], { type: "image/jpeg" }));
      return;
    }
    const message = JSON.parse(data) as Incoming;
    switch (message.type) {
      case "welcome":
        this.waitMs = FIRST_MS;
        this.listener.state(true, "connected");
        this.listener.welcome(message);
        break;
      case "all":
      case "patch":
        this.listener.news(message);
        break;
      case "done":
        this.orders.get(message.order)?.({ good: message.good, text: message.text });
        this.orders.delete(message.order);
        break;
      case "trace":
        this.traces.get(message.key)?.(message.found);
        this.traces.delete(message.key);
        break;
      case "error":
        this.listener.trouble(message.text);
        break;
    }
  }

  private lost(event: CloseEvent): void {
    for (const resolve of this.orders.values()) {
      resolve({ good: false, text: "the connection was lost; the outcome is unknown" });
    }
    for (const resolve of this.traces.values()) resolve(null);
    this.orders.clear();
    this.traces.clear();
    const final = FINAL.get(event.code);
    if (final) {
      this.listener.state(false, event.reason || final);
      return;
    }
    this.listener.state(false, event.reason || "no connection to the console; trying again");
    setTimeout(() => this.open(), this.waitMs);
    this.waitMs = Math.min(MOST_MS, this.waitMs * 1.6);
  }
}
