"""What the studio adds to the library: ratios of times and memory.

``python benchmarks/studio.py [--lists 60 --size 50]`` prints
- a setting tried in the studio over the same calls in Python (at most 2),
- a full audit over `audit` of the same data (at most 1.1),
- the peak memory of reading a file over its size (at most 8, in a process of its own),
- with a Chromium (``--keys 60``), the time from a key press on a slider to the painted page (95% of
  them within 100 ms up to 50,000 rows), its parts, and the work of the page (at most 25 ms), which
  does not count the wait for the next of 60 frames per second.

Medians after a warm-up; every pair of calls alternates, so that both meet the same load. The
Chromium is found on PATH or named by EQUIRANK_CHROMIUM; playwright drives it.
"""

import argparse
import io
import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

READ = """
import json, resource, sys, time
from equirank.studio.uploads import read_upload
from equirank.studio.answers import Limits
import equirank.io.column_roles, equirank.recipes.recipe_run, pyarrow.csv
from equirank.core.given_data import as_ranking_data
read_upload("small.csv", b"score,sex\\n1,f\\n2,m\\n")
content = sys.stdin.buffer.read()
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, start = peak(), time.perf_counter()
upload = read_upload("people.csv", content, Limits(max_bytes=1 << 40, max_rows=1 << 40))
took = time.perf_counter() - start
# the bytes of the file itself are part of the memory of reading it
print(json.dumps({"bytes": len(content), "peak": peak() - before + len(content),
                  "seconds": took, "parsed": upload.data is not None}))
"""


def people(n_lists, size, seed=0):
    """Return a file of ranked people, in which one group has lower scores."""
    rng = np.random.default_rng(seed)
    text = io.StringIO()
    text.write("vacancy,applicant,sex,age_group,score,grade\n")
    ages = ("under 35", "35 to 49", "50 and over")
    for at in range(n_lists):
        sex = rng.integers(0, 2, size)
        score = rng.normal(50, 15, size) - 8 * sex
        age, grade = rng.integers(0, 3, size), rng.integers(0, 4, size)
        for i in range(size):
            text.write(
                f"V{at},A{at}-{i},{('male', 'female')[sex[i]]},{ages[age[i]]},"
                f"{score[i]:.3f},{grade[i]}\n"
            )
    return text.getvalue().encode()


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Records for each key press when its request began and ended, when the answer was laid over the
#: page, when the next frame began, and when that was painted.
WATCH = """() => {
    window.keys = [];
    let now = null;
    const plain = window.fetch;
    window.fetch = async (...given) => {
        const tried = String(given[0]).endsWith("/api/try"), key = now;
        if (tried && key && !key.asked) key.asked = performance.now();
        const answer = await plain(...given);
        if (!tried || !key || key.answered) return answer;
        const body = await answer.clone().text();
        key.answered = performance.now();
        return answer;
    };
    addEventListener("keydown", () => window.keys.push(now = { pressed: performance.now() }), true);
    new MutationObserver(() => {
        const key = now;
        if (!key || key.painted || !key.answered) return;
        key.laid = performance.now();
        requestAnimationFrame(() => {
            key.frame = performance.now();
            const frame = new MessageChannel(); // whose message comes after the frame is painted
            frame.port1.onmessage = () => (key.painted = performance.now());
            frame.port2.postMessage(0);
        });
    }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-tried"] });
}"""


def key_presses(workspace, n_keys):
    """Return seconds from key press to painted page, of the request, in the page, and its work.

    The browser is driven from a process of its own, which shares no interpreter with the server.
    """
    from equirank.studio.server import Studio

    studio = Studio(first=workspace)
    thread = threading.Thread(target=studio.run)
    thread.start()
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as driver:
            keys = driver.submit(press_keys, studio.address(), n_keys).result()
    finally:
        studio.stop()
        thread.join()
    asked = [(one["answered"] - one["asked"]) / 1e3 for one in keys]
    whole = [(one["painted"] - one["pressed"]) / 1e3 for one in keys]
    own = [a - b for a, b in zip(whole, asked, strict=True)]
    work = [a - (one["frame"] - one["laid"]) / 1e3 for a, one in zip(own, keys, strict=True)]
    return {"key to paint": whole, "  request": asked, "  in the page": own, "  its work": work}


