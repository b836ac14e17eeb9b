// ---- the data behind an edge, in a dialog ----

const drawn = new Map(D.pictures.map((P) => [P.a + "," + P.b, P])); // pictures by pair
const pictureOf = (pair) => drawn.get(pair.a + "," + pair.b);
const LETTER = 6.6; // pixels of a letter at 12px
let opened = null, partial = false; // the pair in the dialog; whether other parents are taken into account

const share = (n, all) => all ? (100 * n / all).toFixed(all > 999 || n === all || !n ? (n === all || !n ? 0 : 1) : 0) + " %" : "–";
const sign = (v) => (v > 0 ? "+" : "") + unit(Number(v.toPrecision(3)));
const write = (x, y, text, more) => svg("text", { x: round(x), y: round(y), ...more }, text);
const line = (x1, y1, x2, y2, kind) => svg("line", { class: kind, x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2) });
const frame = (W, H, label) => svg("svg", { class: "picture", viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: "img", "aria-label": label });
const fits = (text, room) => text.length * LETTER <= room ? text : text.slice(0, Math.max(1, Math.floor(room / LETTER) - 1)) + "…";
const margin = (rows, W) => Math.min(0.34 * W, 20 + LETTER * Math.max(8, ...rows.map((row) => row.length)));

function rowLabels(chart, rows, counts, left, top, high) {
  rows.forEach((label, k) => {
    const y = top + (k + 0.5) * high;
    chart.append(svg("g", {}, write(left - 10, y - 2, fits(label, left - 14), { class: "ink", "text-anchor": "end" }),
      write(left - 10, y + 13, "n = " + counts[k].toLocaleString("en"), { "text-anchor": "end" }), svg("title", {}, label)));
  });
}

function table(head, rows) {
  return el("details", {}, el("summary", {}, "Numbers"), el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ...head.map((title, c) => el("th", { scope: "col", class: c ? "num" : null }, bdi(title))))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell, c) => el("td", { class: c ? "num" : null }, bdi(cell)))))))));
}

// how often each state of one column occurs in each state of the other: one bar a row
function drawBars(P, W) {
  const high = 42, top = 4, left = margin(P.rows, W), right = 8, H = top + high * P.rows.length + 26;
  const sums = P.counts.map((row) => row.reduce((sum, n) => sum + n, 0)), chart = frame(W, H, P.title);
  const across = (v) => left + (W - left - right) * v;
  const kind = (c) => P.ramp ? `part step${Math.round(6 * c / Math.max(1, P.parts.length - 1))}` : `part part${c}`;
  for (const v of [0, 0.25, 0.5, 0.75, 1]) chart.append(line(across(v), top, across(v), H - 22, "grid"),
    write(across(v), H - 6, 100 * v + " %", { "text-anchor": v === 1 ? "end" : "middle" }));
  rowLabels(chart, P.rows, sums, left, top, high);
  P.counts.forEach((row, k) => {
    let before = 0;
    row.forEach((n, c) => {
      const from = across(before / sums[k]), to = across((before + n) / sums[k]);
      before += n;
      if (!n) return;
      chart.append(svg("rect", { class: kind(c), x: round(from), y: round(top + k * high + 7), width: round(to - from), height: high - 14 },
        svg("title", {}, `${P.parts[c]}: ${n.toLocaleString("en")} of ${sums[k].toLocaleString("en")} rows, ${share(n, sums[k])}`)));
      if (to - from > 42) chart.append(write((from + to) / 2, top + (k + 0.5) * high + 4, share(n, sums[k]),
        { class: "inside on-" + kind(c).split(" ")[1], "text-anchor": "middle" }));
    });
  });
  const of = short(P.of), to = short(P.to);
  return [
    el("p", { class: "what" }, `Each bar is a state of `, bdi(of), `; its parts show how often each state of `, bdi(to), ` occurs there.`),
    el("div", { class: "keys" }, el("b", {}, bdi(to)), ...P.parts.map((label, c) => el("span", { class: "swatch " + kind(c) }, bdi(label)))),
    chart,
    ...P.together.map((n, side) => n ? el("p", { class: "note" }, `${n} states of ${side ? to : of} are drawn together.`) : null),
    table([of, ...P.parts, "rows"], P.rows.map((label, k) => [label,
      ...P.counts[k].map((n) => `${n.toLocaleString("en")} (${share(n, sums[k])})`), sums[k].toLocaleString("en")])),
  ];
}

