// Builds the page from the data embedded in it.

import { comparisonSection } from "./comparison.js";
import { legend } from "./chart.js";
import { el, section } from "./dom.js";
import { gantt, SKILLS } from "./gantt.js";
import { modelSection } from "./model_calls.js";
import { player } from "./player.js";
import { faultSection, head, instructionSection, memorySection, settingSection, subtaskSection, topicSection, verdictSection, workSection } from "./sections.js";
import { Timeline } from "./timeline.js";

function read(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

function zoomButtons(timeline) {
  const levels = [1, 2, 4, 8, 16, 32].filter((zoom) => zoom === 1 || timeline.duration / zoom >= 5);
  const buttons = levels.map((zoom) =>
    el("button", { type: "button", class: "jump", "aria-pressed": String(zoom === 1), onclick: () => timeline.show(zoom) }, zoom === 1 ? "whole run" : `${zoom}×`),
  );
  timeline.onView(() => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(levels[i] === timeline.zoom))));
  return el("span", { class: "zoom" }, "show ", buttons);
}

function bagPage(bag, images) {
  const end = Math.max(bag.about.duration_s, ...bag.calls.map((c) => c.end_s), ...bag.progress.map((p) => p.t_s));
  const timeline = new Timeline(end);
  const page = el(
    "div",
    { class: "bag" },
    head(bag),
    section(
      "run",
      "The run",
      null,
      player(timeline, bag, images),
      el("div", { class: "bar" }, legend(SKILLS), zoomButtons(timeline)),
      gantt(timeline, { agents: bag.about.agents, calls: bag.calls, decisions: bag.decisions }),
    ),
    verdictSection(timeline, bag),
    instructionSection(timeline, bag),
    subtaskSection(timeline, bag),
    workSection(timeline, bag),
    memorySection(timeline, bag),
    modelSection(timeline, bag),
    faultSection(timeline, bag),
    topicSection(bag),
    settingSection(bag),
  );
  page.timeline = timeline;
  return page;
}

function main() {
  const report = read("report-data");
  const pictures = read("report-pictures");
  const root = document.getElementById("report");
  const place = el("div");
  const tabs = el("nav", { class: "tabs" });
  const pages = new Map();
  const open = (index) => {
    if (!pages.has(index)) {
      const images = pictures[index].map((data) => `data:image/jpeg;base64,${data}`);
      pages.set(index, index < 0 ? null : bagPage(report.bags[index], images));
    }
    place.replaceChildren(pages.get(index));
    [...tabs.children].forEach((tab, i) => tab.setAttribute("aria-pressed", String(i === index)));
    window.planner_timeline = pages.get(index).timeline;
  };
  if (report.bags.length > 1) {
    root.append(el("div", { class: "bag" }, comparisonSection(report, (i) => { open(i); tabs.scrollIntoView(); })));
    tabs.append(...report.bags.map((bag, i) => el("button", { type: "button", onclick: () => open(i) }, bag.name)));
    root.append(tabs);
  }
  root.append(place);
  open(0);
}

main();
