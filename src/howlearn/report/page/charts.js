// What the page holds, and how charts are drawn: on the screen and on paper.
const content = JSON.parse(document.getElementById("content").textContent);

// Data are kept as columns, and texts as places in a list of them: here are the rows again.
function columnOf(kept) {
  return Array.isArray(kept) ? kept : kept.$places.map((place) => kept.$names[place]);
}

function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  if (value.$columns) {
    const names = Object.keys(value.$columns);
    const columns = names.map((name) => columnOf(value.$columns[name]));
    return (columns[0] ?? []).map((_, k) => Object.fromEntries(names.map((name, c) => [name, columns[c][k]])));
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, unpacked(each)]));
}

// Colours of paper become those of the page, which the style sheet may change at any time.
const SCREEN = {
  "#222222": "var(--chart-ink)",
  "#666666": "var(--chart-grey)",
  "#DDDDDD": "var(--chart-line)",
  "#EEEEEE": "var(--chart-line)",
};
const GROUND = new Set(["stroke", "background"]); // where white means the page
const DRAWN = new Set(["stroke", "color", "fill", "value"]); // where blue is no model's colour

function onScreen(value, key) {
  if (typeof value === "string") {
    if (value === "white" && GROUND.has(key)) return "var(--surface)";
    if (value.toUpperCase() === "#0072B2" && DRAWN.has(key)) return "var(--chart-blue)";
    return SCREEN[value.toUpperCase()] ?? value;
  }
  if (Array.isArray(value)) return value.map((each) => onScreen(each));
  if (value === null || typeof value !== "object") return value;
  const copy = {};
  for (const [inner, each] of Object.entries(value)) {
    if (inner === "datasets") copy[inner] = Object.fromEntries(Object.entries(each).map(([name, rows]) => [name, shaded(rows)]));
    else if (inner === "data") copy[inner] = each?.values ? { ...each, values: shaded(each.values) } : each;
    else copy[inner] = onScreen(each, inner);
  }
  return copy;
}

// Cells of a heat map, whose colours are in the data, go from the page's ground to blue.
function shaded(rows) {
  if (!Array.isArray(rows) || !rows[0]?.ink || !rows[0]?.fill) return rows;
  return rows.map((row) => ({ ...row, fill: shade(row.fill), ink: SCREEN[row.ink.toUpperCase()] ?? row.ink }));
}

const BLUE = [0, 114, 178];
function shade(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const share = (255 - red) / (255 - BLUE[0]);
  const near = (value, end) => Math.abs(value - (255 + (end - 255) * share)) < 4;
  if (near(green, BLUE[1]) && near(blue, BLUE[2])) return `color-mix(in srgb, rgb(${BLUE}) ${(100 * share).toFixed(1)}%, var(--cell))`;
  return red === green && green === blue ? "var(--cell)" : colour;
}

const screenConfig = {
  ...onScreen(content.config),
  background: null,
  padding: 2,
  font: getComputedStyle(document.body).fontFamily,
};
const SMALLEST = 0.66; // to which a chart shrinks before its box scrolls

// On a phone, panels stand below each other and are no wider than the screen.
const PHONE = 560, LABELS = 130; // widths in pixels: of a box on a phone, of what stands beside a panel
function fitted(spec, room) {
  if (room >= PHONE || spec === null || typeof spec !== "object") return spec;
  const { hconcat, ...found } = spec;
  if (hconcat) found.vconcat = hconcat;
  if (found.columns > 1) found.columns = 1;
  if (typeof found.width === "number") {
    const width = Math.min(found.width, Math.max(160, room - LABELS));
    if (found.layer) found.layer = found.layer.map((each) => shrunk(each, width / found.width));
    found.width = width;
  }
  for (const inner of ["vconcat", "concat"]) if (found[inner]) found[inner] = found[inner].map((each) => fitted(each, room));
  if (found.spec) found.spec = fitted(found.spec, room);
  return found;
}

// Places in pixels follow the width of their panel; legends get one column.
function shrunk(layer, ratio) {
  const entries = Object.entries(layer.encoding ?? {}).map(([name, each]) => {
    const place = /^x2?$/.test(name) && typeof each?.value === "number";
    if (place) return [name, { ...each, value: each.value * ratio }];
    return [name, each?.legend?.columns ? { ...each, legend: { ...each.legend, columns: 1 } } : each];
  });
  return { ...layer, encoding: Object.fromEntries(entries) };
}

// A chart whose own grounds are light stays as it is on paper, whatever the colours of the page.
async function drawOnScreen(box, spec, asPaper = false) {
  const { title, ...untitled } = fitted(spec, box.clientWidth); // the page says it
  const { font, padding } = screenConfig;
  const below = box.clientWidth < PHONE ? { orient: "bottom", direction: "vertical", columns: 1 } : {};
  const config = asPaper ? { ...content.config, background: null, font, padding } : screenConfig;
  const drawn = await window.vegaEmbed(box, asPaper ? untitled : onScreen(untitled), {
    mode: "vega-lite",
    renderer: "svg",
    actions: false,
    config: { ...config, legend: { ...config.legend, ...below } },
  });
  box.classList.toggle("paper", asPaper);
  const svg = box.querySelector("svg");
  if (svg) {
    svg.removeAttribute("role");
    svg.setAttribute("aria-hidden", "true");
    svg.style.minWidth = `${Math.round(SMALLEST * svg.width.baseVal.value)}px`;
  }
  scrollable(box);
  return drawn;
}

// A box that scrolls must be reachable by keys.
function scrollable(box) {
  if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
}

function onPaper(spec) {
  const options = { mode: "vega-lite", renderer: "svg", actions: false, config: content.config };
  return window.vegaEmbed(document.createElement("div"), spec, options);
}

// An element with its properties and children; text is never taken for markup.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name in element && name !== "style") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const LONGEST = 40;
function named(text, longest = LONGEST) {
  const className = longest > LONGEST ? "long" : "";
  if (text.length <= longest) return make("bdi", { className }, text);
  const short = `${text.slice(0, longest / 2)}…${text.slice(-(longest / 2 - 1))}`;
  return make("bdi", { className, title: text }, short);
}

function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  const text = Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
}

function dot(model) {
  const place = content.learners.models.indexOf(model);
  const colour = content.colours[place] ?? "transparent";
  return make("span", { className: "dot", "aria-hidden": "true", style: `background:${colour}` });
}
