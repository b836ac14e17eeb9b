// ---- the graph at a threshold, by the rule of brai.consensus; pairs are in the order in which it directs them ----

const pairs = D.pairs.map(([a, b, strength, direction, sure, best, apart, model, size, gone]) =>
  ({ a, b, strength, direction, sure, best, apart, model, size, gone, arrow: 0, on: false }));
const sized = pairs.some((p) => p.size[0] !== null); // measurements: edges have coefficients
const ranked = pairs.filter(pictureOf).sort((p, q) => q.strength - p.strength); // those with a picture
const bestWord = (p) => ["no", "yes", "reversed", "undirected"][p.best];
const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2);
const sizeOf = (p) => p.size[0] === null ? "" : `${signed(p.size[0])} (${signed(p.size[1])} to ${signed(p.size[2])})`;

function consensus(level) {
  const children = Array.from({ length: d }, () => []);
  const leads = (from, to) => {
    const seen = new Set([from]), todo = [from];
    while (todo.length) {
      const node = todo.pop();
      if (node === to) return true;
      for (const next of children[node]) if (!seen.has(next)) { seen.add(next); todo.push(next); }
    }
    return false;
  };
  for (const pair of pairs) {
    pair.on = pair.strength >= level - 1e-9;
    pair.arrow = pair.on && pair.sure && !leads(pair.b, pair.a) ? 1 : 0;
    if (pair.arrow) children[pair.a].push(pair.b);
  }
}

function relatives() {
  const into = Array.from({ length: d }, () => []), out = into.map(() => []), near = into.map(() => []);
  for (const pair of pairs) if (pair.on) {
    if (pair.arrow) { into[pair.b].push(pair.a); out[pair.a].push(pair.b); }
    else { near[pair.a].push(pair.b); near[pair.b].push(pair.a); }
  }
  return { into, out, near };
}

function reached(start, next) {
  const seen = new Set(), todo = [start];
  while (todo.length) for (const node of next[todo.pop()]) if (!seen.has(node)) { seen.add(node); todo.push(node); }
  seen.delete(start);
  return seen;
}

function members(i, mode, kin) {
  if (mode === "ancestors") return reached(i, kin.into);
  if (mode === "descendants") return reached(i, kin.out);
  const found = new Set([...kin.into[i], ...kin.out[i], ...kin.near[i]]);
  for (const child of kin.out[i]) for (const parent of kin.into[child]) found.add(parent);
  found.delete(i);
  return found;
}

// ---- the drawing ----

const canvas = $("canvas"), world = svg("g"), edgeLayer = svg("g"), nodeLayer = svg("g");
world.append(edgeLayer, nodeLayer);
canvas.append(world);
const HIGH = 30;
const x = [...D.x], y = [...D.y];
const bends = new Map(D.bends.map(([u, v, points]) => [u + "," + v, points]));
const ends = (values, places) => [Math.min(...values, ...places), Math.max(...values, ...places)];
const across = ends(x.map((own, i) => own - D.widths[i] / 2).concat(x.map((own, i) => own + D.widths[i] / 2)),
  D.bends.flatMap(([, , points]) => points.filter((_, k) => k % 2 === 0)));
const down = ends(y, []);
let crowd = 1, view = { x: 0, y: 0, z: 1 }, selected = null, mode = "blanket", kin = null;

const boxEnd = (i, px, py) => { // where the line from the centre of i towards a point leaves the box
  const dx = px - x[i], dy = py - y[i], w = D.widths[i] / 2 + 1, h = HIGH / 2 + 1;
  const t = Math.min(dx ? w / Math.abs(dx) : Infinity, dy ? h / Math.abs(dy) : Infinity, 1);
  return [x[i] + t * dx, y[i] + t * dy];
};

function waypoints(a, b) { // bends move along when the ends are dragged
  const forth = bends.get(a + "," + b), back = bends.get(b + "," + a), flat = forth || back;
  if (!flat) return null;
  const points = [];
  for (let k = 0; k < flat.length; k += 2) points.push([flat[k], flat[k + 1]]);
  if (!forth) points.reverse();
  return points.map(([px, py], k) => {
    const f = (k + 1) / (points.length + 1);
    return [px + (1 - f) * (x[a] - D.x[a]) + f * (x[b] - D.x[b]), py + (1 - f) * (y[a] - D.y[a]) + f * (y[b] - D.y[b])];
  });
}

function shape(a, b, inLayout) {
  let between = waypoints(a, b);
  if (!between) {
    if (inLayout) between = [];
    else { // not in the layout: curved, so that it does not hide behind other edges
      const dx = x[b] - x[a], dy = y[b] - y[a];
      const inside = (value, [least, most], p, q) => Math.max(Math.min(least, p, q), Math.min(Math.max(most, p, q), value));
      between = [[inside((x[a] + x[b]) / 2 - 0.14 * dy, across, x[a], x[b]), inside((y[a] + y[b]) / 2 + 0.14 * dx, down, y[a], y[b])]];
    }
  }
  const second = between[0] || [x[b], y[b]], last = between[between.length - 1] || [x[a], y[a]];
  const points = [boxEnd(a, ...second), ...between, boxEnd(b, ...last)];
  let path = "M" + points[0].map(round);
  for (let k = 0; k < points.length - 1; k++) { // a Catmull–Rom spline as cubic Bézier curves
    const p0 = points[Math.max(0, k - 1)], p1 = points[k], p2 = points[k + 1], p3 = points[Math.min(points.length - 1, k + 2)];
    path += points.length === 2 ? "L" + p2.map(round) : "C" + [
      p1[0] + (p2[0] - p0[0]) / 6, p1[1] + (p2[1] - p0[1]) / 6, p2[0] - (p3[0] - p1[0]) / 6, p2[1] - (p3[1] - p1[1]) / 6, ...p2,
    ].map(round);
  }
  return { path, tip: points[points.length - 1], from: points[points.length - 2] };
}
const round = (number) => Math.round(number * 10) / 10;

