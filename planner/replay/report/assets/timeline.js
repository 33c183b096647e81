// The run's time: a cursor that all parts of the page follow, and the visible range.

/** Time of a run: `t` is the cursor, `from` and `to` what charts show of it. */
export class Timeline {
  constructor(duration) {
    this.duration = Math.max(duration, 0.001);
    this.t = 0;
    this.zoom = 1;
    this.from = 0;
    this.to = this.duration;
    this.followers = [];
    this.views = [];
  }

  /** Calls `move(t)` with every change of the cursor, and once at once. */
  follow(move) {
    this.followers.push(move);
    move(this.t);
  }

  /** Calls `draw()` when another part comes into view. */
  onView(draw) {
    this.views.push(draw);
  }

  /** Moves the cursor; a part that it leaves is left as well. */
  seek(t) {
    this.t = Math.min(Math.max(t, 0), this.duration);
    if (this.t < this.from || this.t > this.to) this.show(this.zoom);
    for (const move of this.followers) move(this.t);
  }

  /** Shows 1/zoom of the run around the cursor. */
  show(zoom) {
    this.zoom = zoom;
    const length = this.duration / zoom;
    this.from = Math.min(Math.max(this.t - length / 2, 0), this.duration - length);
    this.to = this.from + length;
    for (const draw of this.views) draw();
  }
}

/** Round steps for about `count` ticks of a span of seconds. */
export function timeTicks(from, to, count) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200];
  const step = steps.find((s) => (to - from) / s <= count) || 14400 * Math.ceil((to - from) / 14400 / count);
  const ticks = [];
  for (let t = Math.ceil(from / step) * step; t <= to + 1e-9; t += step) ticks.push(t);
  return ticks;
}

/** The last of rows whose time, `row[0]`, is not after t; -1 before the first. */
export function lastAt(rows, t, time = (row) => row[0]) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time(rows[middle]) <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
