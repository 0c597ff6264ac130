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

/** Draw a chart with named data, or give a drawn one new rows. */
export async function draw(element, spec, data) {
  const before = drawn.get(element);
  const key = JSON.stringify(spec);
  if (before && before.key === key) {
    for (const [name, rows] of Object.entries(data)) before.view.data(name, rows);
    await before.view.runAsync();
    return;
  }
  const embed = await vega();
  if (before) before.finalize();
  const complete = structuredClone(spec);
  complete.datasets = data;
  const config = structuredClone(window.equirankChartSettings);
  const made = await embed(element, complete, { renderer: "svg", actions: false, ast: true, mode: "vega-lite", config });
  drawn.set(element, { key, view: made.view, finalize: () => made.finalize() });
}
