// The audit page: attributes as tabs, and tables of lists with search and sorting.
(function () {
  const { all, make, rowsOf, spyAll, beforePrint } = page;

  /* ---- attributes ---- */
  const tabs = all('[role="tab"]');
  const panels = all(".panel");
  let chosen = 0;
  function choose(index, focus) {
    chosen = index;
    panels.forEach((panel, i) => panel.classList.toggle("open", i === index));
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
    });
    if (focus) tabs[index].focus();
    all("nav a[data-section]").forEach((link) => {
      const there = document.getElementById(link.dataset.section + "-" + index);
      link.href = "#" + link.dataset.section + "-" + index;
      link.parentElement.hidden = !there;
    });
    drillAll(panels[index]);
    spyAll();
  }
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => choose(i));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const ends = { Home: 0, End: tabs.length - 1 };
      if (step) choose((i + step + tabs.length) % tabs.length, true);
      else if (event.key in ends) choose(ends[event.key], true);
      else return;
      event.preventDefault();
    });
  });

  /* ---- drill-down ---- */
  const shown = (value, digits) => {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    return value.toLocaleString("en-US", form).replace("-", "−");
  };
  const title = (name) => {
    const text = { query: "list", size: "length", position_difference: "positions from everyone else" }[name] || name;
    return text.length > 40 ? text.slice(0, 39) + "…" : text;
  };
  function drill(box) {
    const { names, rows } = rowsOf("queries");
    const attribute = names.indexOf("attribute");
    const mine = rows.filter((row) => row[attribute] === box.dataset.attribute);
    const columns = names
      .map((name, i) => ({ name, i }))
      .filter(({ name, i }) => name !== "attribute" && name !== "group" && mine.some((row) => row[i] !== null));
    columns.forEach((column) => {
      const numbers = mine.map((row) => row[column.i]).filter((value) => value !== null);
      column.numeric = numbers.every((value) => typeof value === "number");
      const size = column.numeric ? Math.max(...numbers.map(Math.abs).filter(Number.isFinite), 0) : 0;
      column.digits = numbers.every(Number.isInteger) ? 0 : size < 1 ? 3 : size < 10 ? 2 : 1;
    });
    const table = make("table");
    const head = table.createTHead().insertRow();
    const body = table.createTBody();
    const input = box.querySelector("input");
    const output = box.querySelector("output");
    let order = mine.slice();
    const heads = columns.map((column) => {
      const cell = make("th");
      cell.scope = "col";
      if (column.numeric && column.name !== "query") cell.className = "n";
      const button = make("button", title(column.name));
      button.type = "button";
      button.title = column.name.slice(0, 300);
      button.addEventListener("click", () => sort(column, cell));
      cell.append(button);
      head.append(cell);
      return cell;
    });
    function sort(column, cell) {
      const before = cell.getAttribute("aria-sort");
      const down = before ? before === "ascending" : column.numeric;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      order = mine.slice().sort((a, b) => {
        const [x, y] = [a[column.i], b[column.i]];
        if (x === null || y === null) return (x === null) - (y === null);
        if (column.numeric) return sign * (x - y);
        return sign * String(x).localeCompare(String(y), "en", { numeric: true });
      });
      fill();
    }
    function fill() {
      const wanted = input.value.trim().toLowerCase();
      const query = names.indexOf("query");
      const found = wanted ? order.filter((row) => String(row[query]).toLowerCase().includes(wanted)) : order;
      const fresh = document.createDocumentFragment();
      found.forEach((row) => {
        const line = make("tr");
        columns.forEach((column, at) => {
          const cell = make(at ? "td" : "th");
          if (at === 0) {
            cell.scope = "row";
            const text = String(row[column.i]);
            const isolated = make("bdi", text.length > 80 ? text.slice(0, 79) + "…" : text);
            isolated.className = "name";
            cell.append(isolated);
          } else {
            cell.textContent = shown(row[column.i], column.digits);
            if (column.numeric) cell.className = "n";
          }
          line.append(cell);
        });
        fresh.append(line);
      });
      body.replaceChildren(fresh);
      const lists = mine.length === 1 ? " list" : " lists";
      output.textContent = (wanted ? found.length + " of " : "") + mine.length + lists;
    }
    input.addEventListener("input", fill);
    fill();
    box.querySelector(".scroll").append(table);
  }
  // Rows of the open attribute are laid out first; those of other attributes when opened or printed.
  const drillAll = (from) =>
    all(".drill:not([data-filled])", from).forEach((box) => {
      box.dataset.filled = "1";
      drill(box);
    });

  beforePrint.push(() => drillAll());
  choose(0);
})();
