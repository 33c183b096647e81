// A house from above: rooms, walls, doors, furniture. In metres; y is up in the map and down in SVG.

import { svg } from "./dom.js";

const MARGIN_M = 0.6;

/**
 * How the map lies in the picture: all of a plan, or all points where there is none; turned by a
 * quarter where that makes it wider than high.
 */
export class View {
  constructor(plan, others) {
    let [x0, y0, x1, y1] = plan ? plan.bounds_m : [Infinity, Infinity, -Infinity, -Infinity];
    for (const [x, y] of plan ? [] : others) {
      [x0, y0, x1, y1] = [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x), Math.max(y1, y)];
    }
    this.turned = plan ? plan.turned : false;
    const [[ax, ay], [bx, by]] = [this.place([x0, y0]), this.place([x1, y1])];
    this.x = Math.min(ax, bx) - MARGIN_M;
    this.y = Math.min(ay, by) - MARGIN_M;
    this.width = Math.abs(bx - ax) + 2 * MARGIN_M;
    this.height = Math.abs(by - ay) + 2 * MARGIN_M;
  }

  /** Where a point of the map is in the picture. */
  place([x, y]) {
    return this.turned ? [y, x] : [x, -y];
  }

  /** A heading of the map, radians, as SVG's degrees. */
  degrees(yaw) {
    return (this.turned ? 90 : 0) - (yaw * 180) / Math.PI;
  }

  /** Points of the map as SVG wants them. */
  points(corners) {
    return corners.map((corner) => this.place(corner).map((v) => v.toFixed(3)).join(",")).join(" ");
  }

  /** A translation to a point of the map. */
  translation(corner) {
    const [x, y] = this.place(corner);
    return `translate(${x.toFixed(3)} ${y.toFixed(3)})`;
  }
}

/**
 * Metres of stroke and gap of each agent's way, [] = solid: ways are told apart without colours.
 * The same as in pictures (planner/houses/marks.py).
 */
export const DASHES = [[], [0.35, 0.14], [0.12, 0.12], [0.5, 0.12, 0.1, 0.12], [0.22, 0.22], [0.35, 0.1, 0.08, 0.1, 0.08, 0.1]];

/** A dash array that shows the first metres of a way, in its dash, and hides the rest. */
export function dashArray(dash, gone, total) {
  if (!dash.length) return `${gone.toFixed(3)} ${total.toFixed(3)}`;
  const found = [];
  let length = 0;
  for (let i = 0; length < gone; i += 1) {
    const part = Math.min(dash[i % dash.length], gone - length);
    found.push(part);
    length += part;
  }
  // An odd number of lengths would be repeated with strokes and gaps exchanged.
  if (found.length % 2) found.push(total);
  else found.push(0, total);
  return found.map((part) => part.toFixed(3)).join(" ");
}

// Height of the letters of things' names, metres; the same as in report.css.
const THING_SIZE = 0.19;

/** The rectangle of a name in the picture: left, top, right, bottom; letters are 0.6 as wide as high. */
function nameBox(words, size, left, base) {
  return [left, base - 0.85 * size, left + 0.6 * size * words.length, base + 0.25 * size];
}

/** The rectangles of the rooms' names in the picture. */
export function roomNameBoxes(plan, view) {
  return plan.rooms.map((room) => {
    const [x, y] = view.place(room.label_m);
    return nameBox(room.name, room.label_size_m, x - 0.3 * room.label_size_m * room.name.length, y + 0.35 * room.label_size_m);
  });
}

/**
 * Where the names of things are beside them, so that none is over another or a dot: for each of `things`,
 * `{words, at}` with `at` in the picture, the offset of its first letter from `at`.
 */
export function nameOffsets(things, taken) {
  const dots = things.map(({ at: [x, y] }) => [x - 0.1, y - 0.1, x + 0.1, y + 0.1]);
  const boxes = [...taken, ...dots];
  const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  return things.map(({ words, at: [x, y], clear }) => {
    const wide = 0.6 * THING_SIZE * words.length;
    const spots = [];
    for (let row = 0; row <= 6; row += 1) {
      for (const down of row ? [row, -row] : [0]) {
        const dy = 0.06 + 0.24 * down;
        spots.push([clear, dy], [-clear - wide, dy], [-wide / 2, dy + Math.sign(down) * 0.1]);
      }
    }
    // Just beside it there is no room for a name in the middle.
    spots.splice(2, 1);
    const free = ([dx, dy]) => !boxes.some((box) => meet(box, nameBox(words, THING_SIZE, x + dx, y + dy)));
    const spot = spots.find(free) || spots[0];
    boxes.push(nameBox(words, THING_SIZE, x + spot[0], y + spot[1]));
    return spot;
  });
}

/** A person from above, who looks along x: shoulders and a head. */
export function personShapes() {
  return [svg("ellipse", { class: "shoulders", rx: 0.13, ry: 0.24 }), svg("circle", { class: "head", r: 0.1 })];
}

/** Groups of a plan: floors, furniture, walls and doors, names. */
export function floorPlan(plan, view) {
  const points = (corners) => view.points(corners);
  const text = (lines, at, size) => {
    const [left, top] = view.place(at);
    // Of several lines the middle is at the point; a line is 1.15 letters high.
    const first = top + (0.35 - (lines.length - 1) * 0.575) * size;
    const spans = lines.map((line, i) => svg("tspan", { x: left, y: first + i * 1.15 * size }, line.replaceAll("_", " ")));
    return svg("text", { "font-size": size }, spans);
  };
  const floors = svg("g", { class: "floors" });
  const furniture = svg("g", { class: "furniture" });
  const walls = svg("g", { class: "walls" });
  const names = svg("g", { class: "names" });
  const pieces = svg("g", { class: "piece-names" });
  for (const room of plan.rooms) {
    floors.append(svg("polygon", { points: points(room.polygon_m), fill: room.rgb }));
    walls.append(svg("polygon", { points: points(room.polygon_m) }));
    names.append(text([room.name], room.label_m, room.label_size_m));
  }
  for (const door of plan.doors) {
    walls.append(svg("polygon", { class: door.entrance ? "door entrance" : "door", points: points(door.polygon_m) }));
    if (door.leaf_m.length > 1) {
      walls.append(svg("polyline", { class: "arc", points: points(door.leaf_m.slice(1)) }));
      walls.append(svg("polyline", { class: "leaf", points: points([door.leaf_m[0], door.leaf_m.at(-1)]) }));
    }
  }
  for (const piece of plan.pieces) {
    const group = svg("g", null, svg("title", null, piece.name));
    for (const part of piece.parts) group.append(svg("polygon", { points: points(part.polygon_m), fill: part.rgb }));
    group.append(svg("polygon", { class: "outline", points: points(piece.outline_m) }));
    furniture.append(group);
    if (piece.label) pieces.append(text(piece.label.lines, piece.label.at_m, piece.label.size_m));
  }
  return { floors, furniture, walls, names, pieces };
}
