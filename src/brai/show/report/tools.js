// The script draws the page from the JSON in #data. Text from the data is only set as text, never as markup.
// Its parts (tools, columns, pairs, page) become one function, see brai.show.report.build.

const D = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const d = D.names.length;

function put(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const el = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const percent = (p) => p >= 1 - 1e-9 ? "100 %" : p > 0.999 ? "> 99.9 %" : p >= 0.1 ? (100 * p).toFixed(1) + " %" : (100 * p).toFixed(2) + " %";
const plain = (x, digits = 2) =>
  x.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
const many = (n, noun) => n.toLocaleString("en") + " " + noun + (n === 1 ? "" : "s");
const cut = (text, most) => text.length > most ? text.slice(0, most) + "…" : text;
const short = (i) => cut(D.names[i], 60);
const bdi = (text) => el("bdi", {}, text);
const link = (i, most = 60) => el("button", {
  class: "link", title: cut(D.names[i], 400), onclick: () => { select(i, true); $("canvas").scrollIntoView({ block: "center" }); },
}, bdi(cut(D.names[i], most)));

// abbreviations in our own text get their explanation from the section "Terms" as a tooltip
const terms = new Map([...document.querySelectorAll(".terms div")].map((one) => [...one.children].map((part) => part.textContent)));
const gloss = (text) => text.split(/\b(BDeu|BIC|CPDAG|DAG|MCMC|R-hat|Effective sample size|Effective number of graphs|phi coefficient)(?=s?\b)/)
  .map((part) => terms.has(part) ? el("abbr", { title: terms.get(part) }, part) : part);

function ticks(low, high, n) {
  const raw = (high - low) / n || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= raw), found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && found.length < 50; k++) found.push(k * step);
  return found;
}

function key(text, colour) {
  const span = el("span", {}, text);
  span.style.setProperty("--key", `var(--${colour})`);
  return span;
}

// a number in the units of the data, already rounded; very large and very small ones with an exponent
function unit(v) {
  const size = Math.abs(v), text = v !== 0 && (size >= 1e7 || size < 1e-4) ? v.toExponential().replace("e+", "e")
    : v.toLocaleString("en", { maximumSignificantDigits: 12 });
  return text.replaceAll("-", "−");
}

// marks of an axis as [value, text]: as given, or round numbers
function marks(low, high, given, n) {
  if (!given) return ticks(low, high, n).map((v) => [v, unit(Number(v.toPrecision(8)))]);
  return given;
}

// [position, text] of the marks that do not overlap along an axis; room is in pixels for each letter, or a fixed number
function spaced(placed, room) {
  const kept = [];
  for (const [at, text] of placed.sort((p, q) => p[0] - q[0])) {
    const before = kept[kept.length - 1];
    if (!before || at - before[0] >= room(text, before[1])) kept.push([at, text]);
  }
  return kept;
}
