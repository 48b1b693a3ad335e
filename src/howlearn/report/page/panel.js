// One learner's panel: opened by the address, so that a link leads to it.
const panel = document.getElementById("panel");
let opened = -1;
let drawing = []; // charts of the panel, to be ended when it is filled anew

function said(row) {
  const heads = ["criterion", "model", "runner-up", "margin (nats)", "verdict", "probability"];
  const likely = people.criteria.some((_, k) => row[byCriterion(k).probability] !== null);
  const rows = people.criteria.map((criterion, k) => {
    const at = byCriterion(k);
    const next = row[at.runnerUp] === null ? "–" : named(people.models[row[at.runnerUp]]);
    const cells = [
      make("th", { scope: "row" }, criterion),
      make("td", {}, dot(modelOf(row, k)), named(modelOf(row, k))),
      make("td", {}, next),
      make("td", { className: "figure-cell" }, number(row[at.margin])),
      make("td", {}, named(people.verdicts[row[at.verdict]], 1000)),
    ];
    if (likely) cells.push(make("td", { className: "figure-cell" }, number(row[at.probability])));
    return make("tr", {}, ...cells);
  });
  return scrolling("What the criteria say", tableWith(likely ? heads : heads.slice(0, -1), rows, [3, 5]));
}

function tableWith(heads, rows, numeric = []) {
  const cells = heads.map((head, k) => make("th", { scope: "col", className: numeric.includes(k) ? "figure-cell" : "" }, head));
  return make("table", {}, make("thead", {}, make("tr", {}, ...cells)), make("tbody", {}, ...rows));
}

function scrolling(label, ...inner) {
  return make("div", { className: "scroll", role: "region", tabIndex: 0, "aria-label": label }, ...inner);
}

function scoresTable(scores) {
  const most = Math.max(1e-9, ...scores.flat().filter((value) => value !== null));
  const used = people.models.map((_, k) => k).filter((k) => scores.some((own) => (own[k] ?? null) !== null));
  const rows = used.map((k) => {
    const cells = scores.map((own) => {
      const value = own[k] ?? null;
      if (value === null) return make("td", { className: "figure-cell none" }, "–");
      if (value === 0) return make("td", { className: "figure-cell best" }, "best");
      const bar = make("i", { "aria-hidden": "true", style: `width:${((80 * value) / most).toFixed(1)}%` });
      return make("td", { className: "figure-cell behind" }, `−${number(value)}`, bar);
    });
    return make("tr", {}, make("th", { scope: "row" }, dot(people.models[k]), named(people.models[k])), ...cells);
  });
  return scrolling("Scores of all models", tableWith(["model", ...people.criteria], rows, people.criteria.map((_, k) => k + 1)));
}

function estimatesTable(estimates) {
  const spans = estimates.some((each) => each[3] !== null || each[4] !== null);
  const heads = ["cell", "parameter", "estimate", ...(spans ? ["95% interval"] : []), "status"];
  const rows = estimates.map(([cell, parameter, estimate, lower, upper, status]) => {
    const span = lower === null && upper === null ? "–" : `${number(lower)} to ${number(upper)}`;
    return make(
      "tr",
      {},
      make("td", {}, named(String(cell ?? ""))),
      make("td", {}, named(String(parameter ?? ""))),
      make("td", { className: "figure-cell" }, number(estimate)),
      spans ? make("td", { className: "figure-cell" }, span) : null,
      make("td", {}, status ?? ""),
    );
  });
  return scrolling("Estimates", tableWith(heads, rows, spans ? [2, 3] : [2]));
}

// The compact numbers of a learner as the rows that its charts draw.
function rowsOf(drawn) {
  const share = (value, of) => (value === null ? null : value / of);
  const scale = content.common.percent ? 1000 : 1;
  const called = ({ name, of }) => {
    const short = name.length <= 40 ? name : `${name.slice(0, 39)}…`;
    return of === "right" ? short : `${short} → ${of}`;
  };
  return {
    curve: (drawn.curve?.x ?? []).map((x, k) => ({ x, y: share(drawn.curve.y[k], scale) })),
    trajectory: (drawn.cells ?? []).flatMap((cell, place) =>
      cell.x.map((x, k) => ({ cell: called(cell), place, x, p: share(cell.p[k], 1000), y: share(cell.y[k], 1000) })),
    ),
  };
}

function filled(spec, name, rows) {
  const copy = unpacked(spec);
  copy.datasets = { ...(copy.datasets ?? {}), [name]: rows };
  return copy;
}

function lineOf(title) {
  if (!title) return ["", ""];
  const joined = (text) => (Array.isArray(text) ? text.join(" ") : String(text ?? ""));
  return typeof title === "object" && !Array.isArray(title) ? [joined(title.text), joined(title.subtitle)] : [joined(title), ""];
}

