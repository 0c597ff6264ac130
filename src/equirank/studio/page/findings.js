// The screens Findings and Compare: numbers at once, findings when they are sure, the report.
import { Refusal, stream } from "./api.js";
import { clear, paint, problem, working } from "./paint.js";

export function startFindings(app) {
  let under = null; // the audit under way
  let drawn = -1; // revision of the findings on the page
  let look = "";

  async function audit(force) {
    const { revision } = app.state;
    if (!force && (drawn === revision || (under && under.revision === revision))) return;
    if (under) under.abort();
    const leave = new AbortController();
    leave.revision = revision;
    under = leave;
    const mark = working("findings", "Working out how sure this is", () => leave.abort());
    const show = (answer) => {
      if (under === leave) paint(answer.regions);
    };
    try {
      const body = { revision, attribute: look || undefined };
      show(await stream("POST", "audit", body, { signal: leave.signal, progress: mark.progress, quick: show }));
      drawn = revision;
      mark.end();
    } catch (error) {
      mark.end();
      if (under !== leave) return;
      if (error.name === "AbortError") {
        problem("findings", { message: "Cancelled. No finding is stated without its interval and test." });
        again();
      } else await app.fail("findings", error);
    } finally {
      if (under === leave) under = null;
    }
  }

  function again() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain-button";
    button.textContent = "Work it out";
    button.addEventListener("click", () => {
      clear("findings");
      audit(true);
    });
    document.querySelector('[data-place="findings"] .problem').append(button);
  }

  // The screen is shown at once; the audit paints into it.
  app.onShow("findings", (changed) => void audit(changed));

  document.addEventListener("change", async (event) => {
    const { target } = event;
    if (target.name === "attribute") {
      look = target.value;
      audit(true);
    } else if (target.id === "k" && target.reportValidity()) {
      if (await app.patch({ audit: { k: [Number(target.value)] } }, "findings")) audit(true);
    } else if (target.id === "other-file" && target.files[0]) {
      const file = target.files[0];
      const path = "file?role=other&name=" + encodeURIComponent(file.name);
      const state = await app.long("compare", "Reading the file", "PUT", path, file);
      if (state) app.take(state);
    } else if (target.id === "other-score") {
      await app.patch({ compare: target.value ? { score: target.value } : null }, "compare");
    }
  });
  document.addEventListener("submit", (event) => event.preventDefault());

  document.addEventListener("click", async (event) => {
    if (event.target.id === "compare-now") {
      const body = { revision: app.state.revision };
      const answer = await app.long("compare", "Comparing", "POST", "compare", body, (first) => paint(first.regions));
      if (answer) paint(answer.regions);
    }
    if (event.target.id === "read-report") {
      const made = await app.long("findings", "Writing the report", "POST", "report", { revision: app.state.revision });
      if (!made) return;
      document.getElementById("frame").src = "/report/" + made.ticket;
      document.getElementById("whole").showModal();
    }
  });
  document.getElementById("whole").addEventListener("close", () => document.getElementById("frame").removeAttribute("src"));
}
