"""The diagrams of guides: what goes in, what is done, and what comes out, as SVG.

A box with square corners is data or a file, a purple one with round corners a command or a
method, as in the charts; teal and plum are outcomes. Text that does not fit its box is an error.
Names of classes and numbers are read from the library, the test vectors and the pages, packages
from the layers in pyproject.toml.
"""

import json
import re
import tomllib
from fractions import Fraction
from html import escape
from importlib import import_module
from itertools import permutations
from pathlib import Path

from equirank.plots.theme import BETTER, GRID, INK, METHOD, MUTED, WORSE

ROOT = Path(__file__).parents[2]
WIDE = 420
#: Width of a letter, as a share of the size of the font.
LETTER = 0.56
#: Fill, line and corner radius of each kind of box.
KINDS = {
    "data": ("#ffffff", MUTED, 1),
    "act": ("#f3effa", METHOD, 9),
    "good": ("#e9f2f2", BETTER, 9),
    "bad": ("#f6ebf1", WORSE, 9),
}


def text(
    x: float, y: float, words: str, *, size: float = 12, anchor: str = "middle", style: str = ""
) -> str:
    """Return a line of text; the style is bold, faint or mono, or several of them."""
    look = "".join(
        [
            ' font-weight="600"' if "bold" in style else "",
            f' fill="{MUTED}"' if "faint" in style else "",
            ' font-style="italic"' if "italic" in style else "",
            ' font-family="ui-monospace, Consolas, monospace"' if "mono" in style else "",
        ]
    )
    place = f'x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"'
    return f"<text {place}{look}>{escape(words)}</text>"


def box(
    x: float, y: float, wide: float, words: str, kind: str = "data", *, head: bool = True
) -> str:
    """Return a box of the height of its lines; the first of several is its head, in bold."""
    size = 12
    lines = words.split("\n")
    for line in lines:
        if len(line) * LETTER * size > wide - 6:
            raise SystemExit(f"{line!r} needs {len(line) * LETTER * size:.0f} of {wide - 6} pixels")
    fill, stroke, corner = KINDS[kind]
    drawn = (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{tall(words):g}" rx="{corner}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="1.3"/>'
    )
    for at, line in enumerate(lines):
        bold = "bold" if head and len(lines) > 1 and at == 0 else ""
        drawn += text(x + wide / 2, y + 17 + 15 * at, line, size=size, style=bold)
    return drawn


def tall(words: str) -> float:
    """Return the height of the box of some lines."""
    return 10 + 15 * len(words.split("\n"))


def arrow(*points: tuple[float, float], colour: str = MUTED, dash: str = "") -> str:
    """Return a line through points with a head at the last."""
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
    (x0, y0), (x1, y1) = points[-2:]
    across = abs(x1 - x0) > abs(y1 - y0)
    way = 1 if (x1 > x0 if across else y1 > y0) else -1
    head = (
        f"m{-6 * way} -4l{6 * way} 4l{-6 * way} 4"
        if across
        else f"m-4 {-6 * way}l4 {6 * way}l4 {-6 * way}"
    )
    line = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{line}/>'
        f'<path d="M{x1:g} {y1:g}{head}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    )


