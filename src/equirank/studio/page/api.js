// Requests to the studio's server: one token per tab, errors in words, streams that can be left.
const KEY = "equirank-token";

export class Refusal extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.kind = error.kind;
    this.where = error.where || {};
    this.actions = error.actions || [];
  }
}

const GONE = {
  kind: "gone",
  message: "The studio no longer answers: it was stopped in its terminal, or by this page. Start it again with: equirank studio",
};

export const hasToken = () => sessionStorage.getItem(KEY) !== null;

async function send(method, path, body, signal) {
  const headers = {};
  const token = sessionStorage.getItem(KEY);
  if (token) headers.Authorization = "Bearer " + token;
  const raw = body instanceof Blob;
  if (body !== undefined && !raw) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch("/api/" + path, {
      method,
      headers,
      signal,
      body: body === undefined || raw ? body : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, GONE);
  }
  if (answer.ok) return answer;
  let told;
  try {
    told = (await answer.json()).error;
  } catch {
    told = { kind: "internal", message: "The studio answered with an error (" + answer.status + ")." };
  }
  throw new Refusal(answer.status, told);
}

/** Exchange the code in the address for a token, and remove it from the address. */
export async function enter() {
  const found = /^#code=([\w-]+)$/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", "/#/load");
  sessionStorage.removeItem(KEY);
  const answer = await send("POST", "enter", { code: found[1] });
  sessionStorage.setItem(KEY, (await answer.json()).token);
}

export const call = async (method, path, body, signal) => (await send(method, path, body, signal)).json();

/** Read a stream of lines; the last one is the result. Aborting the signal cancels the work. */
export async function stream(method, path, body, { signal, progress, quick } = {}) {
  const answer = await send(method, path, body, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refusal(0, GONE);
    }
    if (part.done) throw new Refusal(0, GONE);
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    for (const text of lines) {
      const line = JSON.parse(text);
      if (line.error) throw new Refusal(422, line.error);
      if (line.result !== undefined) return line.result;
      if (line.quick !== undefined && quick) quick(line.quick);
      if (line.progress !== undefined && progress) progress(line.progress, line.words);
    }
  }
}

/** Save a download as a file, without an address of its own. */
export async function save(kind, body, signal) {
  const answer = await send("POST", "download/" + kind, body, signal);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = answer.headers.get("X-File-Name") || kind;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