function head(tip, from, size) {
  const angle = Math.atan2(tip[1] - from[1], tip[0] - from[0]);
  const at = (turn) => [tip[0] - size * Math.cos(angle + turn), tip[1] - size * Math.sin(angle + turn)].map(round);
  return "M" + tip.map(round) + "L" + at(0.4) + "L" + at(-0.4) + "Z";
}

const inLayout = (pair) => pair.strength >= 0.5 - 1e-9;
for (const pair of pairs) {
  pair.line = svg("path"); pair.reach = svg("path", { class: "reach" }); pair.head = svg("path", { class: "head" });
  pair.g = svg("g", { class: "edge off" + (pair.size[0] < 0 ? " minus" : ""), "data-a": pair.a, "data-b": pair.b }, pair.reach, pair.line, pair.head);
  pair.g.style.setProperty("--s", (0.8 + 1.9 * pair.strength).toFixed(2));
  pair.g.style.setProperty("--o", (0.28 + 0.72 * pair.strength).toFixed(2));
  pair.g.addEventListener("pointermove", (event) => tip(event, said(pair)));
  pair.g.addEventListener("pointerleave", hush);
}

function said(pair) {
  return `${short(pair.a)} ${pair.arrow ? "→" : "–"} ${short(pair.b)}\nP(adjacent) ${percent(pair.strength)}\n` +
    `P(this direction | adjacent) ${percent(pair.direction)}` + (pair.apart === null ? "" : `\nchains differ by ${plain(pair.apart)}`) +
    (pair.size[0] === null ? "" : `\nstandardised coefficient ${sizeOf(pair)}`);
}

function drawPair(pair) {
  const made = shape(pair.a, pair.b, inLayout(pair));
  pair.line.setAttribute("d", made.path);
  pair.reach.setAttribute("d", made.path);
  pair.head.setAttribute("d", pair.arrow ? head(made.tip, made.from, 11) : "");
  pair.g.classList.toggle("hollow", pair.direction < 0.9);
}

const nodes = D.names.map((name, i) => {
  const w = D.widths[i];
  const box = svg("rect", { x: -w / 2, y: -HIGH / 2, width: w, height: HIGH, rx: 9 });
  const node = svg("g", { class: "node", "data-node": i }, box, svg("text", {}, D.labels[i]));
  node.addEventListener("pointermove", (event) => { if (D.labels[i] !== name) tip(event, cut(name, 400)); });
  node.addEventListener("pointerleave", hush);
  nodeLayer.append(node);
  return node;
});
const placeNode = (i) => nodes[i].setAttribute("transform", `translate(${round(x[i])} ${round(y[i])})`);
x.forEach((_, i) => placeNode(i));

let attached = new Set();
function redraw() {
  const level = Number($("level").value);
  consensus(level);
  kin = relatives();
  let shown = 0, arrows = 0;
  for (const pair of pairs) {
    pair.g.classList.toggle("off", !pair.on);
    if (!pair.on) continue;
    shown++; arrows += pair.arrow;
    if (!attached.has(pair)) { attached.add(pair); edgeLayer.append(pair.g); }
    drawPair(pair);
  }
  $("level-out").textContent = "≥ " + Math.round(100 * level) + " %: " + shown;
  $("shown").textContent = `${many(shown, "edge")} of probability ${Math.round(100 * level)} % or more, ${arrows} of them directed. ` +
    `This page holds ${many(pairs.length, "pair")} of ${Number((100 * D.floor).toPrecision(3))} % or more` +
    (D.below > 0 ? `; ${D.below.toLocaleString("en")} less probable pairs are left out.` : ".");
  canvas.dataset.edges = shown;
  crowd = Math.max(0.16, Math.min(1, 250 / Math.max(1, shown)));
  look();
  highlight();
  fillTable();
}

function highlight() {
  canvas.classList.remove("picked", "blanket", "ancestors", "descendants");
  const group = selected === null ? new Set() : members(selected, mode, kin);
  nodes.forEach((node, i) => {
    node.classList.toggle("selected", i === selected);
    node.classList.toggle("member", group.has(i));
  });
  if (selected !== null) canvas.classList.add("picked", mode);
  canvas.classList.toggle("few", group.size <= 40); // few enough that labels do not overlap
  canvas.classList.toggle("alone", selected !== null && $("alone").checked);
  const inside = (i) => i === selected || group.has(i);
  for (const pair of pairs) {
    let lit = selected !== null && pair.on && inside(pair.a) && inside(pair.b);
    if (mode !== "blanket" && !pair.arrow) lit = false;
    if (mode === "blanket" && lit) { // only edges that make their ends members of the blanket
      const { a, b } = pair;
      lit = a === selected || b === selected || (pair.arrow && kin.out[selected].includes(b));
    }
    pair.g.classList.toggle("lit", lit);
  }
  canvas.dataset.selected = selected === null ? "" : selected;
  fillPanel();
}

function select(i, centre) {
  selected = i;
  highlight();
  if ($("alone").checked) fitShown();
  else if (centre && i !== null) show(i);
}

