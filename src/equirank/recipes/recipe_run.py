"""RecipeRun: a recipe applied to its file, and the files that it gives back."""

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..core.errors import DataError, EquirankWarning
from .recipe import Recipe, plain_value
from .toml_text import shell_line

if TYPE_CHECKING:
    from ..auditing.audit_result import AuditResult
    from ..core.data import RankingData
    from ..core.outcomes import DecisionRule
    from ..core.ranking import Ranking
    from ..rerankers.reranking import Reranking

__all__ = ["LOOKED_AT", "RecipeRun", "by_decisions", "make_reranker", "remedy_title", "selected_k"]

Which = Literal["given", "remedy"]
Progress = Callable[[float, str], None] | None
#: The roles of columns that a recipe may name, and their keys in `read_file`.
ROLES = ("query", "score", "position", "relevance", "id")
READING = ("delimiter", "decimal", "columns", "repeated", "sheet", "unknown", "keep_labels")
#: Options of an audit that are passed on as they are.
PASSED = (
    *("protected", "reference", "scored", "metrics", "profile", "leave_out_small", "n_boot"),
    *("level", "ties", "title", "purpose", "period", "author", "date"),
)
#: Options that an audit of a new order does not have.
NOT_AFTER = ("profile", "leave_out_small", "ties")
LOOKED_AT = (
    "{} settings were looked at before this one was chosen. A setting that was chosen by its "
    "results on these data looks better here than on other data."
)
#: Selected people per list, if the recipe names no number.
USUAL_K = 10


