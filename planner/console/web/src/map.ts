// The floor plan: rooms and furniture by the report's code, over it what moves.

import { plain, svg } from "../../../replay/report/assets/dom.js";
import { View, floorPlan, personShapes } from "../../../replay/report/assets/floor_plan.js";
import type { Comparison } from "./compare";
import { byId } from "./draw";
import type { Believed, Entity, Explored, Plan, Point } from "./protocol";
import type { Store } from "./store";

export class FloorMap {
  private root = byId("map");
  private view: InstanceType<typeof View> | null = null;
  private layers = new Map<string, SVGElement>();
  private marks = new Map<string, SVGElement>();
  private pieces = new Map<string, SVGElement>();
  private plan: Plan | undefined;
  private selected = "";

  constructor(private onPick: (name: string, at: Point | null) => void) {}

  /** Draws what has changed. */
  draw(store: Store, comparison: Comparison): void {
    const plan = store.get<Plan>("world", "plan");
    const changed = store.changed;
    if (plan !== this.plan || !this.view) this.begin(store, plan);
    if (!this.view) return;
    if (changed.has("truth") || changed.has("belief")) this.drawThings(store, comparison);
    if (changed.has("trails")) this.drawTrails(store);
    if (changed.has("explored")) this.drawExplored(store.get<Explored>("explored", "map"));
  }

  /** Marks one entity as the selected one. */
  select(name: string): void {
    this.selected = name;
    for (const [key, mark] of [...this.marks, ...this.pieces]) {
      mark.classList.toggle("selected", key === name || key === `b/${name}`);
    }
  }

  private begin(store: Store, plan: Plan | undefined): void {
    const points = [...store.truth.values(), ...store.belief.values()]
      .filter((e) => e.x !== null && e.y !== null)
      .map((e) => [e.x, e.y]);
    this.root.replaceChildren();
    this.marks.clear();
    this.pieces.clear();
    this.layers.clear();
    this.plan = plan;
    if (!plan && points.length === 0) {
      this.view = null;
      return;
    }
    const view = (this.view = new View(plan ?? null, points));
    const image = svg("svg", {
      viewBox: `${view.x} ${view.y} ${view.width} ${view.height}`,
      role: "group",
      "aria-label": `floor plan of ${plan?.house ?? "the world"}`,
    }) as SVGElement;
    if (plan) {
      const drawn = floorPlan(plan, view);
      image.append(drawn.floors, drawn.furniture, drawn.walls);
      [...drawn.furniture.children].forEach((group, i) => this.makePiece(group as SVGElement, plan.pieces[i]?.name ?? ""));
      this.layer(image, "explored");
      // Names of furniture would be too small to read; they are in the titles and beside the plan.
      image.append(drawn.names);
    } else {
      this.layer(image, "explored");
    }
    for (const name of ["trails", "lines", "things", "agents"]) this.layer(image, name);
    image.addEventListener("click", (event) => this.clicked(event as MouseEvent, image as SVGSVGElement));
    this.root.append(image);
  }

  private layer(image: SVGElement, name: string): void {
    const group = svg("g", { class: name }) as SVGElement;
    this.layers.set(name, group);
    image.append(group);
  }

  private makePiece(group: SVGElement, name: string): void {
    group.classList.add("piece");
    this.choosable(group, name);
    this.pieces.set(name, group);
  }

  private choosable(mark: SVGElement, name: string): void {
    mark.setAttribute("tabindex", "0");
    mark.setAttribute("role", "button");
    mark.setAttribute("aria-label", plain(name));
    mark.dataset["name"] = name;
    mark.addEventListener("keydown", (event) => {
      if ((event as KeyboardEvent).key === "Enter" || (event as KeyboardEvent).key === " ") {
        event.preventDefault();
        this.onPick(name, null);
      }
    });
  }

  private clicked(event: MouseEvent, image: SVGSVGElement): void {
    const view = this.view;
    const matrix = image.getScreenCTM();
    if (!view || !matrix) return;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const place: Point = view.turned ? [at.y, at.x] : [at.x, -at.y];
    const target = (event.target as Element).closest<SVGElement>("[data-name]");
    this.onPick(target?.dataset["name"] ?? "", place);
  }