def press_keys(address, n_keys):
    """Press keys on a slider in a browser; return what was recorded, without the warm-up."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("EQUIRANK_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(120_000)
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        page.evaluate("location.hash = '#/remedy'")
        page.wait_for_selector("html[data-tried]")
        page.click('label.choice:has(input[value="PrefixConstraints"])')
        page.wait_for_selector("#tradeoff svg")
        page.wait_for_selector(".marks")
        page.wait_for_timeout(3000)  # until the finer path is drawn
        slider = page.locator(".field[data-method]:visible input[type=range]")
        slider.focus()
        page.evaluate(WATCH)
        for at in range(n_keys):
            page.keyboard.press("ArrowRight" if at % 20 < 10 else "ArrowLeft")
            page.wait_for_function("at => window.keys[at]?.painted", arg=at)
        keys = page.evaluate("window.keys")[n_keys // 10 :]
        browser.close()
    return keys


def quantile(values, share):
    """Return the value that a share of all values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def alternating(first, second, times):
    """Return the medians of two calls that alternate."""
    found = ([], [])
    first(), second()
    for _ in range(times):
        for at, work in enumerate((first, second)):
            start = time.perf_counter()
            work()
            found[at].append(time.perf_counter() - start)
    return [statistics.median(times) for times in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=int, default=60)
    parser.add_argument("--size", type=int, default=50)
    parser.add_argument("--read-rows", type=int, default=1_000_000, help="0: none")
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--audits", type=int, default=3, help="audits timed; 0: none")
    parser.add_argument("--keys", type=int, default=0, help="key presses in a browser; 0: none")
    options = parser.parse_args()
    from equirank import audit
    from equirank.io import read_file
    from equirank.rerankers import PrefixConstraints
    from equirank.studio.workspace import Workspace, run_job

    content = people(options.lists, options.size)
    workspace = Workspace()
    state = workspace.load_file("people.csv", content)
    patch = {"roles": {"grade": "relevance"}, "audit": {"protected": ["sex=female"], "k": [10]}}
    revision = workspace.patch(state["revision"], patch)["revision"]
    remedy = {"method": "PrefixConstraints", "by": "sex", "k": 10, "lower": {"female": 0.4}}
    data = read_file(
        io.BytesIO(content), "csv", query="vacancy", score="score", id="applicant",
        relevance="grade", sensitive=["sex", "age_group"],
    )  # fmt: skip
    ranking = data.ranking()
    rule = PrefixConstraints(lower={"female": 0.4}, by="sex", k=10, on_infeasible="best")

    def in_python():
        result = rule(ranking)
        return result.summary(), result.moves

    tried, plain = alternating(
        lambda: workspace.try_remedy(revision, 1, remedy), in_python, options.times
    )
    rows = options.lists * options.size
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{rows:,} rows in {options.lists:,} lists; load of the last 1, 5, 15 minutes {load}")
    print(
        f"try    {1e3 * tried:8.1f} ms  in Python {1e3 * plain:8.1f} ms  ratio {tried / plain:.2f}"
    )
    if options.audits:
        job = workspace.job("audit", revision)
        settings = {"k": [10], "protected": ["sex=female"], "random_state": 0}
        audited, plain_audit = alternating(
            lambda: workspace.finish(job, run_job(job)),
            lambda: audit(data, title="people.csv", **settings),
            options.audits,
        )
        ratio = audited / plain_audit
        print(f"audit  {audited:8.2f} s   in Python {plain_audit:8.2f} s   ratio {ratio:.2f}")
    if options.keys:
        for name, values in key_presses(workspace, options.keys).items():
            middle, high = quantile(values, 0.5), quantile(values, 0.95)
            print(
                f"{name:13} median {1e3 * middle:6.1f} ms  95% within {1e3 * high:6.1f} ms  "
                f"ratio to the calls in Python {middle / plain:.2f}"
            )
    if not options.read_rows:
        return
    large = people(max(1, options.read_rows // 50), 50)
    done = subprocess.run(
        [sys.executable, "-c", READ], input=large, capture_output=True, check=True
    )
    read = json.loads(done.stdout)
    print(
        f"read   {read['bytes'] / 1e6:8.1f} MB  peak {read['peak'] / 1e6:8.1f} MB  "
        f"ratio {read['peak'] / read['bytes']:.2f}  {read['seconds']:.1f} s"
    )


if __name__ == "__main__":
    main()