function show(i) { // fit all that is highlighted if it is readable then, else centre the node
  const before = view.z, box = canvas.getBoundingClientRect();
  fit(members(i, mode, kin).add(i));
  if (view.z >= 0.5) { if (view.z > 1) zoom(Math.max(1, before) / view.z); return; }
  const z = Math.max(before, 0.8);
  view = { z, x: box.width / 2 - z * x[i], y: box.height / 2 - z * y[i] };
  look();
}

// ---- zoom, pan, drag ----

function look() {
  world.setAttribute("transform", `translate(${view.x.toFixed(2)} ${view.y.toFixed(2)}) scale(${view.z.toFixed(4)})`);
  canvas.style.setProperty("--z", view.z);
  canvas.style.setProperty("--k", Math.max(0.3, Math.min(1.1, 0.25 + view.z)).toFixed(2));
  canvas.style.setProperty("--q", view.z < 0.5 ? crowd : 1);
  canvas.classList.toggle("far", view.z < 0.5);
  canvas.dataset.zoom = view.z.toFixed(3);
}

function fit(some) {
  const box = canvas.getBoundingClientRect(), all = some && some.size ? some : new Set(x.keys());
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  const hold = (l, r, t, b) => { left = Math.min(left, l); right = Math.max(right, r); top = Math.min(top, t); bottom = Math.max(bottom, b); };
  for (const i of all) hold(x[i] - D.widths[i] / 2, x[i] + D.widths[i] / 2, y[i] - HIGH, y[i] + HIGH);
  for (const pair of pairs) if (pair.on && all.has(pair.a) && all.has(pair.b)) { // curves may extend beyond the nodes
    const own = pair.line.getBBox();
    hold(own.x, own.x + own.width, own.y, own.y + own.height);
  }
  const z = Math.min(1.5, (box.width - 40) / (right - left), (box.height - 30) / (bottom - top));
  view = { z, x: (box.width - z * (left + right)) / 2, y: (box.height - z * (top + bottom)) / 2 };
  look();
}

function fitShown() {
  fit(selected !== null && $("alone").checked ? members(selected, mode, kin).add(selected) : null);
}

function zoom(factor, px, py) {
  const box = canvas.getBoundingClientRect();
  px = px ?? box.width / 2; py = py ?? box.height / 2;
  const z = Math.max(0.02, Math.min(5, view.z * factor));
  view = { z, x: px - (z / view.z) * (px - view.x), y: py - (z / view.z) * (py - view.y) };
  look();
}

canvas.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return; // let the page scroll
  event.preventDefault();
  const box = canvas.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.006 : 0.0016)), event.clientX - box.left, event.clientY - box.top);
}, { passive: false });

let held = null;
canvas.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  const node = event.target.closest(".node");
  const edge = event.target.closest(".edge");
  held = { node: node ? Number(node.dataset.node) : null, pair: edge && pairs.find((p) => p.g === edge), x: event.clientX, y: event.clientY, moved: false };
  canvas.focus({ preventScroll: true });
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (!held) return;
  const dx = event.clientX - held.x, dy = event.clientY - held.y;
  if (!held.moved && Math.hypot(dx, dy) < 4) return;
  if (!held.moved) { held.moved = true; canvas.classList.add("moving"); hush(); }
  held.x = event.clientX; held.y = event.clientY;
  if (held.node === null) { view.x += dx; view.y += dy; look(); return; }
  x[held.node] += dx / view.z; y[held.node] += dy / view.z;
  placeNode(held.node);
  for (const pair of pairs) if (pair.on && (pair.a === held.node || pair.b === held.node)) drawPair(pair);
});
const release = (event) => {
  if (!held) return;
  canvas.classList.remove("moving");
  if (!held.moved && event.type === "pointerup") {
    if (held.pair) openPair(held.pair);
    else select(held.node === selected ? null : held.node, false);
  }
  held = null;
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
  if (step) { view.x += step[0]; view.y += step[1]; look(); }
  else if (event.key === "+" || event.key === "=") zoom(1.3);
  else if (event.key === "-") zoom(1 / 1.3);
  else if (event.key === "0") fitShown();
  else if (event.key === "Escape") select(null, false);
  else return;
  event.preventDefault();
});
$("zoom-in").addEventListener("click", () => zoom(1.4));
$("zoom-out").addEventListener("click", () => zoom(1 / 1.4));
$("fit").addEventListener("click", fitShown);
$("alone").addEventListener("change", () => { highlight(); fitShown(); });
$("restore").addEventListener("click", () => {
  D.x.forEach((_, i) => { x[i] = D.x[i]; y[i] = D.y[i]; placeNode(i); });
  for (const pair of pairs) if (pair.on) drawPair(pair);
  fitShown();
});
$("mode").addEventListener("change", (event) => { mode = event.target.value; highlight(); if ($("alone").checked) fitShown(); });
let waiting = 0;
$("level").addEventListener("input", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(redraw); });

function tip(event, text) {
  if (held && held.moved) return;
  const box = $("tip");
  box.textContent = text;
  box.hidden = false;
  box.style.left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8) + "px";
  box.style.top = Math.min(event.clientY + 16, innerHeight - box.offsetHeight - 8) + "px";
}
function hush() { $("tip").hidden = true; }

// ---- search ----

