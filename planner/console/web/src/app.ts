// What panels need of the page.

import type { Connection, Outcome } from "./connection";
import type { Comparison } from "./compare";
import type { Believed, Entity, Point } from "./protocol";
import type { Store } from "./store";

export interface Selection {
  name: string;
  /** Where the plan was clicked, metres in the map. */
  at: Point | null;
}

export interface App {
  store: Store;
  connection: Connection;
  comparison: Comparison;
  mode: "live" | "bag";
  mayOrder: boolean;
  mine: string;
  selection: Selection;
  /** Addresses of the pictures that belong to questions, by their names. */
  asked: Map<string, string>;
  /** Sends an order and shows its outcome. */
  order(message: { type: string; [field: string]: unknown }): Promise<Outcome>;
  /** Shows a short message for a while. */
  tell(text: string, good: boolean): void;
  select(name: string, at?: Point | null): void;
  /** Has the page draw these sections again. */
  again(...sections: string[]): void;
  /** The seat of a session; "" = free. */
  holder(seat: string): string;
  /** The agent whose seat this page has; "" = none. */
  partner(): string;
  entity(name: string): { truth?: Entity; belief?: Believed };
}

/** Whether this page may give orders to the robots now. */
export function inControl(app: App): boolean {
  return app.mode === "live" && app.mayOrder && app.holder("operator") === app.mine;
}
