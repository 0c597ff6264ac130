"""Long work of the studio, carried out in any process."""

from collections.abc import Mapping
from typing import Any

from ..io.files import FileInMemory
from .answers import Job, Progress, StudioError
from .uploads import caught

__all__ = ["check_points", "make_run", "run_job"]

#: The data of the last job of this process, so that the next one need not read them again.
_LAST: dict[str, Any] = {}


def make_run(tables: Mapping[str, Any], files: Mapping[str, tuple[str, bytes]]) -> Any:
    """Return the run of a recipe on files in memory."""
    from ..recipes.recipe import Recipe
    from ..recipes.recipe_run import RecipeRun

    given = {role: FileInMemory(*named) for role, named in files.items()}
    return RecipeRun(Recipe.from_dict(tables), given["main"], given.get("other"))


def run_job(job: Job, progress: Progress | None = None) -> dict[str, Any]:
    """Carry out a job and return its picklable answer, for `Workspace.finish`.

    Parameters
    ----------
    job : Job
        The work.
    progress : callable, optional
        Called with the share done (0 to 1) and words; what it raises ends the work.

    Raises
    ------
    StudioError
        If the data or a setting do not allow it.
    """
    told: list[str] = []
    given = job.payload
    run = make_run(given["tables"], given["files"])
    key = given["data_key"]
    if _LAST.get("key") == key:
        run = _LAST["run"].again(run.recipe)
    try:
        answer: dict[str, Any] = caught(lambda: _WORK[job.kind](run, given, progress), told)
    finally:
        if "data" in run.__dict__:
            _LAST.update(key=key, run=run)
    return answer | {"warned": told}


def _audit(run: Any, given: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
    return {"json": run.audit("given", progress=progress).to_json()}


def _uncertainty(run: Any, given: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
    return {"json": run.audit("remedy", progress=progress).to_json()}


def _report(run: Any, given: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
    from ..auditing.audit_page import render

    result = run.audit(given["which"], progress=progress)
    return {"html": render(result), "json": result.to_json()}


def _path(run: Any, given: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
    from ..recipes.remedy_settings import setting_path, try_setting
    from .remedy_screen import path_answer

    focus, setting = given["focus"], given["remedy"]
    found = setting_path(run, setting, focus[1], given["points"], progress)
    as_given = try_setting(run, setting)  # whose measures before are those of the given order
    return dict(path_answer(run, found, as_given, focus, given["revision"]))


def _remedies(run: Any, given: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
    from ..core.environment import listening
    from ..search.remedy import remedy
    from .remedy_screen import remedies_answer

    audit = run.recipe.audit
    with listening(progress):
        found = remedy(
            run.data,
            given["target"],
            k=run.k,
            n_boot=0,
            random_state=audit.get("seed", 0),
            date=audit.get("date"),
            title=run.name,
            shown=run.shown_names(),
        )
    return dict(remedies_answer(found, given["revision"]))


_WORK = {
    "audit": _audit,
    "compare": _audit,
    "uncertainty": _uncertainty,
    "report": _report,
    "path": _path,
    "remedies": _remedies,
}


def check_points(points: Any) -> int:
    """Return the number of points of a path; raise unless it is from 2 to 201."""
    if not isinstance(points, int) or isinstance(points, bool) or not 2 <= points <= 201:
        raise StudioError("recipe", f"points must be a whole number from 2 to 201, got {points!r}")
    return points