let matches = [], chosen = 0;
const folded = D.names.map((name) => name.slice(0, 2000).toLocaleLowerCase());
function find() {
  const text = $("search").value.trim().toLocaleLowerCase(), list = $("matches");
  const all = text ? folded.map((name, i) => [name.indexOf(text), i]).filter(([at]) => at >= 0).sort((p, q) => p[0] - q[0] || p[1] - q[1]) : [];
  matches = all.slice(0, 10).map(([, i]) => i);
  const marked = new Set(all.map(([, i]) => i));
  nodes.forEach((node, i) => node.classList.toggle("match", marked.has(i) && marked.size < 60));
  chosen = 0;
  list.replaceChildren(...matches.map((i, k) => el("li", {
    role: "option", id: "match" + k, "aria-selected": k === 0, onpointerdown: (event) => { event.preventDefault(); take(k); },
  }, bdi(short(i)))));
  if (text && !matches.length) list.append(el("li", {}, "no such variable"));
  list.hidden = !text;
  $("search").setAttribute("aria-expanded", String(!list.hidden));
}
function take(k) {
  if (matches[k] === undefined) return;
  const i = matches[k];
  $("search").value = "";
  find();
  select(i, true);
}
$("search").addEventListener("input", find);
$("search").addEventListener("blur", () => { $("matches").hidden = true; });
$("search").addEventListener("focus", find);
$("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") take(chosen);
  else if (event.key === "Escape") { $("search").value = ""; find(); $("search").blur(); }
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : matches.length - 1)) % Math.max(1, matches.length);
    [...$("matches").children].forEach((item, k) => item.setAttribute("aria-selected", String(k === chosen)));
    $("search").setAttribute("aria-activedescendant", "match" + chosen);
    event.preventDefault();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input")) return;
  event.preventDefault();
  $("search").focus();
});

// ---- the panel ----

const known = (triples, both) => {
  const map = new Map();
  for (const [i, j, p] of triples || []) { map.set(i + "," + j, p); if (both) map.set(j + "," + i, p); }
  return map;
};
const blankets = known(D.blankets, true), paths = known(D.paths, false);

function fillPanel() {
  const panel = $("panel");
  panel.replaceChildren();
  if (selected === null) return legend(panel);
  const i = selected, MOST = 40;
  panel.append(el("p", { class: "who" }, bdi(cut(D.names[i], 1000))));
  const list = (title, rows, empty) => {
    panel.append(el("h3", {}, title + (rows.length ? ` (${rows.length})` : "")));
    rows.sort((p, q) => (q[1] ?? 0) - (p[1] ?? 0) || p[0] - q[0]);
    if (!rows.length) panel.append(el("p", { class: "note" }, empty));
    panel.append(el("ul", {}, ...rows.slice(0, MOST).map(([j, p, weak]) =>
      el("li", { class: weak ? "weak" : null }, link(j, 40), el("span", {}, p === null ? "" : percent(p))))));
    if (rows.length > MOST) panel.append(el("p", { class: "note" }, `and ${rows.length - MOST} more`));
  };
  const towards = { into: [], out: [], near: [] };
  for (const pair of pairs) if (pair.on && (pair.a === i || pair.b === i)) {
    const other = pair.a === i ? pair.b : pair.a;
    towards[pair.arrow ? (pair.b === i ? "into" : "out") : "near"].push([other, pair.strength]);
  }
  list("Parents · P(adjacent)", towards.into, "none drawn");
  list("Children · P(adjacent)", towards.out, "none drawn");
  if (towards.near.length) list("Undirected · P(adjacent)", towards.near, "");
  const blanket = members(i, "blanket", kin), rows = [...blanket].map((j) => [j, blankets.get(i + "," + j) ?? null]);
  const others = D.names.map((_, j) => j).filter((j) => !blanket.has(j) && (blankets.get(i + "," + j) ?? 0) >= 0.1);
  list("Markov blanket · P(member)", rows, "empty in this drawing");
  if (others.length) list("Not in the blanket drawn, but P ≥ 10 %", others.map((j) => [j, blankets.get(i + "," + j), true]), "");
  const up = [...reached(i, kin.into)], down = [...reached(i, kin.out)];
  const path = (from, to) => D.paths ? paths.get(from + "," + to) ?? 0 : null;
  const heading = D.paths ? " · P(directed path)" : "";
  list("Ancestors" + heading, up.map((j) => [j, path(j, i)]), "none in this drawing");
  list("Descendants" + heading, down.map((j) => [j, path(i, j)]), "none in this drawing");
  if (!D.paths) panel.append(el("p", { class: "note" },
    "Path probabilities take long with this many variables: model.path_probabilities() computes them."));
}

function legend(panel) {
  const sample = (strength, kind) => {
    const g = svg("g", { class: "edge" + (kind === "hollow" || kind === "minus" ? " " + kind : "") }, svg("path", { d: "M2 9L" + (kind ? 44 : 52) + " 9" }),
      kind ? svg("path", { class: "head", d: head([53, 9], [0, 9], 11) }) : null);
    g.style.setProperty("--s", 0.8 + 1.9 * strength); g.style.setProperty("--o", 0.28 + 0.72 * strength); g.style.setProperty("--k", 1);
    return svg("svg", { viewBox: "0 0 54 18", "aria-hidden": "true" }, g);
  };
  panel.append(el("h3", {}, "Legend"), el("div", { class: "legend" },
    sample(1, "full"), el("span", {}, "P(direction) ≥ 90 %"),
    sample(1, "hollow"), el("span", {}, "P(direction) from 60 to 90 %"),
    sample(1, ""), el("span", {}, "undirected: neither direction has more than 60 %, or an arrow would close a cycle"),
    sample(0.05, ""), el("span", {}, "thin and faint: improbable edge"),
    sample(1, ""), el("span", {}, "thick and dark: probable edge"),
    ...(sized ? [sample(1, "minus"), el("span", {}, "dashed orange: negative coefficient")] : [])),
  el("h3", {}, "Controls"), el("p", {}, "Click a variable to see its Markov blanket, ancestors or descendants in the graph drawn, " +
    "with their probabilities over all graphs. " + (D.pictures.length ? "Click an edge to see its data. " : "") + "Drag variables or the background to move them."),
  el("p", {}, el("kbd", {}, "/"), " finds a variable. Click the drawing, then scroll to zoom; ", el("kbd", {}, "+"), " ", el("kbd", {}, "−"), " ",
    el("kbd", {}, "0"), " and the arrow keys work too. ", el("kbd", {}, "Esc"), " clears the selection."),
  el("p", { class: "note" }, "Parents are above children. Positions come from the graph at 50 %; less probable edges are curved."));
}