// a measurement in each state of another column: one box a row
function drawBoxes(P, W) {
  const high = 44, top = 6, left = margin(P.rows, W), right = 18, H = top + high * P.rows.length + 46;
  let low = Math.min(...P.boxes.map((box) => box[0])), most = Math.max(...P.boxes.map((box) => box[4]));
  const room = (most - low || 1) * 0.04;
  low -= room; most += room;
  const across = (v) => left + (W - left - right) * (v - low) / (most - low), chart = frame(W, H, P.title), floor = H - 42;
  const placed = marks(low, most, P.ticks, Math.max(5, W / 90)).filter(([v]) => v >= low && v <= most).map(([v, text]) => [across(v), text]);
  for (const [x, text] of spaced(placed, (p, q) => (p.length + q.length) / 2 * LETTER + 10))
    chart.append(line(x, top, x, floor, "grid"), write(x, floor + 16, text, { "text-anchor": "middle" }));
  const label = short(P.to) + (P.ticks ? ", spaced by normal scores" : "");
  chart.append(write((left + W - right) / 2, H - 6, fits(label, W - left), { "text-anchor": "middle" }));
  rowLabels(chart, P.rows, P.boxes.map((box) => box[5]), left, top, high);
  P.boxes.forEach(([least, q1, median, q3, largest, n, beyond], k) => {
    const y = top + (k + 0.5) * high, u = P.units[k].map(unit);
    chart.append(svg("g", { class: "box" },
      svg("title", {}, `${P.rows[k]}: median ${u[2]}, quartiles ${u[1]} and ${u[3]}, whiskers from ${u[0]} to ${u[4]}; ${many(n, "row")}, ${beyond} outside the whiskers`),
      line(across(least), y, across(largest), y, "whisker"), line(across(least), y - 6, across(least), y + 6, "whisker"),
      line(across(largest), y - 6, across(largest), y + 6, "whisker"),
      svg("rect", { x: round(across(q1)), y: round(y - 12), width: round(Math.max(1, across(q3) - across(q1))), height: 24 }),
      line(across(median), y - 12, across(median), y + 12, "median")));
  });
  return [
    el("p", { class: "what" }, bdi(short(P.to)), " in each state of ", bdi(short(P.of)), ": median, quartiles, and whiskers to the outermost values " +
      "within 1.5 times the distance of the quartiles. Values beyond the whiskers are only counted."),
    chart,
    P.together ? el("p", { class: "note" }, `${P.together} states of ${short(P.of)} are drawn together.`) : null,
    table([short(P.of), "rows", "lower whisker", "quartile", "median", "quartile", "upper whisker", "beyond whiskers"],
      P.rows.map((row, k) => [row, P.boxes[k][5].toLocaleString("en"), ...P.units[k].map(unit), P.boxes[k][6].toLocaleString("en")])),
  ];
}

// the part of a straight line between two heights, as the shares of its length at which it begins and ends
function within(from, to, low, high) {
  if (from === to) return from >= low && from <= high ? [0, 1] : null;
  const one = (low - from) / (to - from), other = (high - from) / (to - from);
  const begin = Math.max(0, Math.min(one, other)), end = Math.min(1, Math.max(one, other));
  return begin < end ? [begin, end] : null;
}

