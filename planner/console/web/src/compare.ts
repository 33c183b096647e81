// The memory beside the truth: a remembered object is right if a true one of its class is within
// half a metre, one to one, as in the report (docs/report.md).

import type { Believed, Entity } from "./protocol";

export const NEAR_M = 0.5;

export type Difference = "same" | "misplaced" | "not there";

export interface Comparison {
  /** Of each remembered object; held ones are left out. */
  of: Map<string, { difference: Difference; truth: string; offM: number }>;
  /** True objects that the memory does not have. */
  unknown: string[];
  known: boolean;
}

function held(entity: Entity): boolean {
  return entity.relation.startsWith("held");
}

function distance(a: Entity, b: Entity): number {
  if (a.x === null || a.y === null || b.x === null || b.y === null) return Infinity;
  return Math.hypot(a.x - b.x, a.y - b.y);
}

export function compare(belief: Map<string, Believed>, truth: Map<string, Entity>): Comparison {
  const result: Comparison = { of: new Map(), unknown: [], known: truth.size > 0 };
  if (!result.known) return result;
  const free = new Map([...truth].filter(([, e]) => e.kind === "object" && !held(e)));
  const pairs: [number, string, string][] = [];
  const remembered = [...belief].filter(([, e]) => e.kind === "object" && !held(e));
  for (const [name, entity] of remembered) {
    for (const [other, real] of free) {
      if (entity.class === real.class) pairs.push([distance(entity, real), name, other]);
    }
  }
  pairs.sort((a, b) => a[0] - b[0]);
  for (const [offM, name, other] of pairs) {
    if (result.of.has(name) || !free.has(other)) continue;
    free.delete(other);
    result.of.set(name, { difference: offM <= NEAR_M ? "same" : "misplaced", truth: other, offM });
  }
  for (const [name] of remembered) {
    if (!result.of.has(name)) result.of.set(name, { difference: "not there", truth: "", offM: NaN });
  }
  result.unknown = [...free.keys()];
  return result;
}