// ---- the table of edges ----

const columns = [
  ["From", (p) => D.names[p.a], 1], ["", null], ["To", (p) => D.names[p.b], 1], ["P(adjacent)", (p) => p.strength, -1],
  ["P(this direction | adjacent)", (p) => p.direction, -1],
  ...(D.missing ? [["Due to missing cells", (p) => p.gone, -1]] : []),
  ...(sized ? [["Coefficient (95 %)", (p) => Math.abs(p.size[0]), -1]] : []),
  ["In the best graph", (p) => [0, 3, 1, 2][p.best], -1],
  ...(pairs.some((p) => p.apart !== null) ? [["Chains differ by", (p) => p.apart, -1]] : []),
  ...(D.bagged ? [["P(adjacent), model alone", (p) => p.model, -1]] : []),
];
let sorting = { column: 3, way: -1 }, limit = 100;
$("table").tHead.append(el("tr", {}, ...columns.map(([title, key, first], c) => el("th", { scope: "col" },
  key ? el("button", { onclick: () => {
    sorting = { column: c, way: sorting.column === c ? -sorting.way : first };
    fillTable();
  } }, title) : null))));

function bar(p, way) {
  const fill = el("b");
  fill.style.width = 100 * p + "%";
  return el("div", { class: "bar" + (way ? " way" : "") }, el("i", {}, fill), el("span", {}, percent(p)));
}

