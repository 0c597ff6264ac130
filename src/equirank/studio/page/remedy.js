// The screen Remedy: settings on the left, what they change on the right, following the hand.
import { call, stream } from "./api.js";
import { draw } from "./charts.js";
import { busy, clear, paint } from "./paint.js";

// Most rows for which every move of a slider is tried at once.
const FOLLOWED = 50000;
// A slider that rests so long (ms) is stored; a key held down is then one entry of undo.
const REST = 250;

const TRADEOFF = (axes) => ({
  description: `Trade-off: ${axes[0]} against ${axes[1]}, one point per setting; the table below has its numbers.`,
  width: "container",
  height: 190,
  layer: [
    { data: { name: "points" }, mark: { type: "line", strokeWidth: 1.5, opacity: 0.6 }, encoding: { order: { field: "at", type: "ordinal" } } },
    { data: { name: "points" }, mark: { type: "point", size: 40, filled: false }, encoding: { tooltip: [{ field: "text", title: "Setting" }] } },
    { data: { name: "now" }, mark: { type: "point", size: 130, filled: true, color: "#d55e00" } },
    { data: { name: "now" }, mark: { type: "text", dy: -14 }, encoding: { text: { field: "text" } } },
  ],
  encoding: {
    x: { field: "share", type: "quantitative", axis: { title: axes[0], format: "%", tickCount: 5 }, scale: { zero: false, padding: 8 } },
    y: { field: "cost", type: "quantitative", axis: { title: axes[1], tickCount: 4 }, scale: { zero: false, padding: 16 } },
  },
});

const FOUND = (axes) => ({
  description: `Remedies: ${axes[0]} against ${axes[1]}, with other marks for those that do not use groups; the tables below have the numbers.`,
  width: "container",
  height: 240,
  data: { name: "points" },
  layer: [
    {
      mark: { type: "point", size: 90, filled: true },
      encoding: {
        shape: { field: "kind", type: "nominal", title: null, legend: { orient: "top" } },
        color: { field: "kind", type: "nominal", title: null, legend: { orient: "top" } },
        tooltip: [{ field: "name", title: "Remedy" }],
      },
    },
    { transform: [{ filter: "datum.label === 'as given'" }], mark: { type: "text", dy: -12 }, encoding: { text: { field: "label" } } },
  ],
  encoding: {
    x: { field: "x", type: "quantitative", axis: { title: axes[0].split(", "), tickCount: 5 }, scale: { zero: false, padding: 40 } },
    y: { field: "y", type: "quantitative", axis: { title: axes[1], tickCount: 5 }, scale: { zero: false, padding: 18 } },
  },
});

// A path is a key of the setting, or that key, a dot and a group, whose name may contain dots.
function withValue(remedy, path, value) {
  const made = structuredClone(remedy || {});
  const [key, ...rest] = path.split(".");
  made[key] = rest.length ? { ...made[key], [rest.join(".")]: value } : value;
  return made;
}

