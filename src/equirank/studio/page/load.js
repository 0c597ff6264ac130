// The screens Load and Columns: files, examples, recipes, and what each column is.
import { call } from "./api.js";
import { busy, clear } from "./paint.js";

export function startLoad(app) {
  const drop = document.getElementById("drop");
  const pick = document.getElementById("pick");

  async function open(file) {
    if (!file) return;
    clear("load");
    const path = "file?role=main&name=" + encodeURIComponent(file.name);
    const state = await app.long("load", "Reading the file", "PUT", path, file);
    pick.value = "";
    if (!state) return;
    app.take(state, true);
    app.go("columns");
  }
  pick.addEventListener("change", () => open(pick.files[0]));
  for (const kind of ["dragenter", "dragover"])
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    open(event.dataTransfer.files[0]);
  });
  // A file that misses the drop zone must not replace the page.
  for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());

  for (const button of document.querySelectorAll("[data-example]"))
    button.addEventListener("click", async () => {
      clear("load");
      try {
        app.take(await busy(call("POST", "example", { key: button.dataset.example })), true);
        app.go("columns");
      } catch (error) {
        await app.fail("load", error);
      }
    });
  const recipe = document.getElementById("recipe");
  recipe.addEventListener("change", async () => {
    const file = recipe.files[0];
    recipe.value = "";
    if (!file) return;
    try {
      app.take(await busy(call("POST", "recipe", { text: await file.text(), name: file.name })), true);
      if (app.state.file && !app.state.waiting_for) app.go("columns");
    } catch (error) {
      await app.fail("load", error);
    }
  });

  document.addEventListener("change", async (event) => {
    const { column, shown } = event.target.dataset;
    if (event.target.id === "encoding") {
      // An empty body: the loaded file is read again.
      const path = "file?role=main&encoding=" + event.target.value;
      const state = await app.long("columns", "Reading the file", "PUT", path, new Blob([]));
      if (state) app.take(state, true);
    }
    if (column !== undefined) app.patch({ roles: { [column]: event.target.value } }, "columns");
    if (shown !== undefined) app.patch({ shown: { [shown]: event.target.value.trim() || null } }, "columns");
  });
}
