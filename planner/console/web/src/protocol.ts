// Messages between page and server; planner/console/protocol.py checks those of the page.

export const VERSION = 1;

export type Point = [number, number];
export type Size = [number | null, number | null, number | null];

export interface Entity {
  kind: "room" | "furniture" | "object" | "agent";
  class: string;
  parent: string;
  relation: string;
  room: string;
  x: number | null;
  y: number | null;
  z: number | null;
  yaw: number | null;
  size: Size;
  affordances: string[];
  states: Record<string, boolean>;
  open: number | null;
  hands: string[];
}

export interface Believed extends Entity {
  id: number;
  description: string;
  source: "seen" | "told" | "inferred";
  since: number | null;
}

export interface Plan {
  house: string;
  turned: boolean;
  bounds_m: [number, number, number, number];
  rooms: { name: string; polygon_m: Point[]; label_m: Point; rgb: string }[];
  doors: unknown[];
  pieces: { name: string; center_m: Point; outline_m: Point[] }[];
}

export interface Explored {
  x: number;
  y: number;
  cell: number;
  runs: [number, number, number][];
  share: number;
}

export interface Instruction {
  id: string;
  at: number;
  instruction: string;
  agents: string[];
  dialogue: string[];
  planner: string;
  model: string;
  state: "idle" | "running" | "waiting" | "done" | "failed" | "canceled";
  code: number;
  text: string;
  question: string;
  cycle: number;
  plan: string;
  calls: string[];
}

export interface Judgement {
  episode: string;
  state: "running" | "succeeded" | "failed";
  percent: number | null;
  scoring: string;
  variant: string;
  explanation: string;
  parts: { text: string; satisfied: boolean; holds: boolean; detail: string }[];
}

export interface Work {
  done: Record<string, number>;
  offloaded: number | null;
}

export interface Tries {
  task: string;
  most: number;
  best: number;
  /** Why the task is not offered again; "" = it is. */
  again: string;
  /** Whether persons do the newest try by themselves. */
  together: boolean;
  tries: { number: number; percent: number | null; state: "running" | "succeeded" | "failed" }[];
}

export interface Call {
  at: number;
  agent: string;
  call: string;
  code: number;
  text: string;
  took: number | null;
  rule: number;
  part_of: string;
}

export interface Trace {
  at: number;
  planner: string;
  model: string;
  asked: boolean;
  role: string;
  agents: string[];
  cycle: number;
  calls: string[];
  error: string;
  thought: string;
  prompt_tokens: number;
  cached_tokens: number;
  reply_tokens: number;
  latency: number | null;
}

export interface Status {
  level: "ok" | "warning" | "error" | "stale";
  message: string;
  hardware: string;
  values: Record<string, string>;
}

export interface Question {
  id: string;
  agent: string;
  primitive: string;
  class: string;
  why: string;
  target: Size;
  expires: number;
  /** Name of the picture with a cross at the target; "" = there is none. */
  picture: string;
  /** Whether the target is in it. */
  in_picture: boolean;
}

export interface Info {
  backend: string;
  simulated: boolean;
  house: string;
  episode: string;
  task: string;
  agents: string[];
  bodies: string[];
  version: string;
}

export interface Welcome {
  type: "welcome";
  version: number;
  mode: "live" | "bag";
  mine?: string;
  may_order?: boolean;
  bag?: string;
  duration?: number;
  note?: string;
}

export interface News {
  type: "all" | "patch";
  version: number;
  set: Record<string, Record<string, unknown>>;
  drop: Record<string, string[]>;
}

export type Incoming =
  | Welcome
  | News
  | { type: "done"; order: number; good: boolean; text: string }
  | { type: "error"; text: string }
  | { type: "trace"; key: string; found: TraceTexts | null };

export interface TraceTexts {
  prompt: string;
  reply: string;
  parameters: Record<string, string>;
}