def sheet(height: float, *parts: str, wide: float = WIDE) -> str:
    """Return the parts as a picture on white."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {height:g}" '
        f'width="{wide:g}" height="{height:g}" fill="{INK}" '
        'font-family="Segoe UI, Roboto, Helvetica, Arial, sans-serif">'
        '<rect width="100%" height="100%" fill="#ffffff"/>'
    )
    return head + "".join(parts) + "</svg>\n"


def public(package: str, *names: str) -> str:
    """Return names of classes as one text, after a look at whether they exist."""
    module = import_module(f"equirank.{package}")
    missing = [name for name in names if not hasattr(module, name)]
    if missing:
        raise SystemExit(f"equirank.{package} has no {', '.join(missing)}")
    return "\n".join(names)


#: What data become on the way from a file to a page, and the packages that take each step.
STEPS = {
    "a file": ("io", "datasets", "engines"),
    "RankingData": ("core", "preprocess"),
    "Ranking": ("rankers", "rerankers", "policies", "allocation", "distributed"),
    "Evaluation": ("metrics", "statistics", "costs", "constraints", "theory"),
    "claims": ("auditing", "comparison", "search"),
    "a page": ("plots", "reports"),
}
#: Packages that serve every step, or run them all.
AROUND = {"on top": ("cli", "studio", "recipes", "testing"), "below": ("kernels",)}


def flow() -> str:
    """The way of data through the packages; every layer of the code is in it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = (
        each
        for each in project["tool"]["importlinter"]["contracts"]
        if each["type"] == "layers" and each["containers"] == ["equirank"]
    )
    layers = [name.strip() for row in contract["layers"] for name in row.split("|")]
    rows = {"on top": AROUND["on top"], **STEPS, "below": AROUND["below"]}
    drawn = [name for names in rows.values() for name in names]
    if sorted(drawn) != sorted(set(layers) - {"__main__"}):
        raise SystemExit(f"flow must have each package once, got {set(layers) ^ set(drawn)}")
    parts, y = [], 12.0
    for word, names in rows.items():
        x, top = 112.0, y
        # In a row the package of the highest layer comes first.
        for name in sorted(names, key=layers.index):
            wide = round(7 * len(name) + 14)
            if x + wide > WIDE - 6:
                x, y = 112.0, y + 31
            parts.append(box(x, y, wide, name, "act"))
            x += wide + 6
        middle = (top + y) / 2 + 17
        style = "bold" if word in STEPS else "faint italic"
        parts.append(text(8, middle, word, size=13, anchor="start", style=style))
        y += 46
        if word in STEPS and word != "a page":
            parts.append(arrow((36, middle + 8), (36, y)))
        elif word != "below":
            parts.append(f'<path d="M8 {y - 11:g}H{WIDE - 8}" stroke="{GRID}"/>')
    return sheet(y - 8, *parts)


def adding() -> str:
    """What is written by hand, and what follows from it."""
    rows = [
        (
            "you write",
            "data",
            [(106, "the class"), (112, "one line in\n__init__.pyi"), (74, "its test")],
        ),
        (
            "a metric also",
            "data",
            [(120, "notes: formula,\nexamples"), (120, "vectors: a slow\ndefinition")],
        ),
        ("you run", "act", [(120, "make generate"), (120, "make check")]),
        (
            "follows",
            "good",
            [(98, "function on\narrays"), (98, "page in the\ndocs"), (92, "command\nline")],
        ),
        ("", "good", [(148, "contract test,\nsaved folders"), (148, "evaluate, audit,\ncompare")]),
    ]
    parts, y = [], 10.0
    for word, kind, boxes in rows:
        height = max(tall(words) for _, words in boxes)
        parts.append(text(8, y + height / 2 + 4, word, anchor="start", style="bold"))
        x = 104.0
        for wide, words in boxes:
            parts.append(box(x, y, wide, words, kind, head=False))
            x += wide + 7
        y += height + 12
        if word in ("a metric also", "you run"):
            parts.append(arrow((250, y - 10), (250, y + 10)))
            y += 14
    return sheet(y, *parts)


