// Agents' calls as bars over time, with failures and the planner's decisions.

import { clipTo, cursor, responsive, scale, timeAxis } from "./chart.js";
import { clock, svg, table } from "./dom.js";

const GROUPS = table([
  ["Navigate", "go"],
  ["Explore", "look"],
  ["ExploreFurniture", "look"],
  ["FindObjectTool", "look"],
  ["FindReceptacleTool", "look"],
  ["FindRoomTool", "look"],
  ["FindAgentActionTool", "look"],
  ["Open", "open"],
  ["Close", "open"],
  ["Pick", "carry"],
  ["Place", "carry"],
  ["Rearrange", "carry"],
  ["Clean", "change"],
  ["Fill", "change"],
  ["Pour", "change"],
  ["PowerOn", "change"],
  ["PowerOff", "change"],
  ["Wait", "wait"],
  ["Done", "wait"],
]);

/** What the colours of bars mean. */
export const SKILLS = [
  { name: "go", kind: "skill-go" },
  { name: "look for", kind: "skill-look" },
  { name: "open, close", kind: "skill-open" },
  { name: "pick, place", kind: "skill-carry" },
  { name: "clean, fill, switch", kind: "skill-change" },
  { name: "failed", kind: "skill-failed" },
  { name: "decision", kind: "decision", shape: "tick" },
  { name: "new decision after a failure", kind: "replan", shape: "tick" },
  { name: "reply refused", kind: "refused", shape: "tick" },
];

const ROW = 34;
const BAR = 20;
const HEAD = 22;

/** A chart of `calls` ({agent, call, skill, start_s, end_s, code, code_name, text}) and decisions. */
export function gantt(timeline, { agents, calls, decisions }) {
  const height = HEAD + agents.length * ROW + 26;
  return responsive(timeline, (width, follow) => {
    const x = scale(timeline, width);
    const bottom = HEAD + agents.length * ROW;
    const root = svg("svg", { width, height, class: "gantt", role: "img", "aria-label": "calls of the agents over time" });
    root.append(timeAxis(timeline, x, width, 4, bottom));
    root.append(svg("text", { class: "value", x: x.left - 8, y: 15, "text-anchor": "end" }, "planner"));
    const drawn = svg("g", { "clip-path": clipTo(root, x, 4, bottom) });
    for (const decision of decisions) drawn.append(tick(x, decision));
    agents.forEach((agent, row) => {
      const y = HEAD + row * ROW;
      root.append(
        svg("circle", { class: `agent-${row % 6} dot`, cx: 10, cy: y + ROW / 2, r: 5 }),
        svg("text", { class: "name", x: 20, y: y + ROW / 2 + 4 }, agent.length > 10 ? `${agent.slice(0, 9)}…` : agent),
        svg("line", { class: "grid", x1: x.left, x2: x.right, y1: y + ROW / 2, y2: y + ROW / 2 }),
      );
    });
    for (const call of calls) {
      const row = agents.indexOf(call.agent);
      if (row >= 0) drawn.append(bar(x, call, HEAD + row * ROW + (ROW - BAR) / 2));
    }
    root.append(drawn, cursor(timeline, follow, x, 2, bottom, root));
    return root;
  });
}

function tick(x, decision) {
  const kind = decision.error ? "refused" : decision.replan ? "replan" : "decision";
  const at = x.px(decision.t_s);
  const mark = svg("path", { class: `tick ${kind}`, d: `M${at} 6v12` });
  const said = decision.calls.map((call, i) => `${decision.agents[i] || ""}: ${call}`).join("\n");
  mark.append(svg("title", null, `${clock(decision.t_s, 1)}  ${decision.planner}, cycle ${decision.cycle}\n${said}${decision.error ? `\nrefused: ${decision.error}` : ""}`));
  return mark;
}

function bar(x, call, y) {
  const left = x.px(call.start_s);
  const width = Math.max(2, x.px(call.end_s) - left);
  const failed = call.code !== 0;
  const kind = GROUPS.get(call.skill) || "other";
  const group = svg("g", { class: `call skill-${kind}${failed ? " failed" : ""}` });
  const lasted = (call.end_s - call.start_s).toFixed(1);
  const guess = call.start_known ? "" : " (its beginning is inferred)";
  const how = failed ? `${call.code_name}: ${call.text}` : call.text;
  group.append(
    svg("title", null, `${call.agent}  ${call.call}\n${clock(call.start_s, 1)} to ${clock(call.end_s, 1)}, ${lasted} s${guess}\n${how}`),
    svg("rect", { x: left, y, width: Math.max(1, width - 1), height: BAR, rx: 3 }),
  );
  const words = shortened(call.call, width);
  if (words) group.append(svg("text", { x: left + 5, y: y + BAR / 2 + 4 }, words));
  if (failed && width > 16) group.append(svg("path", { class: "cross", d: `M${left + width - 9} ${y + 6}l6 8m0 -8l-6 8` }));
  return group;
}

/** As much of a call as fits into a bar. */
function shortened(call, width) {
  const letters = Math.floor((width - 12) / 6.4);
  if (letters < 3) return "";
  return call.length <= letters ? call : `${call.slice(0, letters - 1)}…`;
}