function chartIn(parent, name, spec, rows, asPaper = false) {
  const [question, note] = lineOf(spec.title);
  const box = make("div", { className: "chart", role: "img", "aria-label": `Chart. ${question}` });
  const buttons = ["svg", "png", ...(rows ? ["csv"] : [])].map((ending) => {
    const button = make("button", { type: "button" }, ending.toUpperCase());
    button.addEventListener("click", () => {
      const heads = rows?.length ? Object.keys(rows[0]) : [];
      save(name, spec, heads, (rows ?? []).map((row) => heads.map((head) => row[head])), ending);
      menu.open = false;
      menu.firstChild.focus();
    });
    return button;
  });
  const menu = make("details", { className: "save" }, make("summary", {}, "Save", make("span", { className: "hidden" }, ` the chart: ${question}`)), make("div", { className: "menu" }, ...buttons));
  const tools = make("div", { className: "tools" }, menu);
  if (rows?.length) {
    const heads = Object.keys(rows[0]);
    const inner = make("div", { className: "scroll", role: "region", tabIndex: 0, "aria-label": `Table: ${question}` });
    const asTable = make("details", { className: "as-table" }, make("summary", {}, "Show as table"), inner);
    asTable.addEventListener("toggle", () => inner.firstChild || inner.append(tableOf(heads, rows.map((row) => heads.map((head) => row[head])))));
    tools.append(asTable);
  }
  parent.append(make("div", {}, make("h4", {}, question), box, note ? make("p", { className: "note" }, note) : null, tools));
  return drawOnScreen(box, spec, asPaper).then((drawn) => drawing.push(drawn));
}

async function fillPanel(place) {
  const row = people.rows[place];
  const known = content.panels[place];
  const title = document.getElementById("panel-title");
  title.replaceChildren("Learner ", named(row[0] || "(no name)"));
  const about = people.labels.map((label, k) => `${label}: ${row[1 + k]}`);
  about.push(`${row[TRIALS].toLocaleString("en")} trials`);
  if (row[EXCLUDED]) about.push("excluded from the shares");
  const body = document.getElementById("panel-body");
  drawing.splice(0).forEach((drawn) => drawn.finalize());
  body.replaceChildren(make("p", { className: "small" }, named(about.join(" · "), 400)), said(row));
  if (!known) {
    body.append(make("p", { className: "warning" }, "This learner is not among those that were drawn for this page, so there is no more to show. howlearn report --sample takes more; howlearn.plot.learner shows one from Python."));
  } else {
    const work = [];
    const rows = rowsOf(known.drawn);
    const model = modelOf(row, 0);
    const top = make("div", { className: "pair" });
    body.append(top);
    if (content.specs.curve && rows.curve.length) work.push(chartIn(top, `learner-${place + 1}-curve`, filled(content.specs.curve, "curve", rows.curve), rows.curve));
    const partition = content.partitions[content.common.models?.[known.drawn.model]];
    if (partition) work.push(chartIn(top, `learner-${place + 1}-partition`, unpacked(partition), null, true));
    if (content.specs.trajectory && rows.trajectory.length)
      work.push(chartIn(body, `learner-${place + 1}-trajectories`, filled(content.specs.trajectory, "trajectory", rows.trajectory), rows.trajectory));
    const low = make("div", { className: "loose" });
    body.append(low);
    if (known.scores.length) low.append(make("div", {}, make("h4", {}, "How far is each model behind the best? (nats)"), scoresTable(known.scores)));
    if (known.estimates.length) low.append(make("div", {}, make("h4", {}, "Estimates of ", named(model)), estimatesTable(known.estimates)));
    await Promise.all(work);
  }
  panel.dataset.filled = String(place);
}

function neighbour(step) {
  const at = state.order.indexOf(opened);
  const next = at < 0 ? undefined : state.order[at + step];
  return next;
}

function show(place) {
  if (place === opened && panel.open) return;
  opened = place;
  delete panel.dataset.filled;
  if (!panel.open) panel.showModal();
  panel.scrollTop = 0;
  document.getElementById("previous").disabled = neighbour(-1) === undefined;
  document.getElementById("next").disabled = neighbour(1) === undefined;
  fillPanel(place);
}

function go(step) {
  const place = neighbour(step);
  if (place === undefined) return;
  history.replaceState(null, "", addressOf(place));
  show(place);
}

function follow() {
  const place = placeAt(location.hash);
  if (place >= 0) show(place);
  else if (panel.open) panel.close();
}

function startPanel() {
  document.getElementById("previous").addEventListener("click", () => go(-1));
  document.getElementById("next").addEventListener("click", () => go(1));
  document.getElementById("close").addEventListener("click", () => panel.close());
  panel.addEventListener("click", (event) => event.target === panel && panel.close());
  panel.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, .scroll, .chart, details") || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft") go(-1);
    if (event.key === "ArrowRight") go(1);
  });
  panel.addEventListener("close", () => {
    const place = opened;
    opened = -1;
    if (placeAt(location.hash) >= 0) history.replaceState(null, "", "#learners");
    document.querySelector(`#table tr[data-place="${place}"] a`)?.focus();
  });
  window.addEventListener("hashchange", follow);
  follow();
}