def choosing() -> str:
    """From what one has, over what one wants, to the classes."""
    rank, rerank = "rankers", "rerankers"
    tree = {
        "a ranking": [("know who ranks lower", "audit"), ("know how good it is", "evaluate")],
        "scores": [
            ("bounds in every list", public(rerank, "FAStarIR", "DetGreedy", "PrefixConstraints")),
            ("share exposure", public(rerank, "ExposureOptimal")),
        ],
        "features and\nrelevance": [
            ("the best quality", public(rank, "LambdaMART")),
            ("fair in training", public(rank, "FairLambdaMART", "DELTR")),
            ("a bound on a gap", public(rank, "FairReduction")),
        ],
        "data before\ntraining": [
            ("hide the group", public("preprocess", "LearnedFairRepresentation", "IFair")),
            ("cut causal paths", public("preprocess", "CausalFairScores")),
        ],
    }
    heads = ((8, "I have"), (118, "I want"), (270, "use"))
    parts = [text(x, 16, word, anchor="start", style="bold") for x, word in heads]
    y = 28.0
    for given, wants in tree.items():
        top = y
        for want, use in wants:
            names = use.replace("\n", ", ") if len(use) < 16 else use
            lines = names.split("\n")
            height = 10.0 + 15 * len(lines)
            middle = y + height / 2
            parts += [
                text(118, middle + 4, want, anchor="start"),
                arrow((248, middle), (266, middle)),
                f'<rect x="270" y="{y:g}" width="146" height="{height:g}" rx="9" '
                f'fill="{KINDS["act"][0]}" stroke="{METHOD}" stroke-width="1.3"/>',
                *(
                    text(343, y + 17 + 15 * at, line, size=11 if len(line) > 20 else 12)
                    for at, line in enumerate(lines)
                ),
            ]
            parts.append(f'<path d="M104 {middle:g}h9" stroke="{MUTED}" stroke-width="1.5"/>')
            y += height + 7
        first, last = top + 12, y - 19
        parts.append(f'<path d="M104 {first:g}V{last:g}" stroke="{GRID}" stroke-width="3"/>')
        middle = (top + y - 7 - tall(given)) / 2
        parts.append(box(6, middle, 92, given, head=False))
        y += 8
    return sheet(y - 4, *parts)


def concepts() -> str:
    """Three nouns, and the verbs that lead from one to the next."""
    nouns = {"data": "RankingData\nwhat is known", "order": "Ranking\nwhat was decided"}
    return sheet(
        352,
        box(140, 8, 140, "file, frame, arrays"),
        arrow((210, 33), (210, 74)),
        text(218, 58, "as_ranking_data", anchor="start", style="mono"),
        box(140, 76, 140, nouns["data"]),
        arrow((280, 96), (340, 96), (340, 128)),
        box(290, 130, 100, "Ranker\nfit, rank", "act"),
        arrow((340, 170), (340, 200), (284, 200)),
        arrow((210, 116), (210, 180)),
        text(202, 145, "given scores", anchor="end", style="faint"),
        text(202, 160, "or positions", anchor="end", style="faint"),
        box(140, 182, 140, nouns["order"]),
        arrow((140, 196), (112, 196)),
        arrow((112, 210), (136, 210)),
        box(14, 183, 94, "Reranker\nnew order", "act"),
        arrow((210, 222), (210, 264)),
        text(218, 248, "evaluate, Metric", anchor="start", style="mono"),
        box(130, 266, 160, "Evaluation\nwhat it was worth"),
        arrow((210, 306), (210, 322)),
        text(210, 340, "tables, tests, reports", style="faint"),
    )


