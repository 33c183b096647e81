// Creates elements from data. Text from a bag is inserted as text here, never as markup.

const SVG = "http://www.w3.org/2000/svg";
// Control characters and bidirectional overrides.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text with what cannot be seen made visible. */
export function plain(text) {
  return String(text).replace(CONTROL, (c) => {
    const code = c.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : "\ufffd";
  });
}

/** Names that are not found on every object, such as "constructor", in tables of our own. */
export function table(entries = []) {
  return new Map(entries);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick" || name === "oninput" || name === "onchange" || name === "ontoggle") {
      element.addEventListener(name.slice(2), value);
    } else {
      element.setAttribute(name, value === true ? "" : plain(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : plain(child));
  }
  return element;
}

/** An HTML element with attributes and children; texts become text nodes. */
export function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Seconds as minutes and seconds, with hours where there are some. */
export function clock(t, digits = 0) {
  // Rounded first: 59.96 s is 1:00, not 0:60.
  const whole = Math.max(0, Number(t.toFixed(digits)));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const seconds = (whole % 60).toFixed(digits);
  const two = (n) => String(n).padStart(2, "0");
  const tail = seconds.padStart(digits ? digits + 3 : 2, "0");
  return hours ? `${hours}:${two(minutes)}:${tail}` : `${two(minutes)}:${tail}`;
}

/** A number for people; "–" for what is not known. */
export function number(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(digits);
}

/** A share as per cent. */
export function percent(value) {
  return value === null || value === undefined ? "–" : `${Math.round(100 * value)} %`;
}

/** A section of the page with its heading. */
export function section(id, title, note, ...children) {
  return el(
    "section",
    { id },
    el("h2", null, title),
    note ? el("p", { class: "note" }, note) : null,
    ...children,
  );
}

/** A table: heads are texts, rows are lists of texts or nodes; numbers stand to the right. */
export function grid(heads, rows, kinds = []) {
  const cell = (tag, value, i) => el(tag, { class: kinds[i] || null }, value);
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      null,
      el("thead", null, el("tr", null, heads.map((h, i) => cell("th", h, i)))),
      el("tbody", null, rows.map((row) => el("tr", null, row.map((v, i) => cell("td", v, i))))),
    ),
  );
}

/** A short word on a coloured ground: good, bad, warn or none of these. */
export function badge(kind, text) {
  return el("span", { class: `badge ${kind}` }, text);
}
