// Pages through episodes and sends verdicts. Texts from episodes are inserted as text, never as markup.

const at = (id) => document.getElementById(id);
let episodes = [];
let index = 0;
let saving = false;

async function load() {
  const answer = await (await fetch("/episodes")).json();
  episodes = answer.episodes;
  answer.modes.forEach((mode, k) => {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.value = mode;
    const label = document.createElement("label");
    label.append(box, ` ${k + 1} ${mode}`);
    at("modes").append(label);
  });
  at("reason").maxLength = answer.max_reason;
  show(named() ?? Math.max(0, unjudged(0)));
}

/** The place that the address names, from 1; undefined where it names none. */
function named() {
  const place = Number.parseInt(location.hash.slice(1), 10) - 1;
  return episodes[place] && place;
}

/** The next episode without a verdict, from a place on and around; -1 where there is none. */
function unjudged(from) {
  for (let k = 0; k < episodes.length; k += 1) {
    const place = (from + k) % episodes.length;
    if (!episodes[place].verdict) return place;
  }
  return -1;
}

function show(place) {
  index = Math.min(Math.max(place, 0), episodes.length - 1);
  history.replaceState(null, "", `#${index + 1}`);
  const { name, verdict, changed } = episodes[index];
  at("place").textContent = `${index + 1} of ${episodes.length}: ${name}`;
  at("why").hidden = true;
  at("message").textContent = changed ? "It was judged before it was changed." : "";
  const remark = verdict && [...verdict.modes, verdict.reason].filter(Boolean).join(", ");
  at("verdict").textContent = !verdict ? "" : verdict.right ? "right" : `wrong${remark ? `: ${remark}` : ""}`;
  at("verdict").className = `badge ${verdict ? (verdict.right ? "good" : "bad") : ""}`;
  const right = episodes.filter((e) => e.verdict?.right).length;
  const wrong = episodes.filter((e) => e.verdict && !e.verdict.right).length;
  at("progress").max = episodes.length;
  at("progress").value = right + wrong;
  at("counts").textContent = `${right} right, ${wrong} wrong, ${episodes.length - right - wrong} not judged`;
  at("drawing").hidden = false;
  at("drawing").alt = name;
  at("drawing").src = `/drawing/${index}`;
  if (index + 1 < episodes.length) new Image().src = `/drawing/${index + 1}`;
  scrollTo(0, 0);
}

async function explain() {
  const answer = await fetch(at("drawing").getAttribute("src"));
  at("drawing").hidden = true;
  at("message").textContent = answer.ok ? "The drawing cannot be shown." : await answer.text();
}

async function judge(verdict) {
  if (saving) return;
  saving = true;
  try {
    const answer = await fetch("/verdict", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ index, verdict }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    episodes[index].verdict = verdict;
    episodes[index].changed = false;
    const { note } = await answer.json();
    const name = episodes[index].name;
    const next = unjudged(index + 1);
    show(next < 0 || !verdict ? index : next);
    if (note) at("message").textContent = `${name}: ${note}`;
    else if (next < 0) at("message").textContent = "All episodes are judged.";
  } catch (error) {
    at("message").textContent = `Not saved: ${error.message}`;
  } finally {
    saving = false;
  }
}

function ask() {
  const { verdict } = episodes[index];
  at("reason").value = verdict?.reason || "";
  for (const box of boxes()) box.checked = Boolean(verdict?.modes.includes(box.value));
  at("why").hidden = false;
}

const boxes = () => [...at("modes").querySelectorAll("input")];

function save() {
  const modes = boxes().filter((box) => box.checked).map((box) => box.value);
  judge({ right: false, modes, reason: at("reason").value.trim() });
}

const actions = {
  ArrowLeft: () => show(index - 1),
  ArrowRight: () => show(index + 1),
  r: () => judge({ right: true, modes: [], reason: "" }),
  w: ask,
  Backspace: () => episodes[index].verdict && judge(null),
  u: () => show(Math.max(0, unjudged(index + 1))),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || saving || !episodes.length) return;
  const asking = !at("why").hidden;
  if (asking) {
    const box = boxes()[Number(event.key) - 1];
    if (event.key === "Escape") at("why").hidden = true;
    else if (event.key === "Enter") save();
    else if (event.key === "Tab" && !at("why").contains(event.target)) at("reason").focus();
    else if (box && event.target !== at("reason")) box.checked = !box.checked;
    else return;
    event.preventDefault();
    return;
  }
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action || event.repeat && event.key.length === 1) return;
  event.preventDefault();
  action();
});
for (const [id, key] of [["previous", "ArrowLeft"], ["next", "ArrowRight"], ["right", "r"], ["wrong", "w"], ["back", "Backspace"], ["unjudged", "u"]]) {
  at(id).addEventListener("click", () => {
    actions[key]();
    // So that Enter and Tab are keys of the page and not of the button.
    at(id).blur();
  });
}
at("why").addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
at("drawing").addEventListener("error", explain);
addEventListener("hashchange", () => show(named() ?? index));
load().catch((error) => {
  at("message").textContent = `The review cannot be loaded: ${error.message}`;
});