def conformance() -> str:
    """The orders of tied items of a test vector, and the mean that the file states."""
    vectors = json.loads((ROOT / "vectors" / "recall.json").read_text("utf-8"))
    (case,) = (each for each in vectors["cases"] if each["name"] == "tied across the cutoff")
    y_true, k = case["inputs"]["y_true"], case["options"]["k"]
    orders = sorted(set(permutations(y_true)), reverse=True)
    values = [
        Fraction(sum(y > 0 for y in order[:k]), sum(y > 0 for y in y_true)) for order in orders
    ]
    mean = sum(values) / len(values)
    if mean != Fraction(case["expected"]["value"]):
        raise SystemExit(f"recall of {case['name']} is {mean}, not {case['expected']['value']}")
    parts = [
        text(
            8,
            18,
            "three items with equal scores, one of them relevant",
            anchor="start",
            style="bold",
        )
    ]
    for at, (order, value) in enumerate(zip(orders, values, strict=True)):
        x = 150 + 80 * at
        for position, y in enumerate(order):
            colour = (
                f'fill="{METHOD}"' if y else f'fill="#ffffff" stroke="{MUTED}" stroke-width="2"'
            )
            parts.append(f'<circle cx="{x}" cy="{52 + 34 * position}" r="10" {colour}/>')
        parts.append(text(x, 172, str(value), style="bold"))
    parts += [
        text(8, 56 + 34 * at, f"position {at + 1}", anchor="start") for at in range(len(y_true))
    ]
    line = 52 + 34 * k - 17
    parts += [
        f'<path d="M8 {line}H372" stroke="{INK}" stroke-dasharray="5 4"/>',
        text(412, line + 4, f"k = {k}", anchor="end"),
        text(8, 172, f"recall@{k}", anchor="start", style="bold"),
        text(8, 205, f"expected value in the file: the mean, {mean}", anchor="start"),
        text(8, 224, f"by the order of rows alone: {values[0]}", anchor="start", style="faint"),
        f'<circle cx="300" cy="220" r="5" fill="{METHOD}"/>',
        text(310, 224, "relevant", anchor="start", style="faint"),
    ]
    return sheet(236, *parts)


def large_logs() -> str:
    """A log of any size becomes sums of one size, which are added and audited."""
    engines = ("Parquet", "DuckDB", "Dask", "Spark")
    parts = []
    for at, name in enumerate(engines):
        x = 8 + 103 * at
        parts += [box(x, 10, 95, name), arrow((x + 47, 35), (x + 47, 60))]
    parts += [
        box(8, 62, 404, "list_sums\nbrings each list together, measures it, adds it up", "act"),
        arrow((92, 102), (92, 132)),
        arrow((328, 102), (328, 132)),
        box(8, 134, 168, "sums of Monday\na few megabytes"),
        text(210, 160, "+", size=20),
        box(244, 134, 168, "sums of Tuesday\na few megabytes"),
        text(210, 190, "the same size for any number of rows", size=11, style="faint"),
        arrow((92, 174), (92, 206)),
        arrow((328, 174), (328, 206)),
        box(8, 208, 404, "audit_sums\ntables, intervals and p-values from sums alone", "act"),
        arrow((210, 248), (210, 272)),
        box(150, 274, 120, "report"),
    ]
    return sheet(308, *parts)


def lists_of_rows() -> str:
    """The lists of the same rows: as sizes of sorted rows, and as a label of each row."""
    rows = [("a", 2), ("b", 0), ("a", 1), ("a", 0), ("b", 3)]
    ordered = sorted(rows, key=lambda row: row[0])
    sizes = [sum(row[0] == label for row in rows) for label in sorted({row[0] for row in rows})]
    parts = [
        text(100, 18, "LightGBM", style="bold"),
        text(100, 36, f"group={sizes}", style="mono"),
        text(316, 18, "equirank", style="bold"),
        text(
            316, 36, "qid=" + "".join(("[", ", ".join(row[0] for row in rows), "]")), style="mono"
        ),
    ]
    for x, drawn in ((100, ordered), (316, rows)):
        parts.append(text(x - 30, 60, "list" if x > 200 else "", style="faint"))
        parts.append(text(x + 30, 60, "grade y", style="faint"))
        for at, (label, grade) in enumerate(drawn):
            y = 68 + 26 * at
            fill = "#ffffff" if label == "a" else "#eef1f4"
            parts += [
                f'<rect x="{x - 64}" y="{y}" width="128" height="22" fill="{fill}" '
                f'stroke="{MUTED}"/>',
                text(x - 30, y + 15, label if x > 200 else "", style="mono"),
                text(x + 30, y + 15, str(grade), style="mono"),
            ]
    y = 68
    for size in sizes:
        end = y + 26 * size - 4
        parts.append(
            f'<path d="M28 {y}h-8V{end}h8" fill="none" stroke="{METHOD}" stroke-width="2"/>'
        )
        parts.append(text(12, (y + end) / 2 + 4, str(size), style="bold"))
        y = end + 4
    foot = y + 18
    parts += [
        text(100, foot, "rows sorted by list,"),
        text(100, foot + 16, "sizes beside them"),
        text(316, foot, "rows in any order,"),
        text(316, foot + 16, "each with its list"),
    ]
    return sheet(foot + 28, *parts)


