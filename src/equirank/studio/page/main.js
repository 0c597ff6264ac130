// The studio's page: entry, steps, undo, theme; the other modules hold one screen each.
import { Refusal, call, enter, hasToken, save, stream } from "./api.js";
import { startFindings } from "./findings.js";
import { startLoad } from "./load.js";
import { busy, clear, paint, problem, working } from "./paint.js";
import { startRemedy } from "./remedy.js";

const root = document.documentElement;
const SCREENS = ["load", "columns", "findings", "compare", "remedy", "report"];
const shown = {};
const left = {};
let before = Promise.resolve(); // the last change, since the next one needs its revision

const app = {
  state: null,
  screen: "load",
  onShow: (screen, work) => (shown[screen] = work),
  onLeave: (screen, work) => (left[screen] = work),

  /** Take a new state, and paint what depends on it. */
  take(state, force) {
    app.state = state;
    paint(state.regions, force);
    document.getElementById("undo").disabled = !state.undo;
    document.getElementById("redo").disabled = !state.redo;
    mark();
  },

  /** Store a setting that the hand has just left; the remedy screen fills this in. */
  settle: async () => {},

  /** Change the recipe; an error is shown beside the control, and the page shows what holds. */
  patch(patch, place) {
    const done = before.then(() => app.settle()).then(() => app.change(patch, place));
    before = done.catch(() => {});
    return done;
  },

  async change(patch, place, drag) {
    try {
      app.take(await busy(call("PATCH", "recipe", { revision: app.state.revision, patch, drag })));
      clear(place);
      return true;
    } catch (error) {
      await app.fail(place, error);
      return false;
    }
  },

  async fail(place, error) {
    if (error.name === "AbortError") return;
    if (error instanceof Refusal && (error.kind === "gone" || error.kind === "token")) {
      banner(error.message);
      return;
    }
    if (!(error instanceof Refusal)) console.error(error);
    if (app.state && error.status !== 500) {
      try {
        app.take(await call("GET", "state"), true);
      } catch (next) {
        banner(next.message);
        return;
      }
    }
    problem(place, error, (patch) => app.patch(patch, place).then((done) => done && app.again()));
  },

  /** Do long work with progress and Cancel. */
  async long(place, words, method, path, body, quick) {
    const leave = new AbortController();
    const mark = working(place, words, () => leave.abort());
    try {
      return await stream(method, path, body, { signal: leave.signal, progress: mark.progress, quick });
    } catch (error) {
      if (error.name === "AbortError") return null;
      await app.fail(place, error);
      return null;
    } finally {
      mark.end();
    }
  },

  go(screen) {
    if (location.hash === "#/" + screen) app.show();
    else location.hash = "#/" + screen;
  },

  /** Show the screen of the address, unless its step is locked. */
  async show(focus = true) {
    await app.settle();
    const wanted = location.hash.replace(/^#\//, "");
    const screen = SCREENS.includes(wanted) ? wanted : "load";
    const missing = lacks(screen);
    app.screen = screen;
    for (const section of document.querySelectorAll("[data-screen]"))
      section.hidden = section.dataset.screen !== (missing ? "locked" : screen);
    if (missing) lock(missing);
    mark();
    const open = document.querySelector("[data-screen]:not([hidden])");
    const title = open.querySelector("h1");
    document.title = (screen === "load" ? "" : screen[0].toUpperCase() + screen.slice(1) + " · ") + "equirank studio";
    for (const [name, work] of Object.entries(left)) if (name !== screen) work();
    if (!missing && shown[screen]) await shown[screen]();
    if (focus) (open.querySelector("h1") || title).focus({ preventScroll: false });
    window.scrollTo(0, 0);
  },

  /** Show the present screen anew after the recipe changed. */
  async again() {
    if (!lacks(app.screen) && shown[app.screen]) await shown[app.screen](true);
    else await app.show(false);
  },
};

const step = (screen) => (screen === "compare" ? "findings" : screen);

function lacks(screen) {
  const found = app.state && app.state.steps.find((one) => one.key === step(screen));
  return found ? found.missing : screen === "load" ? "" : "Load a file first.";
}

function lock(missing) {
  document.getElementById("locked-words").textContent = missing;
  const target = app.state && app.state.file ? "columns" : "load";
  const button = document.getElementById("locked-go");
  button.textContent = target === "load" ? "Load a file" : "Go to the columns";
  button.onclick = () => app.go(target);
}

function mark() {
  for (const link of document.querySelectorAll("[data-step]")) {
    if (link.dataset.step === step(app.screen)) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
  }
}

function banner(text) {
  const box = document.getElementById("banner");
  box.textContent = text;
  box.hidden = false;
}

async function walk(path) {
  try {
    await app.settle();
    app.take(await busy(call("POST", path, {})), true);
    await app.again();
  } catch (error) {
    await app.fail(app.screen, error);
  }
}

/* ---- theme ---- */
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
const themeButton = document.getElementById("theme");
function showTheme() {
  themeButton.textContent = isDark() ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", isDark() ? "Light theme" : "Dark theme");
}
const stored = sessionStorage.getItem("equirank-theme");
if (stored) root.dataset.theme = stored;
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  sessionStorage.setItem("equirank-theme", root.dataset.theme);
  showTheme();
});
dark.addEventListener("change", showTheme);
showTheme();

/* ---- what every screen shares ---- */
document.getElementById("undo").addEventListener("click", () => walk("undo"));
document.getElementById("redo").addEventListener("click", () => walk("redo"));
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const typing = event.target.matches('input[type="text"], input[type="number"], textarea');
  const key = event.key.toLowerCase();
  if (typing || (key !== "z" && key !== "y")) return;
  event.preventDefault();
  walk(key === "y" || event.shiftKey ? "redo" : "undo");
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.go) app.go(button.dataset.go);
  if (button.dataset.close !== undefined) button.closest("dialog").close();
  if (button.dataset.patch) {
    const done = await app.patch(JSON.parse(button.dataset.patch), app.screen);
    if (done) await app.again();
  }
  if (button.dataset.download) download(button.dataset.download);
});
async function download(kind) {
  const leave = new AbortController();
  const mark = working("report", "Writing the file", () => leave.abort());
  try {
    await app.settle();
    await save(kind, { revision: app.state.revision }, leave.signal);
  } catch (error) {
    await app.fail("report", error);
  } finally {
    mark.end();
  }
}
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("screens").focus();
});
document.getElementById("forget").addEventListener("click", async () => {
  if (!window.confirm("Drop the file, the settings and all results of this tab?")) return;
  await walk("forget");
  app.go("load");
});
document.getElementById("stop").addEventListener("click", async () => {
  if (!window.confirm("Stop the studio? Files and results are dropped.")) return;
  try {
    await call("POST", "stop", {});
    banner("The studio has stopped. This page can be closed.");
  } catch (error) {
    banner(error.message);
  }
});
window.addEventListener("hashchange", () => {
  if (location.hash.startsWith("#code=")) location.reload();
  else app.show();
});

/* ---- start ---- */
startLoad(app);
startFindings(app);
startRemedy(app);
try {
  await enter();
  if (!hasToken()) {
    banner("Open the address that the studio's terminal printed; press Enter there for a new one.");
  } else {
    app.take(await call("GET", "state"));
    if (!location.hash.startsWith("#/")) history.replaceState(null, "", "/#/" + (app.state.file ? "columns" : "load"));
    else if (app.state.file && location.hash === "#/load") history.replaceState(null, "", "/#/columns");
  }
} catch (error) {
  banner(error.message);
}
await app.show(false);
root.dataset.ready = "1";
