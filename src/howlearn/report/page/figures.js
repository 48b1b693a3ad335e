// Charts of the sections: drawn, saved, shown as tables.
const figureOf = new Map(
  content.figures.map(({ table, spec, ...figure }) => {
    const columns = table.map(columnOf);
    const rows = (columns[0] ?? []).map((_, k) => columns.map((column) => column[k]));
    return [figure.name, { ...figure, rows, spec: unpacked(spec) }];
  }),
);

function tableOf(columns, rows) {
  const numeric = columns.map((_, k) => rows.every((row) => row[k] === null || typeof row[k] === "number"));
  const cell = (value, k) =>
    numeric[k]
      ? make("td", { className: "figure-cell" }, value === null ? "" : number(value, 4))
      : make("td", {}, named(String(value ?? "")));
  const head = columns.map((name, k) =>
    make("th", { scope: "col", className: numeric[k] ? "figure-cell" : "" }, name.replaceAll("_", " ")),
  );
  return make(
    "table",
    {},
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))),
  );
}

// What a spreadsheet would run has an apostrophe before it, as in the tables of a results folder.
const FORMULA = /^'*[=+@\-\t\r\n＝＋－＠]/;
const NUMBER = /^'*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;
const guarded = (text) => (FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text);

function csvOf(columns, rows) {
  const quoted = (value) => {
    const text = value === null || value === undefined ? "" : guarded(String(value));
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

function download(name, address) {
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

function downloadText(name, text, kind) {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  download(name, address);
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

async function save(name, spec, columns, rows, ending) {
  if (ending === "csv") return downloadText(`${name}.csv`, csvOf(columns, rows), "text/csv;charset=utf-8");
  const drawn = await onPaper(spec);
  if (ending === "svg") downloadText(`${name}.svg`, await drawn.view.toSVG(), "image/svg+xml");
  else download(`${name}.png`, await drawn.view.toImageURL("png", 3));
  drawn.finalize();
}

function startFigure(element) {
  const figure = figureOf.get(element.dataset.figure);
  const menu = element.querySelector(".save");
  for (const button of menu.querySelectorAll("[data-save]"))
    button.addEventListener("click", () => {
      save(figure.name, figure.spec, figure.columns, figure.rows, button.dataset.save);
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  const asTable = element.querySelector(".as-table");
  asTable.addEventListener("toggle", () => {
    const box = asTable.querySelector(".scroll");
    if (!asTable.open || box.firstChild) return;
    box.append(tableOf(figure.columns, figure.rows));
    if (figure.more) box.append(make("p", { className: "small" }, `and ${figure.more.toLocaleString("en")} more rows`));
  });
}

// An open menu closes as menus do: by Escape, or by a click elsewhere.
function closeMenus(event) {
  for (const menu of document.querySelectorAll(".save[open]")) {
    if (event.type === "keydown" && event.key !== "Escape") continue;
    if (event.type === "click" && menu.contains(event.target)) continue;
    const inside = menu.contains(document.activeElement);
    menu.open = false;
    if (inside && event.type === "keydown") menu.querySelector("summary").focus();
  }
}

const begun = new Map(); // what is drawn once, in its turn or because the page is printed
function drawFigure(element) {
  const spec = figureOf.get(element.dataset.figure).spec;
  if (!begun.has(element)) begun.set(element, drawOnScreen(element.querySelector(".chart"), spec));
  return begun.get(element);
}

async function drawFigures() {
  const elements = [...document.querySelectorAll("[data-figure]")];
  elements.forEach(startFigure);
  window.addEventListener("beforeprint", () => elements.forEach(drawFigure)); // paper does not wait
  for (const element of elements) {
    await drawFigure(element);
    await new Promise((resume) => setTimeout(resume)); // let the reader scroll meanwhile
  }
}