export function startRemedy(app) {
  const said = document.getElementById("announced");
  const form = document.querySelector('[data-region="settings"]');
  let facts = null;
  let method = null;
  let remedy = null;
  let list = null;
  const page = crypto.randomUUID();
  let seq = 0;
  let under = null; // the setting being tried
  let waiting = null; // the setting to try next
  let drag = null;
  let rest = 0; // timer of a setting that is not stored yet
  let storing = null; // the change under way
  let speak = 0;
  let pause = 0;
  let path = null;
  let pathKey = "";
  let leavePath = null;

  /* ---- latest only: one request under way, one waiting, older answers dropped ---- */
  function attempt() {
    seq += 1;
    waiting = { seq, remedy: structuredClone(remedy), list };
    if (under || storing) return;
    clearTimeout(pause);
    // Large files answer a moment after the hand rests; until then the nearest point is shown.
    if (app.state.file.rows > FOLLOWED) {
      about();
      pause = setTimeout(next, 150);
    } else next();
  }
  function about() {
    const control = chosen() && chosen().controls[0];
    if (!path || !control || !path.points.length) return;
    const near = path.points.reduce((one, other) => (Math.abs(other.value - control.value) < Math.abs(one.value - control.value) ? other : one));
    now = [{ share: near.share, cost: near.mean_score, text: "about " + near.text }];
    chart();
  }
  async function next() {
    if (storing) return; // whose answer has the revision to try at
    under = waiting;
    waiting = null;
    if (!under) return;
    try {
      const answer = await busy(call("POST", "try", { revision: app.state.revision, page, ...under }));
      if (answer.seq === seq && !answer.dropped) {
        paint(answer.regions);
        clear("remedy");
        valueTexts(answer);
        clearTimeout(speak);
        speak = setTimeout(() => (said.textContent = answer.head.join(" ")), 600);
        document.documentElement.dataset.tried = String(answer.seq);
        pointNow(answer);
      }
    } catch (error) {
      if (!waiting) await app.fail("remedy", error);
    }
    under = null;
    if (waiting) next();
  }

  function valueTexts(answer) {
    for (const slider of form.querySelectorAll('input[type="range"]'))
      slider.setAttribute("aria-valuetext", `${slider.value}${slider.dataset.unit}: ${answer.head[0] || ""}`);
  }

  /* ---- settings ---- */
  const chosen = () => facts.methods.find((one) => one.key === method);
  function showMethod() {
    for (const radio of form.querySelectorAll('[name="method"]')) radio.checked = radio.value === method;
    for (const field of form.querySelectorAll("[data-method]")) field.hidden = field.dataset.method !== method;
  }
  // The setting of the recipe; one that a search found may be of no method offered here.
  function adopt() {
    const own = (app.state.recipe.remedy || []).find((one) => !one.kept);
    const offered = facts.methods.find((one) => one.current) || (own ? null : facts.methods[0]);
    method = offered ? offered.key : "";
    remedy = offered ? offered.remedy : own;
    showMethod();
    attempt();
    follow();
  }
  async function fetchFacts(force) {
    const state = await busy(call("GET", "state?screen=remedy"));
    app.take(state, force);
    facts = state.remedy;
  }
  async function open(changed) {
    try {
      await fetchFacts(changed);
    } catch (error) {
      await app.fail("remedy", error);
      return;
    }
    adopt();
  }
  app.onShow("remedy", open);

  /* ---- storing: one change at a time, after the hand rests ---- */
  function store() {
    clearTimeout(rest);
    rest = 0;
    const key = drag;
    drag = null;
    return once(commit({ remedy: [remedy] }, key));
  }
  function once(work) {
    storing = work.finally(() => {
      storing = null;
      if (waiting && !under) next();
    });
    return storing;
  }
  app.settle = async () => {
    if (storing) await storing;
    if (rest) await store();
  };
  async function choose(patch) {
    await app.settle();
    return once(commit(patch));
  }

  async function commit(patch, key) {
    if (!(await app.change(patch, "remedy", key))) return false;
    await fetchFacts(false);
    const held = document.activeElement;
    if (drag && held.dataset.control !== undefined) {
      // The hand moved on meanwhile: what it holds goes before what was stored.
      showMethod();
      held.dispatchEvent(new Event("input", { bubbles: true }));
    } else adopt();
    return true;
  }

  form.addEventListener("input", (event) => {
    const { target } = event;
    const key = target.dataset.control;
    if (key === undefined || !target.checkValidity() || target.value === "") return;
    for (const twin of form.querySelectorAll(`[data-method="${method}"] [data-control="${key}"]`))
      if (twin !== target) twin.value = target.value;
    drag ||= `drag-${Date.now()}`;
    const control = chosen().controls.find((one) => one.key === key);
    control.value = Number(target.value);
    remedy = withValue(remedy, control.path, control.value * control.scale);
    attempt();
  });
  form.addEventListener("change", (event) => {
    const { target } = event;
    if (target.dataset.control !== undefined) {
      if (!target.reportValidity() || target.value === "") return;
      clearTimeout(rest);
      rest = setTimeout(store, REST);
    } else if (target.name === "method") {
      method = target.value;
      remedy = chosen().remedy;
      showMethod();
      choose({ remedy: remedy ? [remedy] : null });
    } else if (target.id === "for") {
      const [attribute, group] = JSON.parse(target.value);
      choose({ audit: { protected: [`${attribute}=${group}`] } });
    } else if (target.id === "remedy-k" && target.reportValidity()) {
      choose({ audit: { k: [Number(target.value)] } });
    }
  });

  /* ---- the trade-off, in idle time ---- */
  app.onLeave("remedy", () => {
    if (leavePath) leavePath.abort();
    leavePath = null;
    pathKey = "";
  });
  async function follow() {
    const key = JSON.stringify([app.state.revision, method]);
    document.getElementById("no-path").hidden = Boolean(remedy);
    document.getElementById("tradeoff").hidden = !remedy;
    if (!remedy) {
      path = null;
      paint({ path: "" });
    }
    if (key === pathKey || !remedy) return;
    pathKey = key;
    if (leavePath) leavePath.abort();
    leavePath = new AbortController();
    const { signal } = leavePath;
    try {
      for (const points of [13, 61]) {
        const body = { revision: app.state.revision, remedy, points };
        path = await stream("POST", "path", body, { signal });
        if (signal.aborted) return;
        paint(path.regions);
        await chart();
        // The marks of the slider come with the path, unless the hand is on it.
        if (points === 13 && !drag) {
          await fetchFacts(false);
          showMethod();
        }
      }
    } catch (error) {
      if (error.name !== "AbortError") path = null;
    }
  }
  let now = [];
  let drawing = false;
  function pointNow(answer) {
    const measure = (key) => (answer.measures.find((one) => one.key === key) || {}).after;
    const share = measure("share");
    now = share === undefined || share === null ? [] : [{ share, cost: measure("mean_score"), text: "now" }];
    soon();
  }
  // The picture follows once the numbers are painted; only the last one is drawn.
  function soon() {
    if (!path || drawing) return;
    drawing = true;
    requestAnimationFrame(() =>
      setTimeout(async () => {
        drawing = false;
        if (path) await chart();
      }),
    );
  }
  async function chart() {
    path.rows ||= [path.given, ...path.points].map((one, at) => ({ at, share: one.share, cost: one.mean_score, text: at ? one.text : "as given" }));
    try {
      await draw(document.getElementById("tradeoff"), TRADEOFF(path.axes), { points: path.rows, now });
    } catch (error) {
      console.error(error);
    }
  }

  /* ---- people, kept settings, search ---- */
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.explain !== undefined) {
      try {
        const body = { remedy, person: button.dataset.explain, list: button.dataset.list };
        paint((await busy(call("POST", "explain", body))).regions);
        document.getElementById("explain").showModal();
      } catch (error) {
        await app.fail("remedy", error);
      }
    }
    if (button.id === "keep") await app.patch({ keep: true }, "remedy");
    if (button.id === "how-sure") await long("remedy", "Working out how sure this is", "uncertainty");
    if (button.dataset.use) {
      if (await choose({ remedy: [JSON.parse(button.dataset.use)] })) window.scrollTo(0, 0);
    }
    if (button.id === "search") {
      const answer = await long("search", "Trying remedies", "remedies");
      const box = document.getElementById("found");
      box.hidden = !answer || !answer.rows.length;
      if (box.hidden) return;
      const kinds = (one) => (one.label === "as given" ? "as given" : one.blind ? "does not use groups" : "uses groups");
      await draw(box, FOUND(answer.axes), { points: answer.points.map((one) => ({ ...one, kind: kinds(one) })) });
    }
  });
  async function long(place, words, route) {
    await app.settle();
    const answer = await app.long(place, words, "POST", route, { revision: app.state.revision });
    if (answer) paint(answer.regions);
    return answer;
  }
  let finding = 0;
  document.getElementById("find-person").addEventListener("input", (event) => {
    clearTimeout(finding);
    finding = setTimeout(async () => {
      const asked = new URLSearchParams({ find: event.target.value });
      try {
        paint((await call("GET", "people?" + asked)).regions);
      } catch (error) {
        await app.fail("remedy", error);
      }
    }, 200);
  });
  document.addEventListener("change", (event) => {
    if (event.target.id === "moves-list") {
      list = event.target.value || null;
      attempt();
    }
  });
}
