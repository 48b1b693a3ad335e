// Every learner: the table, its search, filters and order, and one learner's panel.
const people = content.learners;
const N_LABELS = people.labels.length;
const TRIALS = 1 + N_LABELS;
const EXCLUDED = TRIALS + 1;
const byCriterion = (k) => {
  const start = EXCLUDED + 1 + 5 * k;
  return { model: start, runnerUp: start + 1, margin: start + 2, verdict: start + 3, probability: start + 4 };
};
const FIRST = byCriterion(0);
const PAGE = 100; // rows that are added at a time
const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const modelOf = (row, k) => people.models[row[byCriterion(k).model]];
const disagree = (row) => people.criteria.some((_, k) => row[byCriterion(k).model] !== row[FIRST.model]);
const verdictWord = (row) => people.verdicts[row[FIRST.verdict]].replace(/ between .*/s, "");

const state = { query: "", model: "", verdict: "", apart: false, sort: null, down: false, shown: PAGE, order: [] };
const everyone = people.rows.map((row, place) => ({
  row,
  place,
  text: [row[0], ...row.slice(1, 1 + N_LABELS), ...people.criteria.map((_, k) => modelOf(row, k))].join("\n").toLowerCase(),
}));

// Each column: what its head says, what it is sorted by, what a cell shows.
const columns = [
  { head: "learner", value: (row) => row[0], cell: nameCell },
  ...people.labels.map((label, k) => ({ head: label, value: (row) => row[1 + k], cell: (row) => [named(row[1 + k], 24)] })),
  { head: "trials", numeric: true, value: (row) => row[TRIALS], cell: (row) => [row[TRIALS].toLocaleString("en")] },
  { head: "model", by: people.criteria[0], value: (row) => modelOf(row, 0), cell: (row) => [dot(modelOf(row, 0)), named(modelOf(row, 0))] },
  { head: "margin", by: "nats", numeric: true, value: (row) => row[FIRST.margin], cell: (row) => [number(row[FIRST.margin])] },
  { head: "verdict", value: verdictWord, cell: (row) => [verdictWord(row)] },
  ...people.criteria.slice(1).map((criterion, k) => ({
    head: "model",
    by: criterion,
    value: (row) => modelOf(row, k + 1),
    cell: (row) => [dot(modelOf(row, k + 1)), named(modelOf(row, k + 1))],
    mark: (row) => (row[byCriterion(k + 1).model] !== row[FIRST.model] ? "apart" : ""),
  })),
];

function nameCell(row, place) {
  const link = make("a", { href: addressOf(place) }, named(row[0] || "(no name)"));
  return row[EXCLUDED] ? [link, make("span", { className: "tag" }, "excluded")] : [link];
}

// A name that is short and unique is the address; otherwise the row is.
const times = new Map();
for (const row of people.rows) times.set(row[0], (times.get(row[0]) ?? 0) + 1);
function addressOf(place) {
  const name = people.rows[place][0];
  const plain = name && name.length <= 80 && times.get(name) === 1 && name.isWellFormed?.() !== false;
  return plain ? `#learner/${encodeURIComponent(name)}` : `#learner-row/${place + 1}`;
}
function placeAt(hash) {
  const row = hash.match(/^#learner-row\/(\d+)$/);
  if (row) return people.rows[Number(row[1]) - 1] ? Number(row[1]) - 1 : -1;
  if (!hash.startsWith("#learner/")) return -1;
  try {
    const name = decodeURIComponent(hash.slice("#learner/".length));
    return people.rows.findIndex((each) => each[0] === name);
  } catch {
    return -1;
  }
}

function order() {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = everyone.filter(
    ({ row, text }) =>
      words.every((word) => text.includes(word)) &&
      (state.model === "" || row[FIRST.model] === Number(state.model)) &&
      (state.verdict === "" || verdictWord(row) === state.verdict) &&
      (!state.apart || disagree(row)),
  );
  if (state.sort !== null) {
    const { value, numeric } = columns[state.sort];
    const compare = (a, b) => {
      const [x, y] = [value(a.row), value(b.row)];
      if (x === null || y === null) return (x === null) - (y === null); // the unknown come last
      const way = numeric ? x - y : collator.compare(x, y);
      return state.down ? -way : way;
    };
    found.sort(compare);
  }
  state.order = found.map(({ place }) => place);
}

function rowOf(place) {
  const row = people.rows[place];
  const cells = columns.map(({ cell, numeric, mark }, k) => {
    const className = `${numeric ? "figure-cell" : ""} ${mark ? mark(row) : ""}`.trim();
    return make(k ? "td" : "th", { className, scope: k ? undefined : "row" }, ...cell(row, place));
  });
  const element = make("tr", {}, ...cells);
  element.dataset.place = place;
  return element;
}

function fill() {
  const body = document.querySelector("#table tbody");
  body.replaceChildren(...state.order.slice(0, state.shown).map(rowOf));
  const total = people.rows.length;
  const what = `${people.unit}s`;
  const found = state.order.length;
  const [n, all] = [found.toLocaleString("en"), total.toLocaleString("en")];
  document.getElementById("matches").textContent =
    found === total ? `${all} ${total === 1 ? people.unit : what}` : `${n} of ${all} ${what} match`;
  const more = document.getElementById("more");
  const left = found - Math.min(found, state.shown);
  more.hidden = left === 0;
  more.textContent = `Show ${Math.min(PAGE, left)} more of ${left.toLocaleString("en")}`;
}

function refresh() {
  state.shown = PAGE;
  order();
  fill();
}

function sortBy(k) {
  const again = state.sort === k;
  state.down = again ? !state.down : false;
  state.sort = k;
  [...document.querySelectorAll("#table thead th")].forEach((head, place) => {
    if (place === k) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  refresh();
}

function startTable() {
  const heads = columns.map(({ head, by, numeric }, k) => {
    const button = make("button", { type: "button" }, head, by ? make("small", {}, by) : null);
    button.addEventListener("click", () => sortBy(k));
    return make("th", { scope: "col", className: numeric ? "figure-cell" : "" }, button);
  });
  document.querySelector("#table thead").append(make("tr", {}, ...heads));
  const chosen = new Set(people.rows.map((row) => row[FIRST.model]));
  const models = document.getElementById("by-model");
  [...chosen].sort((a, b) => a - b).forEach((k) => {
    const name = people.models[k];
    models.append(make("option", { value: String(k) }, name.length > 60 ? `${name.slice(0, 59)}…` : name));
  });
  const verdicts = document.getElementById("by-verdict");
  [...new Set(people.rows.map(verdictWord))].sort().forEach((word) => verdicts.append(make("option", { value: word }, word)));
  document.getElementById("apart-label").hidden = people.criteria.length < 2;
  const listen = (id, type, change) =>
    document.getElementById(id).addEventListener(type, (event) => {
      change(event.target);
      refresh();
    });
  listen("search", "input", (field) => (state.query = field.value));
  listen("by-model", "change", (field) => (state.model = field.value));
  listen("by-verdict", "change", (field) => (state.verdict = field.value));
  listen("apart", "change", (field) => (state.apart = field.checked));
  document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("more").addEventListener("click", () => {
    state.shown += PAGE;
    fill();
  });
  document.querySelector("#table tbody").addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (!row || event.target.closest("a") || String(window.getSelection())) return;
    location.hash = addressOf(Number(row.dataset.place));
  });
  refresh();
}