def packages() -> str:
    """What each package of the page about other packages does, from its table."""
    page = (ROOT / "docs" / "neighbours.md").read_text("utf-8")
    table = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in re.search(r"## Overview\n[^|]*((?:\|.*\n)+)", page)[1].splitlines()
    ]
    heads = [
        "relevance\nmetrics",
        "fairness\nmetrics",
        "trains\nrankers",
        "fairness in\ntraining",
        "re-ranks for\nfairness",
    ]
    if len(table[0]) != len(heads) + 2:
        raise SystemExit(f"the table of packages must have {len(heads) + 2} columns")
    parts = []
    for at, head in enumerate(heads):
        for line, words in enumerate(head.split("\n")):
            parts.append(text(134 + 63 * at, 16 + 13 * line, words, size=10.5, style="bold"))
    y = 52.0
    for row in table[2:]:
        name = re.match(r"\W*([\w-]+)", row[0])[1]
        parts.append(f'<path d="M8 {y + 9:g}H412" stroke="{GRID}"/>')
        parts.append(
            text(8, y + 4, name, anchor="start", style="bold" if name == "equirank" else "")
        )
        for at, cell in enumerate(row[1 : 1 + len(heads)]):
            x = 134 + 63 * at
            if re.match(r"no\b|not\b|none\b", cell):
                parts.append(f'<path d="M{x - 5} {y:g}h10" stroke="{MUTED}" stroke-width="1.5"/>')
            else:
                parts.append(f'<circle cx="{x}" cy="{y:g}" r="6" fill="{METHOD}"/>')
        y += 22
    parts += [
        f'<circle cx="14" cy="{y + 4:g}" r="6" fill="{METHOD}"/>',
        text(26, y + 8, "yes, at least one", anchor="start", style="faint"),
        f'<path d="M150 {y + 4:g}h10" stroke="{MUTED}" stroke-width="1.5"/>',
        text(168, y + 8, "no, or not documented", anchor="start", style="faint"),
    ]
    return sheet(y + 18, *parts)


def gate() -> str:
    """A ranking goes on if the rule does not hold; the report is written in any case."""
    return sheet(
        258,
        box(8, 10, 180, "new ranking\na commit or a model"),
        arrow((98, 50), (98, 76)),
        box(
            8,
            78,
            404,
            "equirank audit --fail-on RULE\ntests the rule with the statistics of the audit",
            "act",
        ),
        arrow((66, 118), (66, 150)),
        arrow((204, 118), (204, 150)),
        arrow((348, 118), (348, 150)),
        box(8, 152, 118, "exit code 0\nthe step passes", "good"),
        box(142, 152, 124, "exit code 1\nthe rule holds", "bad"),
        box(282, 152, 130, "exit code 2\nbad input", "bad"),
        arrow((66, 192), (66, 216)),
        arrow((204, 192), (204, 216)),
        arrow((348, 192), (348, 216)),
        box(8, 218, 258, "the report is written in both cases"),
        box(282, 218, 130, "an error alone"),
    )


