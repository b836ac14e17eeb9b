// ---- missing cells: how many, which together, what missingness depends on, and the least certain imputed cells ----

const SOME = 12; // rows of a list that are shown at first

function shortened(rows, make) { // a list with a button that shows all of it
  const list = el("ul", { class: "missing-list" }, ...rows.slice(0, SOME).map(make));
  if (rows.length <= SOME) return [list];
  const more = el("button", { onclick: () => { list.append(...rows.slice(SOME).map(make)); more.remove(); } }, `Show ${rows.length - SOME} more`);
  return [list, more];
}

const joined = (columns) => columns.slice(0, SOME).flatMap((i, k) => [k ? ", " : "", link(i, 40)])
  .concat(columns.length > SOME ? ` and ${columns.length - SOME} more` : "");

function missingBars(M) {
  const rows = [...M.shares].sort((p, q) => q[1] - p[1] || p[0] - q[0]), most = rows[0][1];
  return shortened(rows, ([i, n]) => {
    const fill = el("b");
    fill.style.width = 100 * n / most + "%";
    return el("li", { class: "missing-bar", title: `${n.toLocaleString("en")} of ${many(M.n_rows, "row")}` },
      link(i, 40), el("i", {}, fill), el("span", {}, percent(n / M.n_rows)));
  });
}

function missingTogether(M) {
  if (!M.blocks.length && !M.together.length) return [el("p", { class: "note" }, M.shares.length > 1 ? "No two columns are missing together more or less often than by chance." : "Only one column has missing cells.")];
  const gone = new Map(M.shares);
  return [el("ul", { class: "missing-list" },
    ...M.blocks.map((own) => el("li", {}, ...joined(own), `: always together, in ${many(gone.get(own[0]), "row")}`)),
    ...M.together.map(([a, b, phi, both]) => el("li", {}, link(a, 40), " and ", link(b, 40),
      phi > 0 ? `: together in ${many(both, "row")}` : `: rarely together, in ${many(both, "row")}`, ...gloss(` (phi coefficient ${signed(phi)})`))))];
}

function missingDepends(M) {
  const found = [...M.depends].sort((p, q) => p[3] - q[3]);
  const made = found.length ? shortened(found, ([, , words, p]) => el("li", {}, bdi(words), el("span", { class: "p" }, p < 1e-4 ? "p < 0.0001" : `p = ${p}`))) : [];
  if (M.alone.length) made.push(el("p", { class: "note" }, "No association with the values of another column was found for ", ...joined(M.alone), "."));
  made.push(el("p", { class: "note" }, "The strongest association of each column. P-values are corrected for the number of pairs of columns."));
  return made;
}

function imputedTable(M) {
  const rows = M.imputed.map(([row, i, value, p, rest]) => el("tr", {}, el("td", {}, row.toLocaleString("en")), el("td", { class: "name" }, link(i, 40)),
    el("td", {}, bdi(value)), el("td", {}, p === null ? "" : percent(p)), el("td", {}, bdi(rest))));
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...["Row", "Column", "Most probable, or mean", "Probability", "Otherwise"].map((t) => el("th", { scope: "col" }, t)))),
    el("tbody", {}, ...rows)));
}

function fillMissing() {
  const M = D.missing, home = $("missing-view");
  if (!M) { $("missing").hidden = true; document.querySelector("nav [href='#missing']").hidden = true; return; }
  home.append(el("p", { class: "text" }, `${M.cells.toLocaleString("en")} of ${many(M.of, "cell")} are missing (${percent(M.cells / M.of)}), in ` +
    `${M.rows.toLocaleString("en")} of ${many(M.n_rows, "row")} and ${M.shares.length} of ${many(d, "column")}.` +
    (M.tables ? ` They were imputed in ${many(M.tables, "completed table")}.` : "")),
  el("p", { class: "text" }, M.assumed),
  el("div", { class: "missing-parts" },
    el("div", {}, el("h3", {}, "Share of cells missing"), ...missingBars(M)),
    el("div", {}, el("h3", {}, "Columns that are missing together"), ...missingTogether(M)),
    el("div", {}, el("h3", {}, "What missingness depends on"), ...missingDepends(M))));
  if (M.imputed.length) home.append(el("h3", {}, `The ${M.imputed.length} least certain imputed cells; model.impute() has all`), imputedTable(M));
}