const order = new Intl.Collator("en", { numeric: true });
const cuts = D.names.map((name) => name.slice(0, 200));
function fillTable() {
  const text = $("filter").value.trim().toLocaleLowerCase(), key = columns[sorting.column][1];
  const rows = pairs.filter((p) => (!$("only").checked || p.on) && (!text || folded[p.a].includes(text) || folded[p.b].includes(text)));
  const named = sorting.column === 0 || sorting.column === 2;
  rows.sort((p, q) => sorting.way * (named ? order.compare(sorting.column ? cuts[p.b] : cuts[p.a], sorting.column ? cuts[q.b] : cuts[q.a])
    : key(p) - key(q)) || q.strength - p.strength);
  [...$("table").tHead.rows[0].cells].forEach((cell, c) => {
    if (c === sorting.column) cell.setAttribute("aria-sort", sorting.way > 0 ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  });
  $("table").tBodies[0].replaceChildren(...rows.slice(0, limit).map((p) => el("tr", {
    class: (p.on ? "" : "undrawn ") + (pictureOf(p) ? "seen" : ""), onclick: (event) => { if (!event.target.closest("button") && pictureOf(p)) openPair(p); } },
    el("td", { class: "name" }, link(p.a)), el("td", { class: "sign" }, pictureOf(p) ? el("button", { class: "link", title: "Show the data of this edge",
      "aria-label": `Data of ${short(p.a)} and ${short(p.b)}`, onclick: () => openPair(p) }, p.sure ? "→" : "–") : p.sure ? "→" : "–"),
    el("td", { class: "name" }, link(p.b)), el("td", {}, bar(p.strength, false)), el("td", {}, bar(p.direction, true)),
    D.missing ? el("td", { title: "share of the uncertainty about this edge and its direction that is due to missing cells; an upper bound" }, p.gone ? percent(p.gone) : "0 %") : null,
    sized ? el("td", { class: "size", title: "standardised coefficient, averaged over graphs that have the edge" }, sizeOf(p)) : null,
    el("td", {}, bestWord(p)),
    columns.some(([title]) => title === "Chains differ by") ? el("td", { class: p.apart > 0.1 ? "wide" : null }, plain(p.apart)) : null,
    D.bagged ? el("td", {}, percent(p.model)) : null)));
  $("rows-shown").textContent = `${Math.min(limit, rows.length)} of ${many(rows.length, "row")}` +
    (ranked.length ? `. A click on a row shows the data of the edge` + (ranked.length < pairs.length ? `; ${ranked.length} edges have a picture.` : ".") : "");
  $("more").hidden = rows.length <= limit;
  $("more").textContent = `Show ${Math.min(500, rows.length - limit)} more`;
}
$("filter").addEventListener("input", fillTable);
$("only").addEventListener("change", fillTable);
$("more").addEventListener("click", () => { limit += 500; fillTable(); });

// ---- the best graphs ----

function mini(card, base) {
  const gone = new Map(card.differences.map(([a, b, kind]) => [Math.min(a, b) + "," + Math.max(a, b), kind]));
  const left = Math.min(...D.x.map((v, i) => v - 20)), right = Math.max(...D.x) + 20;
  const top = Math.min(...D.y) - 24, bottom = Math.max(...D.y) + 24;
  const wide = Math.max(right - left, 120), high = Math.max(bottom - top, 100), scale = Math.max(wide / 250, high / 180);
  const line = (a, b) => {
    const flat = bends.get(a + "," + b) || bends.get(b + "," + a), points = [];
    if (flat) for (let k = 0; k < flat.length; k += 2) points.push(round(flat[k]) + " " + round(flat[k + 1]));
    if (!bends.get(a + "," + b)) points.reverse();
    return "M" + [D.x[a] + " " + D.y[a], ...points, D.x[b] + " " + D.y[b]].join("L");
  };
  const arrow = (a, b) => {
    const flat = bends.get(a + "," + b), back = bends.get(b + "," + a);
    const from = flat ? flat.slice(-2) : back ? back.slice(0, 2) : [D.x[a], D.y[a]];
    const far = Math.hypot(D.x[b] - from[0], D.y[b] - from[1]) || 1, r = 4.2 * scale;
    const end = [D.x[b] - (D.x[b] - from[0]) / far * r, D.y[b] - (D.y[b] - from[1]) / far * r];
    return head(end, from, 6.5 * scale);
  };
  const same = base.filter(([a, b]) => !gone.has(Math.min(a, b) + "," + Math.max(a, b)));
  const small = d <= 60;
  const parts = [svg("path", { class: "mini", d: same.map(([a, b]) => line(a, b)).join("") || "M0 0" })];
  if (small) parts.push(svg("path", { class: "mini heads", d: same.filter((e) => e[2]).map(([a, b]) => arrow(a, b)).join("") || "M0 0" }));
  for (const [a, b, kind, directed] of card.differences) {
    parts.push(svg("path", { class: "mini " + kind, d: line(a, b) }));
    if (directed && kind !== "removed") parts.push(svg("path", { class: "mini heads " + kind, d: arrow(a, b) }));
  }
  D.x.forEach((v, i) => {
    const dot = svg("circle", { class: "dot", cx: v, cy: D.y[i], r: (small ? 3.4 : 1.1) * scale });
    if (small) dot.append(svg("title", {}, cut(D.names[i], 200)));
    parts.push(dot);
    if (d <= 14) parts.push(svg("text", { x: v, y: D.y[i] - 6 * scale, "font-size": 10.5 * scale, "stroke-width": 3 * scale }, cut(D.labels[i], 12)));
  });
  const cx = (left + right) / 2, cy = (top + bottom) / 2, w = 262 * scale, h = 192 * scale;
  return svg("svg", { viewBox: [cx - w / 2, cy - h / 2 - (d <= 14 ? 6 * scale : 0), w, h].map(round).join(" "), role: "img",
    "aria-label": "small drawing of this graph" }, ...parts);
}

function fillBest() {
  const [first] = D.best, signs = { added: "+", removed: "−", turned: "↻" };
  $("best-note").append(D.best.length > 1 ? "The equivalence classes of highest score that were found. Each is compared with the first: "
    : "The only equivalence class that was found. ");
  if (D.best.length > 1) for (const [kind, words] of [["added", "added"], ["removed", "removed"], ["turned", "different direction"]])
    $("best-note").append(el("span", { class: kind }, el("b", {}, signs[kind] + " " + words)), "  ");
  $("cards").append(...D.best.map((card, k) => el("article", { class: "card" },
    el("h3", {}, k ? "#" + (k + 1) : "#1 Best graph"),
    el("p", {}, plain(card.score), k ? el("span", { class: "note" }, "  " + plain(card.score - first.score)) : null),
    el("p", { class: "note" }, many(card.edges, "edge") + (card.probability === null ? ", not in the posterior" : ", probability " + percent(card.probability))),
    mini(card, first.graph),
    k ? el("p", { class: "note" }, card.n ? many(card.n, "difference") : "no difference") : el("p", { class: "note" }, "reference for the others"),
    el("ul", {}, ...card.differences.slice(0, 60).map(([a, b, kind, directed]) => el("li", { class: kind }, el("b", {}, signs[kind] + " "),
      bdi(short(a)), directed ? " → " : " – ", bdi(short(b)))),
    card.n > 60 ? el("li", { class: "note" }, `and ${card.n - 60} more`) : null))));
}

// ---- scores ----

function fillScores() {
  if (D.search.length > 1) $("search-trace").append(el("h3", {}, "Search for the best graph"), el("ol", { class: "steps" },
    ...D.search.map(([step, score], k) => {
      const gain = k ? score - D.search[k - 1][1] : 0;
      return el("li", {}, el("b", {}, step), plain(score), gain > 1e-6 ? el("span", { class: "gain" }, "+" + plain(gain)) : null);
    })));
  const S = D.scores, all = S.series.flatMap((one) => one.y);
  if (!all.length) return $("chart").append(el("p", { class: "note" }, "The scores of these graphs are not known."));
  const W = 1100, H = 300, L = 84, R = 16, T = 14, B = 44;
  let low = Math.min(...all, S.best), high = Math.max(...all, S.best);
  const room = (high - low || 1) * 0.06;
  low -= room; high += room;
  const last = Math.max(...S.series.map((one) => (one.y.length - 1) * one.step), 1);
  const px = (v) => L + (W - L - R) * v / last, py = (v) => T + (H - T - B) * (high - v) / (high - low);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "log scores" });
  const heights = ticks(low, high, 5), digits = heights.length > 1 && heights[1] - heights[0] < 1 ? 2 : 0;
  for (const v of heights) chart.append(svg("line", { class: "grid", x1: L, x2: W - R, y1: py(v), y2: py(v) }),
    svg("text", { x: L - 8, y: py(v) + 4, "text-anchor": "end" }, plain(v, digits)));
  for (const v of ticks(0, last, 8)) chart.append(svg("text", { x: px(v), y: H - B + 18, "text-anchor": "middle" }, (v + (S.kind === "chains" ? 0 : 1)).toLocaleString("en")));
  chart.append(svg("text", { x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle" }, S.across),
    svg("text", { x: 14, y: (T + H - B) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(T + H - B) / 2})` }, "log score"));
  S.series.forEach((one, c) => {
    if (S.kind === "chains") chart.append(svg("path", { class: "draws c" + (c % 6), style: "fill:none",
      d: "M" + one.y.map((v, k) => round(px(k * one.step)) + " " + round(py(v))).join("L") }));
    else one.y.forEach((v, k) => chart.append(svg("circle", { class: "c0", cx: round(px(k * one.step)), cy: round(py(v)), r: one.y.length > 150 ? 1.6 : 3 })));
  });
  chart.append(svg("line", { class: "best", x1: L, x2: W - R, y1: py(S.best), y2: py(S.best) }));
  const title = { chains: "Log scores of the draws. Chains that have converged look alike and show no trend.",
    members: "Log scores of the bootstrap graphs on the full data", classes: "Log scores of the equivalence classes, best first" }[S.kind];
  $("chart").append(el("h3", {}, title), chart, el("div", { class: "keys" },
    ...(S.kind === "chains" ? S.series.map((one, c) => key(one.name, ["blue", "orange", "green", "purple", "yellow", "soft"][c % 6])) : []),
    el("b", {}, "- - best graph " + plain(S.best))));
}
// ---- the tree ----

function fillTree() {
  const home = $("tree-view"), T = D.tree;
  const tests = T ? T.levels.map((level) => level.tests) : D.ci_tests;
  const longest = Math.max(1, ...(tests || [0]));
  const testBar = (n) => {
    const fill = el("b");
    fill.style.width = 100 * n / longest + "%";
    return el("div", { class: "bar" }, el("i", {}, fill), el("span", {}, n.toLocaleString("en")));
  };
  const chosen = () => {
    if (!D.thresholds.length) return;
    const best = D.thresholds.reduce((a, b) => (b[1] > a[1] ? b : a));
    home.append(el("h3", {}, `Threshold of the CI test: ${best[0]} nats, chosen by the score of the best graph on the training data`),
      el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...["Threshold in nats", "Log score below the best", "CI tests", ""].map((title) => el("th", { scope: "col" }, title)))),
        el("tbody", {}, ...D.thresholds.map(([threshold, score, n, cut]) => el("tr", {}, el("td", {}, String(threshold)),
          el("td", {}, (best[1] - score).toFixed(1)), el("td", {}, n.toLocaleString("en")),
          el("td", {}, threshold === best[0] ? "chosen" : cut ? "truncated by a limit" : "")))))));
  };
  if (!T) {
    if (!tests || !tests.length) return home.append(el("p", { class: "note" }, "This learner has no tree and reports no conditional-independence tests."));
    home.append(el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "Order (size of the conditioning set)"), el("th", {}, "CI tests"))),
      el("tbody", {}, ...tests.map((n, k) => el("tr", {}, el("td", {}, String(k)), el("td", {}, testBar(n))))))));
    chosen();
    return;
  }
  home.append(el("p", {}, `The tree has ${many(T.nodes, "node")}, ${T.leaves} of them leaves, with s = ${T.s} bootstrap samples per node. ` +
    `It holds ${T.routes} routes; each route is one graph. ` +
    (T.repaired ? `${many(T.repaired, "leaf graph")} had no DAG extension and ${T.repaired === 1 ? "was" : "were"} repaired. ` : "") +
    (T.truncated ? `Leaves truncated by a limit: ${T.truncated}.` : "")));
  const levels = T.levels.length, W = 1200, high = 30;
  const picture = svg("svg", { class: "icicle", viewBox: `0 0 ${W} ${levels * high}`, preserveAspectRatio: "none",
    style: `height:${levels * high}px`, role: "img", "aria-label": "groups of the tree, level by level" });
  const across = () => picture.getBoundingClientRect().width || W;
  const words = { node: "tested and split further", leaf: "resolved: a leaf", repaired: "leaf, repaired", cut: "leaf, truncated by a limit" };
  for (const [level, left, width, size, kind, times] of T.boxes) {
    const box = svg("rect", { class: kind === "node" ? "node-box" : kind, x: left * W, y: level * high, width: width * W, height: high });
    box.addEventListener("pointermove", (event) => tip(event, `order ${level}: group of ${many(size, "variable")}\n${words[kind]}` +
      (times > 1 ? `\nshared by ${times} bootstrap samples` : "")));
    box.addEventListener("pointerleave", hush);
    picture.append(box);
  }
  home.append(el("h3", {}, "Groups of variables, one row per order of the tests. A group with s different sub-trees has s parts."), picture,
    el("div", { class: "keys" }, key("tested and split further", "sky"), key("leaf", "mint"),
      T.repaired ? key("leaf, repaired", "peach") : null, T.truncated ? key("leaf, truncated", "yellow") : null),
    el("h3", {}, "Levels"));
  const label = () => {
    picture.querySelectorAll("text").forEach((text) => text.remove());
    const stretch = across() / W;
    for (const [level, left, width, size] of T.boxes) if (width * W * stretch > 26) {
      const text = svg("text", { transform: `translate(${(left + width / 2) * W} ${level * high + high / 2 + 4}) scale(${1 / stretch} 1)` }, String(size));
      picture.append(text);
    }
  };
  label();
  addEventListener("resize", label);
  const histogram = (bins) => {
    const most = Math.max(...bins.map((bin) => bin[1]));
    return el("span", { class: "columns", role: "img", "aria-label": bins.map(([low, n]) => `${n} of size ${low} or more`).join(", ") },
      ...bins.map(([low, n]) => {
        const column = el("i", { title: `${n} of ${low <= 2 ? low : low + " to " + (low - 1) * 2} variables` });
        column.style.height = 100 * n / most + "%";
        return column;
      }));
  };
  home.append(el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {},
    ...["Order", "Bootstrap nodes", "Leaves", "Group sizes", "smallest · median · largest", "CI tests"].map((title) => el("th", { scope: "col" }, title)))),
  el("tbody", {}, ...T.levels.map((level) => el("tr", {}, el("td", {}, String(level.order)), el("td", {}, level.nodes.toLocaleString("en")),
    el("td", {}, level.leaves.toLocaleString("en")), el("td", {}, histogram(level.histogram)), el("td", {}, level.sizes.join(" · ")),
    el("td", {}, testBar(level.tests))))))));
  chosen();
}

// ---- reliability; settings ----

function fillTrust() {
  const home = $("verdicts"), T = D.trust;
  if (T.numbers.length) home.append(el("div", { class: "verdicts" }, ...T.numbers.map((one) => el("div", { class: "verdict" + (one.ok ? "" : " bad") },
    el("p", {}, ...gloss(one.label)), el("p", { class: "value" }, one.value),
    el("p", {}, el("span", { class: "mark" }, one.ok ? "✓ good" : "⚠ look closer"), " (target: " + one.good + ")"), el("p", {}, one.meaning)))));
  home.append(el("p", { class: "text" }, ...gloss(T.meaning)),
    el("p", { class: "text" }, "P(adjacent) is the probability of an edge in either direction. P(this direction | adjacent) near 50 % " +
      "often means that the data cannot determine the direction: all DAGs of an equivalence class fit equally well."),
    el("p", { class: "text" }, "Probabilities are conditional on the given rows and columns. " +
      (D.bagged ? "" : "In tests against known graphs they were overconfident for doubtful edges. ") +
      "An arrow can be read as cause and effect only if no common cause of the variables is missing from the table."));
  if (T.beliefs.length) home.append(el("h3", {}, "Beliefs, before and after the data"), el("ul", { class: "text" },
    ...T.beliefs.map(([before, after]) => el("li", {}, bdi(before), " before the data, ", after === null ? "no edge" : percent(after), " after"))));
  if (T.warnings.length) {
    home.append(el("h3", {}, "Warnings"), el("ul", { class: "warnings" }, ...T.warnings.map((text) => el("li", {}, bdi(text)))));
    $("banner").className = "banner";
    $("banner").hidden = false;
    $("banner").append(el("p", {}, el("b", {}, many(T.warnings.length, "warning")), " (", el("a", { href: "#trust" }, "how reliable are these probabilities?"), ")"),
      el("ul", {}, ...T.warnings.map((text) => el("li", {}, bdi(text)))));
  } else home.append(el("p", { class: "text" }, "No warnings."));
  if (T.disputed.length) home.append(el("h3", {}, "Edges on which chains differ most"), el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ...["From", "", "To", "lowest probability in a chain", "highest probability in a chain"].map((t) => el("th", {}, t)))),
    el("tbody", {}, ...T.disputed.map(([a, b, low, high]) => el("tr", {}, el("td", { class: "name" }, link(a)), el("td", { class: "sign" }, "→"),
      el("td", { class: "name" }, link(b)), el("td", {}, percent(low)), el("td", {}, percent(high))))))));
}

function fillMade() {
  const home = $("settings");
  if (D.command) {
    const copy = el("button", { onclick: () => {
      const done = (text) => { copy.textContent = text; };
      if (navigator.clipboard) navigator.clipboard.writeText(D.command).then(() => done("Copied"), () => done("Select and copy by hand"));
      else done("Select and copy by hand");
    } }, "Copy");
    home.append(el("h3", {}, "Command"), el("pre", { id: "command" }, D.command), el("p", {}, copy));
  }
  home.append(el("h3", {}, "Settings"), el("dl", { class: "settings" }, ...D.settings.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
  $("footer").append(`Made by brai ${D.version}, ${D.made}. This file needs no network access and sends no data.` +
    (D.pictures.some((P) => P.type === "points") ? " Its pictures of two measurements show single rows of the table; pictures=0 leaves them out." : "") +
    (D.missing && D.missing.imputed.length ? " Its table of imputed cells names rows of the table; pictures=0 leaves it out." : ""));
}

$("title").append(bdi(cut(D.title, 400)));
$("facts").append(...D.facts.map(([name, value]) => el("div", {}, el("dt", {}, ...gloss(name)), el("dd", { title: cut(value, 400) }, bdi(cut(value, 200))))));
$("level").min = D.floor;
fillTrust(); fillColumns(); fillMissing(); fillBest(); fillScores(); fillTree(); fillMade();
redraw();
fit();
addEventListener("resize", fitShown);
canvas.dataset.ready = "yes";
