// ---- the columns: kind, distribution, and how each one was taken ----

const FEW = 40; // columns up to which all are shown at once
const KINDS = { category: ["category", "categories"], ordered: ["ordered", "ordered"], measurement: ["measurement", "measurements"] };

function stateBars(C) { // a bar for each state
  const all = C.counts.reduce((sum, n) => sum + n, 0), most = Math.max(...C.counts);
  return el("ul", { class: "states" }, ...C.labels.map((label, k) => {
    const fill = el("b");
    fill.style.width = 100 * C.counts[k] / most + "%";
    return el("li", { title: many(C.counts[k], "row") }, bdi(label), el("i", {}, fill), el("span", {}, percent(C.counts[k] / all)));
  }));
}

function histogram(C) {
  const W = 240, H = 84, most = Math.max(...C.bins), wide = W / C.bins.length, [low, high] = C.edges;
  const step = (high - low) / C.bins.length, at = (k) => unit(Number((low + k * step).toPrecision(4)));
  const chart = svg("svg", { class: "histogram", viewBox: `0 0 ${W} ${H}`, role: "img",
    "aria-label": `histogram from ${unit(low)} to ${unit(high)}`, preserveAspectRatio: "none" });
  C.bins.forEach((n, k) => {
    const high = n ? Math.max(1.5, (H - 2) * n / most) : 0;
    chart.append(svg("rect", { x: round(k * wide + 0.5), y: round(H - high), width: round(wide - 1), height: round(high) },
      svg("title", {}, `${at(k)} to ${at(k + 1)}: ${many(n, "row")}`)));
  });
  return el("div", {}, chart, el("p", { class: "ends" }, el("span", {}, unit(low)), el("span", {}, unit(high))));
}

function columnCard(i) {
  const C = D.columns[i], words = [];
  if (C.kind === "measurement") {
    words.push(C.constant ? `Always ${unit(C.low)}.` : `${unit(C.low)} to ${unit(C.high)}, mean ${unit(C.mean)}, standard deviation ${unit(C.sd)}.`);
  } else {
    words.push(many(C.states, "state") + (C.unused ? `, ${C.unused} of them never occur.` : "."));
    if (C.together) words.push(`${C.together} states are drawn together.`);
  }
  if (C.note) words.push(C.note);
  if (C.sees && !C.constant) words.push(`The learner sees ${C.sees}.`);
  const missing = C.missing ? `${percent(C.missing)} of the cells are missing` : null;
  return el("article", { class: "card column", "data-column": i },
    el("h3", {}, link(i, 60), el("span", { class: "kind " + C.kind }, KINDS[C.kind][0])),
    C.constant ? el("p", { class: "still" }, "constant: no evidence about its edges") : null,
    C.kind !== "measurement" ? stateBars(C) : C.bins && !C.constant ? histogram(C) : null,
    missing ? el("p", { class: "missing" }, missing) : null,
    el("p", { class: "note" }, words.join(" ")));
}

function fillColumns() {
  const home = $("column-cards"), n = D.columns.length;
  if (!n) { $("columns").hidden = true; document.querySelector("nav [href='#columns']").hidden = true; return; }
  const numbers = Object.keys(KINDS).map((kind) => [kind, D.columns.filter((C) => C.kind === kind).length]).filter(([, m]) => m);
  const still = D.columns.filter((C) => C.constant).length;
  $("columns-note").textContent = numbers.map(([kind, m]) => `${m} ${KINDS[kind][m > 1 ? 1 : 0]}`).join(", ") +
    (still ? `; ${still} constant` : "") + (n < d ? `. The first ${n} of ${d} columns are described` : "") +
    ". kinds={column: kind}, or --kind COLUMN=KIND, changes how a column is taken." +
    (D.columns.every((C) => C.kind === "category") ? " Without measurements all columns are taken as categories: an order of states is not used." : "");
  const draw = () => {
    const text = $("column-filter").value.trim().toLocaleLowerCase();
    const rows = D.columns.map((_, i) => i).filter((i) => !text || folded[i].includes(text));
    home.replaceChildren(...rows.slice(0, shown).map(columnCard));
    $("more-columns").hidden = rows.length <= shown;
    $("more-columns").textContent = `Show ${Math.min(FEW, rows.length - shown)} more of ${rows.length}`;
  };
  let shown = n <= FEW ? n : 0;
  if (n <= FEW) { $("column-tools").hidden = true; draw(); return; }
  $("column-filter").addEventListener("input", () => { shown = Math.max(shown, FEW); draw(); });
  $("more-columns").addEventListener("click", () => { shown += FEW; draw(); });
  draw();
}