  private drawThings(store: Store, comparison: Comparison): void {
    const seen = new Set<string>();
    const hasTruth = store.truth.size > 0;
    for (const [name, entity] of store.truth) {
      if (entity.kind === "object") this.place(name, entity, "thing true", "things", seen);
      if (entity.kind === "agent") this.place(name, entity, "agent", "agents", seen);
      if (entity.kind === "furniture" && !this.plan) this.place(name, entity, "box", "things", seen);
    }
    const lines: Node[] = [];
    for (const [name, entity] of store.belief) {
      if (entity.kind === "object") {
        const found = comparison.of.get(name);
        const how = found && found.difference !== "same" ? "thing believed wrong" : "thing believed";
        this.place(`b/${name}`, entity, how, "things", seen, name);
        const truth = found?.difference === "misplaced" ? store.truth.get(found.truth) : undefined;
        if (truth) lines.push(this.line(entity, truth));
      }
      if (entity.kind === "agent" && !hasTruth) this.place(name, entity, "agent", "agents", seen);
      if (entity.kind === "furniture" && !this.plan && !hasTruth) this.place(name, entity, "box", "things", seen);
    }
    this.layers.get("lines")?.replaceChildren(...lines);
    for (const [key, mark] of this.marks) {
      if (seen.has(key)) continue;
      mark.remove();
      this.marks.delete(key);
    }
  }

  private place(key: string, e: Entity | Believed, kind: string, layer: string, seen: Set<string>, name = key): void {
    if (e.x === null || e.y === null || !this.view) return;
    seen.add(key);
    let mark = this.marks.get(key);
    if (!mark) {
      mark = this.shape(kind, name, e);
      this.choosable(mark, name);
      this.marks.set(key, mark);
      this.layers.get(layer)?.append(mark);
    }
    const title = titleOf(name, e);
    const shown = mark.querySelector("title");
    if (shown && shown.textContent !== title) shown.textContent = title;
    const classes = `${kind}${e.class === "person" ? " person" : ""}${name === this.selected ? " selected" : ""}`;
    if (mark.getAttribute("class") !== classes) mark.setAttribute("class", classes);
    mark.setAttribute("transform", this.view.translation([e.x, e.y]));
    if (e.yaw !== null) {
      const turned = `rotate(${this.view.degrees(e.yaw).toFixed(1)})`;
      if (kind === "agent") mark.querySelector(".nose")?.setAttribute("transform", turned);
      mark.querySelector(".shoulders")?.setAttribute("transform", turned);
    }
  }

  private shape(kind: string, name: string, e: Entity): SVGElement {
    const title = svg("title", null, titleOf(name, e));
    if (kind === "agent") {
      const number = Number(/\d+$/.exec(name)?.[0] ?? 0) % 6;
      return svg("g", null, title,
        svg("circle", { r: 0.24, class: `body a${number}` }),
        svg("path", { d: "M0.12,-0.14 L0.36,0 L0.12,0.14 Z", class: `nose a${number}` }),
        svg("text", { y: 0.09, class: "number" }, String(number))) as SVGElement;
    }
    if (e.class === "person") return svg("g", null, title, ...personShapes(), svg("circle", { r: 0.26, class: "target" })) as SVGElement;
    if (kind === "box") {
      const [w, h] = [e.size[0] || 0.4, e.size[1] || 0.4];
      return svg("g", null, title, svg("rect", { x: -w / 2, y: -h / 2, width: w, height: h })) as SVGElement;
    }
    // Remembered things are rings around the true ones, so that both can be told without colours.
    return svg("g", null, title, svg("circle", { r: kind === "thing true" ? 0.06 : 0.11 }),
      svg("circle", { r: 0.18, class: "target" })) as SVGElement;
  }

  private line(from: Entity, to: Entity): Node {
    const [x1, y1] = this.view!.place([from.x, from.y]);
    const [x2, y2] = this.view!.place([to.x, to.y]);
    return svg("line", { x1, y1, x2, y2 });
  }

  private drawTrails(store: Store): void {
    const lines: Node[] = [];
    for (const [key, points] of store.of<Point[]>("trails")) {
      const agent = key.split("/")[0] ?? "";
      const number = Number(/\d+$/.exec(agent)?.[0] ?? 0) % 6;
      lines.push(svg("polyline", { points: this.view!.points(points), class: `trail a${number}` }));
    }
    this.layers.get("trails")?.replaceChildren(...lines);
  }

  private drawExplored(found: Explored | undefined): void {
    const boxes = (found?.runs ?? []).map(([row, column, length]) => {
      const corners: Point[] = [
        [found!.x + column * found!.cell, found!.y + row * found!.cell],
        [found!.x + (column + length) * found!.cell, found!.y + row * found!.cell],
        [found!.x + (column + length) * found!.cell, found!.y + (row + 1) * found!.cell],
        [found!.x + column * found!.cell, found!.y + (row + 1) * found!.cell],
      ];
      return svg("polygon", { points: this.view!.points(corners) });
    });
    this.layers.get("explored")?.replaceChildren(...boxes);
  }
}

/** What a mark is and where, for a pointer that rests on it. */
function titleOf(name: string, e: Entity): string {
  return plain(`${name}${e.parent ? `, ${e.relation} ${e.parent}` : ""}`);
}