class RecipeRun:
    """A recipe applied to its file.

    Parameters
    ----------
    recipe : Recipe
        The settings.
    file : str
        The path of the data, or a `FileInMemory`.
    against : str, optional
        The file compared with, if ``[against]`` names one.

    Examples
    --------
    >>> from equirank.datasets import hiring_path
    >>> tables = {"query": "vacancy", "score": "score", "sensitive": ["sex"]}
    >>> remedy = {"method": "PrefixConstraints", "lower": {"female": 0.4}, "k": 10}
    >>> run = RecipeRun(Recipe.from_dict({"data": tables, "remedy": [remedy]}), str(hiring_path()))
    >>> run.data
    RankingData(3213 rows, 60 queries, score, sex (2 groups))
    >>> len(run.reranked(remedy).moves)
    344
    """

    def __init__(self, recipe: Recipe, file: str, against: str | None = None) -> None:
        self.recipe, self.file, self._against = recipe, file, against

    @cached_property
    def data(self) -> "RankingData":
        """The data of the file.

        Another hash than that of the recipe is a warning.
        """
        found = self._read(self.file, self.recipe.data)
        wanted = self.recipe.data.get("sha256")
        if wanted and found.source is not None and found.source.sha256 != wanted:
            warnings.warn(
                f"{found.source.name} is not the file that the recipe was made with: its SHA-256 "
                f"begins with {found.source.sha256[:12]}, that of the recipe with {wanted[:12]}",
                EquirankWarning,
                stacklevel=2,
            )
        return found

    @cached_property
    def given(self) -> "Ranking":
        """The order that the file states."""
        return self.data.ranking()

    def again(self, recipe: Recipe) -> "RecipeRun":
        """Return the run of a recipe that reads the same data, without reading them again."""
        made = RecipeRun(recipe, self.file, self._against)
        names = ("data", "given", "other")
        made.__dict__ |= {name: self.__dict__[name] for name in names if name in self.__dict__}
        return made

    @cached_property
    def other(self) -> "RankingData | None":
        """The data compared with: of another file, or of another score of this one."""
        given = self.recipe.against
        if not given:
            return None
        own_file = "name" not in given
        if own_file != (self._against is None):
            need = "must be omitted" if own_file else f"must be given: {given['name']}"
            raise DataError(f"the file compared with {need}")
        return self._read(self._against or self.file, self.other_table())

    def other_table(self) -> dict[str, Any]:
        """Return how the ranking compared with is read: as ``[data]``, where it says nothing."""
        given = self.recipe.against
        skipped = ("name", "sha256") if "name" not in given else ("name", "sha256", "format")
        base = {key: value for key, value in self.recipe.data.items() if key not in skipped}
        if "score" in given:
            base.pop("position", None)
        return base | dict(given)

    @property
    def other_title(self) -> str:
        """The name of the ranking compared with: that of its file, or of its score."""
        given = self.recipe.against
        return str(given.get("name") or given.get("score", ""))

    @cached_property
    def rule(self) -> "DecisionRule":
        """What decides who is selected."""
        from ..core.outcomes import DecisionRule

        given = self.recipe.audit
        names = ("selected", "cutoff", "quota", "yes", "k")
        ways = {name: plain_value(given[name]) for name in names if name in given}
        return DecisionRule(stages=tuple(given.get("stages", ())), **ways)

    def _read(self, file: str, table: Mapping[str, Any]) -> "RankingData":
        """Read a file as a table of the recipe says; a role that it omits has no column."""
        from ..core.inputs import frozen
        from ..io.table_file import read_file

        roles: dict[str, Any] = {role: table.get(role, False) for role in ROLES}
        if roles["score"] is False and roles["position"] is False:
            found = self.rule.score_column(None, None)
            roles["score"] = False if found is None else found
        options = {name: plain_value(table[name]) for name in READING if name in table}
        if "file_encoding" in table:
            options["encoding"] = table["file_encoding"]
        groups = list(table.get("sensitive", ()))
        for name in ("labels", "bands"):
            known = plain_value(table.get(name, {}))
            options[name] = {each: known[each] for each in groups if each in known} or None
        data = read_file(
            file,
            table.get("format"),
            sensitive=groups,
            outcomes=self.rule.columns() or None,
            features=(),
            missing_sensitive="unknown",
            missing_relevance=table.get("missing_relevance", "error"),
            max_groups=table.get("max_groups"),
            cost=False,
            **roles,
            **options,
        )
        if table.get("higher_first", True):
            return data
        if data.score is None or self.rule.cutoff:
            what = "a score" if data.score is None else "no cutoff, which compares scores"
            raise DataError(f"higher_first = false needs {what}")
        remark = f"lower {roles['score']!r} is ranked first, so its sign was turned round"
        source = data.source and replace(data.source, remarks=(*data.source.remarks, remark))
        return replace(data, score=frozen(-data.score), source=source)

    def table(self, file: str, table: Mapping[str, Any]) -> Any:
        """Return a file as a `TableFile`."""
        from ..io.file_options import FileOptions
        from ..io.table_file import TableFile, format_of

        names = ("delimiter", "decimal", "columns", "repeated", "sheet")
        options = {name: plain_value(table[name]) for name in names if name in table}
        if "file_encoding" in table:
            options["encoding"] = table["file_encoding"]
        return TableFile(file, table.get("format") or format_of(file), FileOptions(**options))

    @property
    def k(self) -> int:
        """How many of each list are selected, for orders and lists."""
        return selected_k(self.recipe)

    def audit(
        self, which: Which = "given", *, quick: bool = False, progress: Progress = None
    ) -> "AuditResult":
        """Audit the given order, or the one after the remedy in force against it.

        Parameters
        ----------
        which : {"given", "remedy"}
            What is audited; the given order is compared with ``[against]``, if there is one.
        quick : bool
            Whether nothing is resampled: then there are no findings.
        progress : callable, optional
            As in `equirank.audit`.
        """
        from ..auditing.audit import audit

        given = self.recipe.audit
        settings: dict[str, Any] = {
            name: plain_value(given[name]) for name in PASSED if name in given
        } | self._decided(which)
        settings |= {"random_state": given.get("seed", 0), "shown": self.shown_names()}
        settings.setdefault("title", self.name)
        if quick:
            settings |= {"n_boot": 0, "n_permutations": 0}
        if which == "remedy":
            new = self.reranked(self._in_force)
            data: Any = new.with_everyone()
            settings["title"] = remedy_title(settings["title"], self._in_force)
            settings |= {"against": new.before, "against_title": self.name}
            for name in NOT_AFTER:
                settings.pop(name, None)
        else:
            data, other = self.paired()
            if other is not None:
                settings |= {"against": other, "against_title": self.other_title}
        result = audit(data, **settings, progress=progress)
        if self.recipe.looked_at > 1:
            words = LOOKED_AT.format(f"{self.recipe.looked_at:,}")
            result.notes.append({"kind": "looked_at", "text": words})
        result.provenance = self._recorded(result.provenance, which)
        return result

    def _decided(self, which: Which) -> dict[str, Any]:
        """Return the options of who is selected; a new order is judged by the top k."""
        if which == "remedy" and by_decisions(self.rule):
            return {"k": self.k}
        names = ("selected", "cutoff", "quota", "yes", "k")
        found = {name: getattr(self.rule, name) for name in names}
        return found | {"stages": self.rule.stages or None}

    def paired(self) -> "tuple[RankingData, RankingData | None]":
        """Return the data and those compared with, whose people are paired by id.

        Two scores of one file without ids are paired by row.
        """
        data, other = self.data, self.other
        if other is None or "name" in self.recipe.against or data.ids is not None:
            return data, other
        return data, replace(other, offsets=data.offsets, qids=data.qids)

    @property
    def name(self) -> str:
        """The name of the file in titles."""
        source = self.data.source
        return "ranking" if source is None else source.name

    @property
    def _in_force(self) -> Mapping[str, Any]:
        if self.recipe.remedy is None:
            raise DataError("the recipe must have a [[remedy]] that is not kept")
        return self.recipe.remedy

    def shown_names(self) -> dict[str, dict[str, str]]:
        """Return the names of groups in sentences, by attribute."""
        found: dict[str, dict[str, str]] = {}
        for key, word in self.recipe.shown.items():
            known = [each for each in self.data.sensitive if key.startswith(f"{each}=")]
            attribute = max(known, key=len) if known else key.partition("=")[0]
            found.setdefault(attribute, {})[key[len(attribute) + 1 :]] = word
        return {name: names for name, names in found.items() if name in self.data.sensitive}

    def reranked(self, remedy: Mapping[str, Any]) -> "Reranking":
        """Return the order after a setting; an impossible guarantee gives the closest order."""
        if self.data.score is None and self.data.position is None:
            raise DataError("a remedy needs a score or a position, got neither")
        result: Any = make_reranker(remedy, self.data)(self.given)
        if result.n_draws > 1:
            raise DataError(f"{remedy['method']} must return one draw, got {result.n_draws}")
        found: Reranking = result
        return found

    def _recorded(self, record: Any, which: Which) -> Any:
        """Return the provenance with the recipe and the command, the same wherever it is run."""
        digest = hashlib.sha256(self.recipe.to_toml().encode()).hexdigest()
        settings: dict[str, Any] = {"recipe": digest}
        if which == "remedy":
            settings["remedy"] = plain_value(self._in_force)
        name = self.recipe.data.get("name") or self.name
        other = self.recipe.against.get("name")
        against = ("--against", other) if other else ()
        command = shell_line("equirank", "run", "RECIPE", "--data", name, *against)
        return replace(record.with_inputs(**settings), command=command)

    def report(self, which: Which = "given", progress: Progress = None) -> bytes:
        """Return the report as one HTML file."""
        from ..auditing.audit_page import render

        return render(self.audit(which, progress=progress)).encode()

    def numbers(self, which: Which = "given", progress: Progress = None) -> bytes:
        """Return all numbers as JSON."""
        return self.audit(which, progress=progress).to_json().encode()

    def new_list(self, remedy: Mapping[str, Any]) -> bytes:
        """Return the file as CSV in the order of a setting, with positions, selected and reasons.

        Nobody is dropped. Text that a spreadsheet would run as a formula begins with a quote.
        """
        from ..io.write_table import table_text
        from .reranked_list import reranked_list

        table = self.table(self.file, self.recipe.data)
        cells = table.cells(text=True)
        if table.kind == "parquet":  # whose columns are arrays of pyarrow
            cells = {
                name: np.fromiter(values.to_pylist(), dtype=object, count=len(values))
                for name, values in cells.items()
            }
        k = int(remedy.get("k") or self.k)
        return table_text(reranked_list(self.reranked(remedy), cells, k)).encode()

    def files(self, progress: Progress = None) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the bytes of each file that ``equirank run`` writes."""
        from ..auditing.audit_page import render

        parts: list[tuple[Which, str]] = [("given", "")]
        parts += [("remedy", "remedy-")] if self.recipe.remedy is not None else []
        for which, start in parts:
            result = self.audit(which, progress=progress)
            yield f"{start}report.html", render(result).encode()
            yield f"{start}numbers.json", result.to_json().encode()
        if self.recipe.remedy is not None:
            yield "list.csv", self.new_list(self.recipe.remedy)
        for number, kept in enumerate(self.recipe.kept, start=1):
            yield f"kept-{number}-list.csv", self.new_list(kept)


def selected_k(recipe: Recipe) -> int:
    """Return how many of each list are selected: the first k of the audit, or 10."""
    ks = recipe.audit.get("k") or (USUAL_K,)
    return int(ks[0])


def by_decisions(rule: "DecisionRule") -> bool:
    """Return whether decisions or a cutoff, not positions, say who is selected."""
    return bool(rule.recorded or rule.cutoff or rule.quota)


def remedy_title(title: str, remedy: Mapping[str, Any]) -> str:
    """Return the title of the report about a new order: what the remedy does, in plain words."""
    from ..rerankers.chooser import methods

    name = methods()[remedy["method"]].plain_name
    return f"{title}, re-ranked: {name[:1].lower()}{name[1:]}"


def make_reranker(remedy: Mapping[str, Any], data: "RankingData") -> Any:
    """Return the re-ranker of a setting, whose groups are those of the data.

    Unless the setting says otherwise, an impossible guarantee gives the closest order.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data(score=[2, 1], sensitive_features={"sex": [0, 1]})
    >>> make_reranker({"method": "PrefixConstraints", "lower": {"1": 0.5}}, data).lower
    {1: 0.5}
    """
    from ..rerankers.chooser import methods

    kind = methods()[remedy["method"]]
    params = {key: plain_value(v) for key, v in remedy.items() if key not in ("method", "kept")}
    by = params.get("by")
    if isinstance(by, list):
        by = params["by"] = tuple(by)
    if by is None and len(data.sensitive) == 1:
        by = next(iter(data.sensitive))
    if by is not None:
        known = {str(group): group for group in data.attribute(by).categories}
        params = {key: _with_groups(key, value, known) for key, value in params.items()}
    if "on_infeasible" in kind.params:
        params.setdefault("on_infeasible", "best")
    return kind(**params)


def _with_groups(key: str, value: Any, known: Mapping[str, Any]) -> Any:
    """Return a parameter with the groups of the data in place of their texts."""
    if isinstance(value, dict):
        return {known.get(group, group): each for group, each in value.items()}
    if key == "protected":
        if isinstance(value, list):
            return [known.get(str(each), each) for each in value]
        return known.get(str(value), value)
    return value