// two measurements as points, with the regression line
function drawPoints(P, W) {
  const view = P.views[partial && P.views.length > 1 ? 1 : 0], H = Math.round(Math.min(430, 0.78 * W + 60));
  const placedY = marks(view.y.low, view.y.high, view.y.ticks, 6).filter(([v]) => v >= view.y.low && v <= view.y.high);
  const left = 34 + LETTER * Math.max(2, ...placedY.map(([, text]) => text.length)), right = 14, top = 10, floor = H - 48;
  const inside = 7, chart = frame(W, H, P.title);
  const across = (share) => left + inside + (W - left - right - 2 * inside) * share;
  const down = (share) => floor - inside - (floor - top - 2 * inside) * share;
  const part = (axis, v) => (v - axis.low) / (axis.high - axis.low);
  const placedX = marks(view.x.low, view.x.high, view.x.ticks, Math.max(5, W / 90)).filter(([v]) => v >= view.x.low && v <= view.x.high);
  for (const [x, text] of spaced(placedX.map(([v, text]) => [across(part(view.x, v)), text]), (p, q) => (p.length + q.length) / 2 * LETTER + 10))
    chart.append(line(x, top, x, floor, "grid"), write(x, floor + 16, text, { "text-anchor": "middle" }));
  for (const [y, text] of spaced(placedY.map(([v, text]) => [down(part(view.y, v)), text]), () => 15))
    chart.append(line(left, y, W - right, y, "grid"), write(left - 6, y + 4, text, { "text-anchor": "end" }));
  const middle = (top + floor) / 2;
  chart.append(write((left + W - right) / 2, H - 8, fits(view.x.label, W - left), { "text-anchor": "middle" }),
    write(13, middle, fits(view.y.label, floor - top), { "text-anchor": "middle", transform: `rotate(-90 13 ${round(middle)})` }));
  view.x.steps.forEach((step, k) => chart.append(svg("circle", { class: "point", r: view.x.steps.length > 200 ? 2.4 : 3.2,
    cx: round(across(step / 1000)), cy: round(down(view.y.steps[k] / 1000)) })));
  const [from, to] = view.line.map((v) => part(view.y, v)), ends = within(from, to, -0.02, 1.02);
  if (ends) chart.append(line(across(ends[0]), down(from + ends[0] * (to - from)), across(ends[1]), down(from + ends[1] * (to - from)), "fit"));
  const scored = view.x.ticks || view.y.ticks || /normal score/.test(view.x.label + view.y.label);
  const given = P.given.map(short).join(", ");
  const said = partial && P.views.length > 1
    ? ["What is left of ", bdi(short(P.x)), " and ", bdi(short(P.y)), " after a regression on ", bdi(given), ": the other ",
      P.given.length > 1 ? "parents" : "parent", " of ", bdi(short(P.y)), " in the best graph."]
    : ["Each point is a row of the table."];
  return [
    P.views.length > 1 ? el("fieldset", { class: "choice", id: "given" }, el("legend", {}, "Show"), ...["as measured", P.given.length > 1 ? "given the other parents" : "given the other parent"].map((text, k) =>
      el("label", {}, el("input", { type: "radio", name: "given", value: k, checked: Number(partial) === k, onchange: () => { partial = k === 1; drawPicture(); } }), el("span", {}, text))))
      : null,
    el("p", { class: "what" }, ...said),
    chart,
    el("p", { class: "note" }, `Line: regression on all ${many(view.n, "row")}. ` + (scored ? `Its slope is ${sign(view.slope)}, with normal scores as units` :
      `The mean of ${short(P.y)} changes by ${sign(view.slope)} with each unit of ${short(P.x)}`) + `; the correlation is ${plain(view.correlation)}. ` +
      (view.x.steps.length < view.n ? `${view.x.steps.length} of ${view.n.toLocaleString("en")} rows are drawn, chosen at random with a fixed seed.` : "All rows are drawn.") +
      (P.views.length < 2 ? ` Only this view: ${P.why}.` : "")),
  ];
}

const DRAW = { bars: drawBars, boxes: drawBoxes, points: drawPoints };

function drawPicture() {
  const pair = opened, P = pictureOf(pair), W = Math.max(250, Math.min(760, $("pair-picture").clientWidth));
  const missing = P && P.without ? el("p", { class: "note" }, `${many(P.without, "row")} in which one of the two is missing ${P.without === 1 ? "is" : "are"} left out.`) : null;
  $("pair-picture").replaceChildren(...(P ? [...DRAW[P.type](P, W), missing] : [el("p", { class: "note" }, D.pictures.length
    ? `This page holds pictures of ${D.pictures.length} edges, the most probable ones. brai.plots.edge(model, a, b) draws others.`
    : "This page holds no pictures. brai.plots.edge(model, a, b) draws them.")]).filter(Boolean));
}

function openPair(pair) {
  opened = pair;
  const P = pictureOf(pair), a = short(pair.a), b = short(pair.b);
  $("pair-h").replaceChildren(bdi(P ? P.title : `${a} – ${b}`));
  const facts = [["P(adjacent)", percent(pair.strength)], [`P(${a} → ${b})`, percent(pair.strength * pair.direction)],
    [`P(${b} → ${a})`, percent(pair.strength * (1 - pair.direction))], ["In the best graph", bestWord(pair)]];
  if (pair.size[0] !== null) facts.push(["Standardised coefficient (95 % interval)", sizeOf(pair)]);
  $("pair-facts").replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, bdi(name)), el("dd", {}, value))));
  const place = ranked.indexOf(pair);
  $("pair-before").disabled = place < 1;
  $("pair-after").disabled = place < 0 || place === ranked.length - 1;
  hush();
  if (!$("pair").open) $("pair").showModal();
  $("pair").dataset.pair = `${pair.a},${pair.b}`;
  $("pair").scrollTop = 0;
  drawPicture();
}

function step(by) {
  const next = ranked[ranked.indexOf(opened) + by];
  if (opened && next) openPair(next);
}
$("pair-before").addEventListener("click", () => step(-1));
$("pair-after").addEventListener("click", () => step(1));
$("pair-close").addEventListener("click", () => $("pair").close());
$("pair").addEventListener("click", (event) => { if (event.target === $("pair")) $("pair").close(); }); // on the backdrop
$("pair").addEventListener("close", () => { opened = null; });
$("pair").addEventListener("keydown", (event) => {
  if (event.target.tagName !== "INPUT" && (event.key === "ArrowLeft" || event.key === "ArrowRight")) step(event.key === "ArrowLeft" ? -1 : 1);
});
addEventListener("resize", () => { if (opened) drawPicture(); });
