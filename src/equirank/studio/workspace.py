"""Workspace: the file, the recipe and the answers of one tab of the studio, without any web code.

Every answer is made of plain values, ready for JSON; `answers` names their keys. Texts from the
user's file are not escaped here.

Quick methods answer at once. Long work is a `Job`: a picklable description that `run_job` carries
out in any process, and whose answer `Workspace.finish` takes back::

    job = workspace.job("audit", revision)
    answer = run_job(job, progress=lambda share, words: ...)   # maybe in another process
    findings = workspace.finish(job, answer)
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ..core.errors import FormatError, suggest
from .answers import (
    ROLES,
    STUDIO,
    CompareAnswer,
    Download,
    ExplainAnswer,
    Findings,
    FirstList,
    Job,
    JobKind,
    Limits,
    PeoplePage,
    RemedyFacts,
    Role,
    State,
    Step,
    StudioError,
    TryAnswer,
    Upload,
)
from .changes import (
    CHANGES,
    NO_REMEDY,
    OF_THE_FILE,
    Situation,
    applied_to,
    consistent,
    lacking_columns,
)
from .findings import compare_answer, findings
from .history import AnswerCache, History
from .jobs import check_points, make_run, run_job
from .located import located
from .long_work import place_of
from .persons import explained, people_page, row_of
from .remedy_screen import remedy_facts, tried_answer
from .tab_state import NO_FILE, file_facts, first_list, steps
from .uploads import examples, load_example, read_upload

if TYPE_CHECKING:
    from ..recipes.recipe import Recipe

__all__ = [
    "ROLES",
    "Job",
    "Limits",
    "StudioError",
    "Workspace",
    "examples",
    "read_upload",
    "run_job",
]

CHANGED = "Changed in another tab. This tab now shows the present state."
#: Rows up to which the first list is read at once.
READ_AT_ONCE = 200_000
MEDIA = {"html": "text/html", "json": "application/json", "csv": "text/csv",
         "toml": "application/toml", "py": "text/x-python"}  # fmt: skip


class Workspace:
    """The state of one tab: files, recipe, undo and redo, cached answers. Nothing reaches disk.

    Not thread-safe: one thread calls it.

    Parameters
    ----------
    limits : Limits, optional
        The largest file, and the size of the cache.

    Examples
    --------
    >>> workspace = Workspace()
    >>> state = workspace.load_example("hiring")
    >>> state["file"]["words"], state["step"]
    ('hiring.csv (example): 3,213 people in 60 lists', 'report')
    >>> remedy = {"method": "PrefixConstraints", "by": "sex", "k": 10, "lower": {"female": 0.4}}
    >>> workspace.try_remedy(state["revision"], 1, remedy)["head"][0]
    '74 women join the selected, 74 men leave them.'
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._cache = AnswerCache(self.limits.cache_bytes)
        self._revision = 0
        self._empty()

    def _empty(self) -> None:
        from ..recipes.recipe import Recipe

        self._files: dict[str, Upload] = {}
        self._history = History(Recipe())
        self._waiting: Recipe | None = None
        self._settled: set[str] = set()
        self._looked: set[str] = set()
        self._warned: list[str] = []
        self._read_warnings: list[str] = []
        self._path: Any = None
        self._held: tuple[str, Any] | None = None
        self._cache.clear()

    @property
    def recipe(self) -> "Recipe":
        """The present recipe, without the number of settings looked at."""
        return self._history.present

    # Load ------------------------------------------------------------------------------------
    def accept(self, upload: Upload, role: Role = "main") -> State:
        """Take a file that `read_upload` returned, with its guesses as the recipe.

        As ``"main"`` it replaces everything (unless a recipe waits for it, which is then applied,
        with a warning if the hash differs); as ``"other"`` it is the second file of Compare.
        """
        from ..recipes.recipe import Recipe

        if role == "other":
            self._need_file()
            table = {name: upload.recipe["data"][name] for name in OF_THE_FILE if name in
                     upload.recipe["data"]}  # fmt: skip
            lacking = lacking_columns(self.recipe, upload)
            if lacking:
                raise StudioError(
                    "data",
                    f"{upload.name} has no column {lacking[0]!r}, which the first file has. Both "
                    "files need the same columns.",
                    {"column": lacking[0]},
                )
            changed = self.recipe.patched({"against": None}).patched({"against": table})
            self._files["other"] = upload
            self._change(changed)
            return self.state()
        waiting, warned = self._waiting, list[str]()
        recipe = Recipe.from_dict(upload.recipe)
        if waiting is not None:
            recipe = applied_to(waiting, upload, warned)
        self._empty()
        self._files["main"] = upload
        self._history = History(recipe)
        self._warned = warned
        if upload.data is not None and waiting is None:
            run = self._new_run()
            run.__dict__["data"] = upload.data
            self._held = (self._data_key(), run)
        self._revision += 1
        return self.state()

    def load_file(self, name: str, content: bytes, role: Role = "main") -> State:
        """Read and accept a file in this process (`read_upload`, then `accept`)."""
        return self.accept(read_upload(name, content, self.limits), role)

    def loaded(self, role: Role = "main") -> tuple[str, bytes]:
        """Return the name and the bytes of a loaded file, to read it in another encoding."""
        self._need_file()
        if role not in self._files:
            raise StudioError("locked", "There is no second file.")
        return self._files[role].name, self._files[role].content

    def load_example(self, key: str) -> State:
        """Load an example with its columns set."""
        self._waiting = None
        return self.accept(load_example(key, self.limits))

    def load_recipe(self, text: str, name: str = "recipe.toml") -> State:
        """Load a recipe: applied to the loaded file, or kept until its file is loaded."""
        from ..recipes.recipe import read_recipe

        try:
            found = read_recipe(text, name)
        except FormatError as error:
            raise StudioError("recipe", str(error)) from None
        upload = self._files.get("main")
        if upload is None:
            self._waiting = found
            self._revision += 1
            return self.state()
        warned: list[str] = []
        applied = applied_to(found, upload, warned)
        self._warned = warned
        self._change(applied)
        return self.state()

    def forget(self) -> State:
        """Drop files, recipe, history and cached answers."""
        self._empty()
        self._revision += 1
        return self.state()

    # State -----------------------------------------------------------------------------------
    def state(self) -> State:
        """Return revision, steps, file facts and recipe."""
        path = self._steps()
        recipe = self._final()
        first = self._first_list()  # which may warn
        return State(
            studio=STUDIO,
            revision=self._revision,
            step=[each["key"] for each in path if not each["missing"]][-1],
            steps=path,
            file=self._facts("main"),
            other=self._facts("other"),
            first_list=first,
            recipe=recipe.to_dict(),
            toml=recipe.to_toml(),
            undo=len(self._history.past),
            redo=len(self._history.future),
            warnings=[*self._warned, *self._read_warnings],
            waiting_for="" if self._waiting is None else self._waiting.data.get("name", "its file"),
            kept=self._kept() if not path[3]["missing"] else [],
        )

    def _facts(self, role: str) -> Any:
        upload = self._files.get(role)
        lists = self._list_count() if role == "main" else None
        return None if upload is None else file_facts(upload, self.recipe, self._settled, lists)

    def _steps(self) -> list[Step]:
        return steps(self.recipe, "main" in self._files)

    def _list_count(self) -> int | None:
        """Return the number of lists of the data, if they are read."""
        if self._held is not None and self._held[0] == self._data_key():
            data = self._held[1].__dict__.get("data")
            return None if data is None else int(data.n_queries)
        return None

    def _first_list(self) -> FirstList | None:
        upload = self._files.get("main")
        table = self.recipe.data
        if upload is None or not ("score" in table or "position" in table):
            return None
        if upload.facts["rows"] > READ_AT_ONCE and self._list_count() is None:
            return None
        try:
            return first_list(self._run())
        except StudioError as error:
            self._read_warnings = [error.message]
        except Exception as error:  # noqa: BLE001 - said in the state, which must answer
            self._read_warnings = [f"The first list cannot be shown ({place_of(error)})."]
        return None

    def patch(self, revision: int, patch: Mapping[str, Any], drag: str | None = None) -> State:
        """Change the recipe by a JSON merge patch (null removes a key), and raise the revision.

        Beside the tables of a recipe, ``{"roles": {COLUMN: ROLE}}`` sets what columns are,
        ``{"turn_round": true}`` reverses the order, ``{"remedy": [TABLE]}`` sets the setting in
        force (null: none) and leaves kept ones, ``{"keep": true}`` keeps it to compare (at most
        four), ``{"unkeep": INDEX}`` drops a kept one, and ``{"compare": {"score": COLUMN}}``
        compares with another score (null: with nothing). Patches with the same ``drag`` in a row
        are one entry of undo.

        Raises
        ------
        StudioError
            ``"revision"`` if the revision is old; ``"recipe"`` if the recipe would be invalid.
        """
        self._check(revision)
        self._need_file()
        given = dict(patch)
        tables = self.recipe.to_dict()
        situation = self._situation()
        for key, change in CHANGES.items():
            if key in given:
                change(situation, tables, given.pop(key))
        unknown = [key for key in given if key not in ("data", "against", "shown", "audit")]
        if unknown:
            raise StudioError("recipe", f"A patch must not change {unknown[0]!r}.")
        for part in ("data", "against"):
            own = given.get(part)
            if isinstance(own, Mapping) and set(own) & set(OF_THE_FILE):
                raise StudioError("recipe", f"A patch must not change the file of [{part}].")
        from ..recipes.recipe import Recipe, merge_patch

        try:
            recipe = consistent(Recipe.from_dict(merge_patch(tables, given)))
        except FormatError as error:
            raise StudioError("recipe", str(error).removeprefix("recipe: ")) from None
        lacking = lacking_columns(recipe, self._files["main"])
        if lacking:
            known = [column["name"] for column in self._files["main"].facts["columns"]]
            raise StudioError(
                "recipe",
                f"The file has no column {lacking[0]!r}{suggest(lacking[0], known)}.",
                {"column": lacking[0]},
            )
        self._settled = situation.settled
        self._change(recipe, drag)
        return self.state()

    def _situation(self) -> Situation:
        columns = tuple(column["name"] for column in self._files["main"].facts["columns"])
        return Situation(columns, {*self._settled}, lambda one: self._setting(one, self._run()))

    def _change(self, recipe: "Recipe", drag: str | None = None) -> None:
        self._history.change(recipe, drag)
        self._revision += 1

    def undo(self) -> State:
        """Return to the recipe before; without one, nothing changes."""
        self._revision += self._history.undo()
        return self.state()

    def redo(self) -> State:
        """Return to the recipe that undo left."""
        self._revision += self._history.redo()
        return self.state()

    def _check(self, revision: int) -> None:
        if revision != self._revision:
            raise StudioError("revision", CHANGED)

    def _need_file(self) -> None:
        if "main" not in self._files:
            raise StudioError("locked", NO_FILE)

    def _need(self, step: str) -> None:
        missing = {each["key"]: each["missing"] for each in self._steps()}[step]
        if missing:
            raise StudioError("locked", missing)

    def _final(self) -> "Recipe":
        """Return the recipe with the number of settings looked at."""
        count = self.recipe.looked_at + len(self._looked)
        return replace(self.recipe, looked_at=count)

    # Runs ------------------------------------------------------------------------------------
    def _data_key(self) -> str:
        rule = [self.recipe.audit.get(key) for key in ("selected", "cutoff", "quota", "stages")]
        return f"{self.recipe.key('data', 'against')}{rule}"

    def _named(self) -> dict[str, tuple[str, bytes]]:
        found = {"main": self._files["main"]}
        if "name" in self.recipe.against and "other" in self._files:
            found["other"] = self._files["other"]
        return {role: (each.name, each.content) for role, each in found.items()}

    def _new_run(self) -> Any:
        return make_run(self.recipe.to_dict(), self._named())

    def _run(self) -> Any:
        """Return the run of the present recipe; its data are read once."""
        key = self._data_key()
        held = self._held[1] if self._held is not None and self._held[0] == key else None
        run, told = held or self._new_run(), list[str]()
        self._guarded(lambda: run.given if _ordered(run.recipe) else run.data, told)
        if held is None:
            self._read_warnings = told
            self._held = (key, run)
        return run.again(self.recipe)

    def _guarded(self, work: Callable[[], Any], told: list[str] | None = None) -> Any:
        """Return what some work returns; its errors become refusals with their place."""
        return located(work, [] if told is None else told, self.recipe, self._files.get("main"))

    def _focus(self, run: Any) -> tuple[str, str]:
        """Return the group of interest: the protected one, that of the remedy, or the lowest."""
        from ..core.named_groups import named_groups

        known = {
            name: {str(group) for group in each.categories}
            for name, each in run.data.sensitive.items()
        }
        for text in self.recipe.audit.get("protected", ()):
            name, group = named_groups([text], run.data.sensitive)[0]
            if str(group) in known.get(name, ()):
                return name, str(group)
        result = self._quick(run)
        first = result.facts["attributes"][0]
        return first["name"], str(first["focus"])

    def _quick(self, run: Any) -> Any:
        key = f"quick {self._data_key()} {self.recipe.key('audit', 'shown')}"
        found = self._cache.get(key)
        if found is None:
            found = self._guarded(lambda: run.audit(quick=True))
            self._cache.put(key, found, 1 << 20)
        return found

    # Long work -------------------------------------------------------------------------------
    def job(self, kind: JobKind, revision: int, **more: Any) -> Job:
        """Return the long work of this kind at the present recipe.

        ``"audit"`` (``attribute=`` optional): the audit with intervals and tests -> `Findings`.
        ``"compare"``: the same against the other file or score -> `CompareAnswer`.
        ``"remedies"`` (``target=`` optional): `equirank.remedy` -> `RemediesAnswer`. ``"path"``:
        ``remedy=``, ``points=13`` or 61 -> `PathAnswer`. ``"report"``: the page ->
        ``{"html": str}``, ``which="given"`` or ``"remedy"``. ``"uncertainty"``: how sure the
        differences of the present remedy are -> `Findings`.
        """
        self._check(revision)
        self._need("remedy" if kind in ("remedies", "path", "uncertainty") else "findings")
        if kind == "compare" and not self.recipe.against:
            raise StudioError("locked", "Open a second file, or select a second score.")
        if kind == "uncertainty" and self.recipe.remedy is None:
            raise StudioError("locked", NO_REMEDY)
        recipe = self._final() if kind == "report" else self.recipe
        tables = recipe.to_dict()
        if kind in ("audit", "remedies", "path", "uncertainty"):
            tables.pop("against", None)
        extra: dict[str, Any] = {}
        if kind == "report":
            extra["which"] = self._which(more.get("which", ""))
        if kind == "path":
            run = self._run()
            setting = more.get("remedy")
            if setting is None:
                raise StudioError("recipe", "A path needs a setting to vary.")
            extra["focus"] = self._focus(run)
            extra["remedy"] = self._setting(setting, run)
            extra["points"] = check_points(more.get("points", 13))
        if kind == "remedies":
            extra["target"] = more.get("target") or self._target()
            if not isinstance(extra["target"], str):
                raise StudioError("recipe", "target must be text.")
        key = f"{kind} {recipe.key('data', 'against', 'shown', 'audit', 'remedy', 'looked_at')}"
        key += f" {sorted(extra.items())}"
        if kind == "path":
            key = f"path {self._path_key(extra['remedy'])} {extra['points']}"
        payload = extra | {
            "tables": tables, "files": self._named(), "revision": revision,
            "data_key": f"{self._data_key()}{'against' in tables}",
            "attribute": more.get("attribute", ""),
        }  # fmt: skip
        return Job(kind, revision, key, payload)

    def _path_key(self, setting: Mapping[str, Any]) -> str:
        """Return what the path of a setting depends on: all but the value of its main control."""
        from ..rerankers.chooser import methods

        main = next(iter(methods()[setting["method"]].controls), "")
        fixed = {name: value for name, value in setting.items() if name != main}
        return f"{fixed} {self.recipe.key('data', 'shown', 'audit')}"

    def _target(self) -> str:
        """Return the usual target for the group of interest: four fifths of the others' rate."""
        run = self._run()
        name = "=".join(self._focus(run))
        quoted = name if re.fullmatch(r"[\w=-]+", name) else f"{name!r}"
        return f"{quoted} selected at {run.k} >= 0.8"

    def _which(self, which: str) -> Literal["given", "remedy"]:
        if which not in ("", "given", "remedy"):
            raise StudioError("missing", f"There is no report {which!r}.")
        if which == "remedy" and self.recipe.remedy is None:
            raise StudioError("locked", NO_REMEDY)
        remedied = which == "remedy" or (not which and self.recipe.remedy is not None)
        return "remedy" if remedied else "given"

    def cached(self, job: Job) -> Any:
        """Return the answer of an equal job that was finished before, or None."""
        found = self._cache.get(job.key)
        return None if found is None else self._typed(job, found)

    def finish(self, job: Job, answer: Mapping[str, Any]) -> Any:
        """Store what `run_job` returned, and return the typed answer named at `job`."""
        size = sum(len(value) for value in answer.values() if isinstance(value, str)) + (1 << 16)
        self._cache.put(job.key, dict(answer), size)
        return self._typed(job, answer)

    def _typed(self, job: Job, answer: Mapping[str, Any]) -> Any:
        from ..auditing.audit_result import AuditResult

        if job.kind in ("audit", "uncertainty", "compare"):
            result = AuditResult.from_json(answer["json"])
            if job.kind == "compare":
                return compare_answer(result, self._run(), job.revision, complete=True)
            return findings(result, job.revision, True, str(job.payload["attribute"] or ""))
        found = {key: value for key, value in answer.items() if key not in ("json", "warned")}
        if job.kind == "report":
            return found
        found["revision"] = job.revision
        if job.kind == "path":
            self._path = (self._path_key(job.payload["remedy"]), found)
        return found

    # Quick work ------------------------------------------------------------------------------
    def quick_audit(self, revision: int, attribute: str = "") -> Findings:
        """Audit without resampling: tables and pictures, no finding."""
        self._check(revision)
        self._need("findings")
        return findings(self._quick(self._run()), self._revision, False, attribute)

    def quick_compare(self, revision: int) -> CompareAnswer:
        """Compare without resampling: unmatched counts and summaries."""
        self._check(revision)
        self._need("findings")
        if not self.recipe.against:
            raise StudioError("locked", "Open a second file, or select a second score.")
        run = self._run()
        return compare_answer(self._quick(run), run, self._revision, complete=False)

    def remedy_facts(self, revision: int) -> RemedyFacts:
        """Return the choices of the remedy screen."""
        self._check(revision)
        self._need("remedy")
        run = self._run()
        present = self.recipe.remedy
        path = None
        if present is not None and self._path is not None:
            path = self._path[1] if self._path[0] == self._path_key(present) else None
        return remedy_facts(run, self._revision, self._focus(run), path)

    def _setting(self, remedy: Any, run: Any) -> dict[str, Any]:
        """Return a checked setting of the recipe."""
        from ..recipes.recipe import Recipe
        from ..recipes.remedy_settings import completed

        if not isinstance(remedy, Mapping):
            raise StudioError("recipe", "A remedy must be a table of settings, or null.")
        table = {key: value for key, value in remedy.items() if key != "kept"}
        table = completed(table, run.data, self._focus(run)[1])
        try:
            Recipe.from_dict({"remedy": [table]})
        except FormatError as error:
            raise StudioError("recipe", str(error).removeprefix("recipe: ")) from None
        return table

    def try_remedy(
        self,
        revision: int,
        seq: int,
        remedy: Mapping[str, Any] | None,
        list: str | None = None,
    ) -> TryAnswer:
        """Apply one setting (None: the given order) and say what changes.

        ``remedy`` is a table of the recipe, such as ``{"method": "PrefixConstraints", "by": "sex",
        "k": 10, "lower": {"female": 0.4}}``; ``list`` names the list of the picture, by default
        the one in which most people move. Never changes the recipe.
        """
        self._check(revision)
        self._need("remedy")
        from ..recipes.remedy_settings import try_setting

        run = self._run()
        setting = None if remedy is None else self._setting(remedy, run)
        told: Any = []
        tried = self._guarded(lambda: try_setting(run, setting), told)
        focus, at = self._focus(run), self._revision
        answer = tried_answer(run, tried, setting, focus, at, seq, list, told)
        if setting is not None:
            self._looked.add(repr(sorted(setting.items(), key=repr)))
        return answer

    def _kept(self) -> list[dict[str, Any]]:
        """Return the kept settings in words, with their measures."""
        found = []
        for kept in self.recipe.to_dict().get("remedy", []):
            if not kept.get("kept"):
                continue
            key = f"kept {self._data_key()} {self.recipe.key('audit', 'shown')} {kept}"
            answer = self._cache.get(key)
            if answer is None:
                answer = self._kept_answer(kept)
                self._cache.put(key, answer, 1 << 12)
            found.append(answer)
        return found

    def _kept_answer(self, kept: dict[str, Any]) -> dict[str, Any]:
        from ..recipes.remedy_settings import try_setting
        from ..recipes.setting_words import setting_words

        try:
            run = self._run()
            setting = self._setting(kept, run)
            tried = self._guarded(lambda: try_setting(run, setting), [])
            focus = self._focus(run)
            answer = tried_answer(run, tried, setting, focus, self._revision, 0, None, [])
            return {
                "words": setting_words(run, setting), "measures": answer["measures"],
                "moves": answer["moves"], "remedy": setting,
            }  # fmt: skip
        except StudioError as error:
            words = error.message
        except Exception as error:  # noqa: BLE001 - said in the state, which must answer
            words = f"this setting cannot be shown ({place_of(error)})."
        from ..rerankers.chooser import methods

        name = methods()[kept["method"]].plain_name
        return {"words": f"{name}: {words}", "measures": [], "remedy": kept}

    def explain(
        self, remedy: Mapping[str, Any] | None, person: str, list: str | None = None
    ) -> ExplainAnswer:
        """Explain the position of a person, given or after a remedy."""
        self._need("remedy")
        from ..recipes.remedy_settings import try_setting

        run = self._run()
        setting = None if remedy is None else self._setting(remedy, run)
        row = row_of(run, person, list)
        tried = self._guarded(lambda: try_setting(run, setting), [])
        return self._guarded(lambda: explained(run, tried, row, person), [])

    def people(
        self,
        list: str | None = None,
        after: int = 0,
        find: str = "",
        remedy: Mapping[str, Any] | None = None,
    ) -> PeoplePage:
        """Return 100 people of a list (None: of all) from a place on, whose id contains a text."""
        self._need("remedy")
        from ..recipes.remedy_settings import try_setting

        run = self._run()
        result = None
        if remedy is not None:
            setting = self._setting(remedy, run)
            result = self._guarded(lambda: try_setting(run, setting), []).result
        return people_page(run, list, after, find, result)

    # Take it away ----------------------------------------------------------------------------
    def download(
        self,
        kind: Literal["report", "list", "recipe", "numbers", "code"],
        which: str = "",
    ) -> Download:
        """Return a file as `equirank run` writes it, byte for byte.

        ``which``: ``"given"`` or ``"remedy"`` for report and numbers (by default the remedy's, if
        there is one), ``"remedy"`` or ``"kept-1"`` and so on for lists. The code has the command
        lines and the Python code. Report and numbers take as long as their job unless it was
        finished before.
        """
        self._need_file()
        if kind == "recipe":
            return _download("recipe.toml", self._final().to_toml().encode())
        if kind == "code":
            from ..recipes.recipe_code import recipe_code

            return _download("code.py", recipe_code(self._final()).encode())
        self._need("remedy" if kind == "list" else "findings")
        if kind == "list":
            return self._list_file(which)
        if kind not in ("report", "numbers"):
            raise StudioError("missing", f"There is no download {kind!r}.")
        job = self.job("report", self._revision, which=which)
        answer = self._cache.get(job.key)
        if answer is None:
            answer = run_job(job)
            self.finish(job, answer)
        start = "remedy-" if job.payload["which"] == "remedy" else ""
        if kind == "report":
            return _download(f"{start}report.html", answer["html"].encode())
        return _download(f"{start}numbers.json", answer["json"].encode())

    def _list_file(self, which: str) -> Download:
        run = self._run()
        if which in ("", "remedy"):
            setting, name = self.recipe.remedy, "list.csv"
        else:
            number = which.removeprefix("kept-")
            kept = self.recipe.kept
            at = int(number) - 1 if number.isascii() and number.isdigit() else -1
            setting = kept[at] if 0 <= at < len(kept) else None
            name = f"{which}-list.csv"
        if setting is None:
            raise StudioError("locked", NO_REMEDY)
        return _download(name, self._guarded(lambda: run.new_list(setting), []))


def _download(name: str, content: bytes) -> Download:
    return Download(name, MEDIA[name.rpartition(".")[2]], content)


def _ordered(recipe: "Recipe") -> bool:
    return "score" in recipe.data or "position" in recipe.data
