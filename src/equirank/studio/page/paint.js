// Regions of the page: the server's HTML is laid over what is there, so that focus stays.
const same = (one, other) =>
  one.nodeType === other.nodeType && one.nodeName === other.nodeName && (one.id || "") === (other.id || "");

function update(old, fresh, force) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name } of Array.from(old.attributes))
    if (!fresh.hasAttribute(name) && !(name === "open" && old.localName === "details")) old.removeAttribute(name);
  for (const { name, value } of Array.from(fresh.attributes))
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  children(old, fresh, force);
  const busy = old === document.activeElement && !force;
  if (old.localName === "input" && !busy) {
    if (old.type === "checkbox" || old.type === "radio") old.checked = fresh.hasAttribute("checked");
    else if (old.type !== "file") old.value = fresh.getAttribute("value") || "";
  }
  if (old.localName === "select" && !busy) {
    const chosen = Array.from(old.options).findIndex((option) => option.hasAttribute("selected"));
    old.selectedIndex = Math.max(chosen, 0);
  }
}

function children(old, fresh, force) {
  let at = old.firstChild;
  for (const node of Array.from(fresh.childNodes)) {
    // An element with an id stays, whatever went away before it.
    if (node.id && at && !same(at, node)) {
      let later = at;
      while (later && !same(later, node)) later = later.nextSibling;
      while (later && at !== later) {
        const dead = at;
        at = at.nextSibling;
        dead.remove();
      }
    }
    if (at && same(at, node)) {
      update(at, node, force);
      at = at.nextSibling;
    } else {
      old.insertBefore(node, at);
    }
  }
  while (at) {
    const dead = at;
    at = at.nextSibling;
    dead.remove();
  }
}

/** Lay the server's regions over the page. */
export function paint(regions, force = false) {
  for (const [name, html] of Object.entries(regions || {})) {
    for (const region of document.querySelectorAll(`[data-region="${name}"]`)) {
      const fresh = document.createElement("template");
      fresh.innerHTML = html;
      children(region, fresh.content, force);
    }
  }
}

const make = (tag, text, className) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};

const placeOf = (place) => document.querySelector(`[data-place="${place}"]`);

/** Show an error beside the controls it belongs to; its actions are buttons. */
export function problem(place, error, act) {
  if (error.name === "AbortError") return;
  const box = make("div", undefined, "problem");
  box.setAttribute("role", "alert");
  const where = Object.entries(error.where || {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  box.append(make("p", error.message || String(error)));
  if (where.length) box.append(make("p", where.map(([name, value]) => `${name}: ${value}`).join(", "), "lead"));
  if (error.actions && error.actions.length && act) {
    const row = make("p", undefined, "go");
    for (const action of error.actions) {
      const button = make("button", action.label, "plain-button");
      button.type = "button";
      button.addEventListener("click", () => act(action.patch));
      row.append(button);
    }
    box.append(row);
  }
  placeOf(place).replaceChildren(box);
}

export const clear = (place) => placeOf(place).replaceChildren();

/** Show progress with a button to cancel; returns how to update and to end it. */
export function working(place, words, cancel) {
  const box = make("div", undefined, "work");
  const bar = make("progress");
  bar.max = 1;
  bar.setAttribute("aria-label", "Progress");
  const said = make("span", words);
  said.setAttribute("role", "status");
  const button = make("button", "Cancel", "plain-button");
  button.type = "button";
  button.addEventListener("click", cancel);
  box.append(bar, said, button);
  placeOf(place).replaceChildren(box);
  return {
    progress(share, text) {
      if (share > 0) bar.value = Math.min(1, share);
      if (text && said.textContent !== text) said.textContent = text;
    },
    end() {
      if (box.isConnected) box.remove();
    },
  };
}

/** Mark the page as busy if a promise takes more than 300 ms. */
export async function busy(promise) {
  const root = document.documentElement;
  const timer = setTimeout(() => (root.dataset.busy = "1"), 300);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    delete root.dataset.busy;
  }
}
