// Charts: Vega is loaded when the first one is drawn, and interprets expressions without eval.
let loading = null;

function vega() {
  loading ||= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/assets/vega.js";
    script.onload = () => resolve(window.vegaEmbed);
    script.onerror = () => reject(new Error("the charts could not be loaded"));
    document.head.append(script);
  });
  return loading;
}

const drawn = new WeakMap();

/** Draw a chart with named data, or give a drawn one the rows that are new. */
export async function draw(element, spec, data) {
  const before = drawn.get(element);
  const key = JSON.stringify(spec);
  if (before && before.key === key) {
    const fresh = Object.entries(data).filter(([name, rows]) => before.data[name] !== rows);
    for (const [name, rows] of fresh) before.view.data(name, rows);
    before.data = data;
    if (fresh.length) await before.view.runAsync();
    return;
  }
  const embed = await vega();
  if (before) before.finalize();
  const complete = structuredClone(spec);
  complete.datasets = data;
  const config = structuredClone(window.equirankChartSettings);
  const made = await embed(element, complete, { renderer: "svg", actions: false, ast: true, mode: "vega-lite", config });
  drawn.set(element, { key, data, view: made.view, finalize: () => made.finalize() });
}
