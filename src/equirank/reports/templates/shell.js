"use strict";
// What every page does; the page's own script follows, and then page.ready().
const page = (function () {
  const result = JSON.parse(document.getElementById("result").textContent);
  // Texts that repeat are kept once: codes point into labels. Here they become plain columns again.
  Object.values(result.tables).forEach((columns) =>
    Object.values(columns).forEach((column) => {
      if (!column.codes) return;
      column.values = column.codes.map((code) => column.labels[code]);
      delete column.codes;
      delete column.labels;
    }),
  );
  const drawings = JSON.parse(document.getElementById("drawings").textContent);
  const root = document.documentElement;
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const make = (tag, text) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const beforePrint = [];
  root.classList.add("js");

  /* ---- theme ---- */
  const themeButton = document.getElementById("theme");
  const darkSystem = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : darkSystem.matches);
  const showTheme = () => {
    themeButton.textContent = isDark() ? "Light" : "Dark";
    themeButton.setAttribute("aria-label", isDark() ? "Light theme" : "Dark theme");
  };
  themeButton.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    showTheme();
  });
  darkSystem.addEventListener("change", showTheme);
  showTheme();
  document.getElementById("print").addEventListener("click", () => window.print());

  /* ---- where the reader is ---- */
  const spy = new IntersectionObserver(
    (entries) => entries.forEach((entry) => entry.target.toggleAttribute("data-seen", entry.isIntersecting)) || mark(),
    { rootMargin: "-60px 0px -60% 0px" },
  );
  function spyAll() {
    spy.disconnect();
    all("section.card").forEach((section) => {
      section.removeAttribute("data-seen");
      spy.observe(section);
    });
  }
  function mark() {
    const seen = all("section[data-seen]").find((section) => section.offsetParent);
    const id = seen && seen.getAttribute("aria-labelledby");
    all("nav a").forEach((link) => {
      if (link.getAttribute("href") === "#" + id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  }

  /* ---- charts ---- */
  const plots = all(".plot");
  const width = () => {
    const card = document.querySelector(".card");
    const style = getComputedStyle(card);
    return card.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  };
  let drawnAt = width();
  // On paper charts are in two columns, in smaller type; on screen a chart beside text has the width of its column.
  const PAPER = 440;
  let printing = false;
  const room = (plot) => (printing ? PAPER : (plot.closest(".beside") && plot.clientWidth) || drawnAt);
  function sized(plot) {
    const key = plot.dataset.chart;
    const wide = room(plot);
    const spec = structuredClone((wide < 480 && drawings.charts[key + "@narrow"]) || drawings.charts[key]);
    if (spec.facet && spec.facet.row) {
      spec.spec.width = Math.max(110, Math.min(560, wide - 210));
    } else if (spec.facet) {
      spec.columns = wide >= 640 ? 3 : wide >= 420 ? 2 : 1;
      spec.spec.width = Math.max(110, Math.floor((wide - 30) / spec.columns) - 34);
    } else {
      spec.width = wide;
      if (key.startsWith("pairs")) {
        const values = (spec.data || spec.layer[0].data).values;
        const across = new Set(values.map((row) => row.other)).size;
        spec.width = printing ? wide : Math.max(Math.min(wide, 620), 46 * across + 150);
      }
      spec.autosize = { type: "fit-x", contains: "padding" };
    }
    const flat = spec.spec || spec;
    if (printing) flat.height = Math.min(flat.height, spec.facet ? 80 : 170);
    return spec;
  }
  function draw(plot) {
    if (plot.dataset.drawn) return Promise.resolve();
    plot.dataset.drawn = "1";
    const config = structuredClone(drawings.config);
    if (room(plot) < 480) config.legend.columns = 1;
    if (drawnAt < 480 && !printing) config.axis.labelLimit = 88;
    // With the syntax tree, Vega interprets expressions, so that no policy must allow eval.
    const options = { renderer: "svg", actions: false, ast: true, config, mode: "vega-lite" };
    plot.classList.toggle("wide", plot.dataset.chart.startsWith("pairs"));
    // A chart that fails must not keep the others from being drawn.
    return new Promise((resolve) => resolve(vegaEmbed(plot, sized(plot), options))).then(
      (made) => {
        plot.made = made;
      },
      (error) => {
        console.error(plot.dataset.chart, error);
        plot.replaceChildren(make("p", "This chart could not be drawn. Its numbers are in the tables."));
      },
    );
  }
  const near = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "600px 0px" },
  );
  const idle = (work) =>
    window.requestIdleCallback ? window.requestIdleCallback(work, { timeout: 500 }) : setTimeout(work, 30);
  function drawNext() {
    const next = plots.find((plot) => !plot.dataset.drawn);
    if (next) draw(next).then(() => idle(drawNext));
    else root.dataset.drawn = "all";
  }
  // The script of the charts follows this one, so that search and tabs do not wait for it.
  window.addEventListener("load", () => {
    plots.forEach((plot) => near.observe(plot));
    idle(drawNext);
  });
  /* ---- folded parts ---- */
  const folds = all("details");
  window.addEventListener("hashchange", () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let box = target && target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    if (target) target.scrollIntoView();
  });
  window.addEventListener("beforeprint", () => {
    folds.forEach((fold) => (fold.open = true));
    beforePrint.forEach((work) => work());
    printing = true;
    redraw();
    plots.forEach(draw);
    printing = false;
  });
  window.addEventListener("afterprint", () => {
    redraw();
    idle(drawNext);
  });
  function redraw() {
    plots.forEach((plot) => {
      if (plot.made) plot.made.finalize();
      delete plot.made;
      delete plot.dataset.drawn;
      near.unobserve(plot);
      near.observe(plot);
    });
  }
  let waiting;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (Math.abs(width() - drawnAt) < 8 || window.matchMedia("print").matches) return;
      drawnAt = width();
      redraw();
      idle(drawNext);
    }, 150);
  });

  /* ---- tables as columns and rows ---- */
  function rowsOf(name) {
    const columns = result.tables[name];
    const names = Object.keys(columns);
    // Infinite numbers are stored as words, since JSON has none.
    const value = (column, i) => (column.type === "number" && column.values[i] !== null ? Number(column.values[i]) : column.values[i]);
    const length = names.length ? columns[names[0]].values.length : 0;
    return { names, rows: Array.from({ length }, (_, i) => names.map((key) => value(columns[key], i))) };
  }

  /* ---- downloads ---- */
  const guarded = (text) => (/^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/.test(text) ? "'" + text : text);
  function cell(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    const text = guarded(typeof value === "string" ? value : JSON.stringify(value));
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  }
  function csv(name) {
    const { names, rows } = rowsOf(name);
    return [names, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
  }
  function save(text, file, type) {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = file;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  all("[data-csv]").forEach((button) =>
    button.addEventListener("click", () => save(csv(button.dataset.csv), button.dataset.csv + ".csv", "text/csv;charset=utf-8")),
  );
  all("[data-json]").forEach((button) =>
    button.addEventListener("click", () => save(JSON.stringify(result, null, 1), button.dataset.json, "application/json")),
  );

  function ready() {
    spyAll();
    root.dataset.ready = String(Math.round(performance.now()));
  }
  return { all, make, rowsOf, spyAll, beforePrint, ready };
})();