def dask_training() -> str:
    """The four steps of training on workers."""
    steps = (
        ("1 scan", "lists, groups, ranges of every partition"),
        ("2 bins", "edges from 50,000 rows, computed once"),
        ("3 lists", "every list whole on one worker"),
        ("4 trees", "gradients of own lists, one network"),
    )
    parts, y = [], 10.0
    for at, (name, words) in enumerate(steps):
        parts += [
            box(8, y, 72, name, "act"),
            text(92, y + 17, words, anchor="start"),
        ]
        if at == 1:
            parts.append(box(328, y, 84, "client"))
        else:
            parts += [box(328 + 29 * each, y, 26, "ABC"[each]) for each in range(3)]
        if at < len(steps) - 1:
            parts.append(arrow((44, y + 25), (44, y + 42)))
        y += 44
    parts += [
        text(412, y + 2, "A, B, C: workers, each a process", size=11, anchor="end", style="faint"),
        arrow((44, y - 19), (44, y + 16)),
        box(8, y + 18, 404, "to_local(): a FairLambdaMART for one machine, without Dask"),
    ]
    return sheet(y + 52, *parts)


def deadline() -> str:
    """Two requests: one re-ranked in time, one late, whose answer is the order of the ranker."""
    end = 364
    return sheet(
        292,
        text(8, 20, "request", anchor="start", style="faint"),
        text(end, 20, "deadline", style="bold"),
        f'<path d="M{end} 28V196" stroke="{WORSE}" stroke-width="2" stroke-dasharray="5 4"/>',
        text(78, 36, "in time", anchor="start", style="italic"),
        box(8, 48, 58, "score", "act"),
        box(78, 48, 140, "re-rank in a thread", "act"),
        arrow((218, 60), (242, 60)),
        box(244, 40, 104, "answer\nre-ranked", "good"),
        text(78, 110, "late: the thread ends in the background", anchor="start", style="italic"),
        box(8, 120, 58, "score", "act"),
        box(78, 120, 324, "re-rank in a thread", "act"),
        arrow((37, 145), (37, 174), (242, 174), dash="3 3"),
        box(244, 154, 104, "answer\nranker's order", "bad"),
        box(8, 210, 404, "log: list, id, position, score, re-ranked or not"),
        arrow((210, 235), (210, 256)),
        box(130, 258, 160, "equirank audit", "act"),
    )


def one_file() -> str:
    """The commands of a configuration file, and the files that they read and write."""
    return sheet(
        312,
        box(8, 10, 120, "people.csv"),
        arrow((128, 22), (148, 22)),
        box(150, 10, 120, "equirank init", "act"),
        arrow((270, 22), (290, 22)),
        box(292, 10, 120, "config.toml"),
        arrow((352, 35), (352, 76)),
        arrow((352, 54), (108, 54), (108, 76)),
        box(8, 78, 200, "equirank compare\nall models, the same folds", "act"),
        box(226, 78, 186, "equirank train\none model, held-out test", "act"),
        arrow((108, 118), (108, 144)),
        arrow((319, 118), (319, 144)),
        box(8, 146, 200, "report.html\ntrade-offs, paired tests"),
        box(226, 146, 186, "model/\ncard.html, metrics.json"),
        arrow((319, 186), (319, 212)),
        text(214, 232, "new rows", anchor="end", style="faint"),
        arrow((218, 228), (224, 228)),
        box(226, 214, 186, "equirank predict", "act"),
        arrow((319, 239), (319, 260)),
        box(226, 262, 186, "scores.csv\nscore and position"),
        arrow((226, 282), (210, 282)),
        box(84, 270, 124, "equirank audit", "act"),
        arrow((84, 282), (72, 282)),
        text(40, 286, "report"),
    )


#: The diagrams, by name of the file.
DIAGRAMS = {
    "flow": flow,
    "adding": adding,
    "choosing": choosing,
    "concepts": concepts,
    "conformance": conformance,
    "large_logs": large_logs,
    "lists_of_rows": lists_of_rows,
    "packages": packages,
    "gate": gate,
    "dask_training": dask_training,
    "deadline": deadline,
    "one_file": one_file,
}
