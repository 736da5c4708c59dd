"""Write the tables of ``config/*.md`` from the parameter models: types, defaults, texts.

``relaxometer parameter-tables`` rewrites the pages; with ``--check`` it only checks them.
Each table is between ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

import argparse
import inspect
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from relaxometer.core.checkout import ROOT
from relaxometer.core.docstrings import Entry, described
from relaxometer.core.errors import UserError
from relaxometer.datasets import parameters as shared
from relaxometer.datasets.formats import all_formats
from relaxometer.datasets.registry import Dataset
from relaxometer.distributed.engines import ENGINES
from relaxometer.plan import models
from relaxometer.problems.problem import load_problem, problem_names
from relaxometer.problems.variants import load_solver, solver_names
from relaxometer.rivals.definition import find_rivals

PAGES = sorted((ROOT / "config").glob("*.md"))

_TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def entries(model: type[BaseModel]) -> list[Entry]:
    """Return the entries of a model's parameters in the order of its fields; UserError if one is missing."""
    found, fields = described(model), model.model_fields
    names = [name for name, field in fields.items() if not _is_fixed(field)]
    for name in (name for name in names if isinstance(fields[name].default, BaseModel)):
        found.setdefault(name, Entry((name,), "", ""))  # its class describes it
    missing = [name for name in names if name not in found]
    if missing:
        raise UserError(f"{model.__module__}.{model.__qualname__}: no description of {', '.join(missing)}")
    return list(dict.fromkeys(found[name] for name in names))


def _is_fixed(field: FieldInfo) -> bool:
    """Return whether a field has one possible value, as the tags of distributions do."""
    return get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1


def rows(model: type[BaseModel]) -> list[tuple[str, str, str, str]]:
    """Return names, allowed values, defaults and meaning for each entry of a model."""
    found = []
    for entry in entries(model):
        fields = [model.model_fields[name] for name in entry.names if name in model.model_fields]
        said = re.sub(r",? *\b(optional|default=.*)$|[{}]", "", entry.values)
        values = said or str(fields[0].discriminator or _in_words(fields[0].annotation))
        defaults = [_default(field) for field in fields]
        defaults = defaults[:1] if len(set(defaults)) == 1 else defaults
        meaning = entry.meaning
        if not meaning and isinstance(fields[0].default, BaseModel):
            meaning = (inspect.getdoc(fields[0].default) or "").partition("\n")[0]
        names = ", ".join(f"`{name}`" for name in entry.names)
        found.append((names, _markdown(values), ", ".join(defaults), _markdown(meaning)))
    return found


def _in_words(kind: Any) -> str:
    """Return a type in words; `None` is what the absence of a value means."""
    origin, of = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return next(filter(None, (getattr(one, "discriminator", "") for one in of[1:])), _in_words(of[0]))
    if origin is Literal:
        return ", ".join(_alternatives(kind))
    if origin in (Union, types.UnionType):
        of = tuple(one for one in of if one is not types.NoneType)
        if len(of) == 1:
            return _in_words(of[0])
        *others, last = dict.fromkeys(chain.from_iterable(map(_alternatives, of)))
        return f"{', '.join(others)} or {last}".replace(" or False or False", " or False")
    if origin is list and of[0] is not Any:
        return f"list of {_in_words(of[0])}"
    if origin is tuple:
        return f"[{', '.join(map(_in_words, of))}]"
    if origin is dict and of[1] is not Any:
        return f"dict of str to {_in_words(of[1])}"
    return (origin or kind).__name__ if (origin or kind) in (bool, int, float, str, list) else "section"


def _alternatives(kind: Any) -> list[str]:
    """Return what a member of a union stands for, in words; the values of a literal count one by one."""
    if get_origin(kind) is Literal:
        return [f'"{one}"' if isinstance(one, str) else str(one) for one in get_args(kind)]
    return [_in_words(kind)]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if type(value).__module__ == models.__name__ or value in (None, "", {}, []):
        return ""
    value = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    text = yaml.safe_dump(
        list(value) if isinstance(value, tuple) else value, default_flow_style=True, width=1000
    )
    return f"`{text.splitlines()[0]}`"


def _markdown(text: str) -> str:
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text).replace('``"', '"').replace('"``', '"')
    return re.sub(r'"([^"\s]+)"', r"`\1`", text.replace("``", "`")).replace("|", r"\|")


def table(what: str, named: Mapping[str, type[BaseModel]]) -> str:
    """Return one table of several models' parameters; equal models share their rows."""
    groups: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for name, model in named.items():
        groups.setdefault(tuple(rows(model)) or (("none", "", "", ""),), []).append(name)
    cells = [
        ("" if number else ", ".join(names), *row)
        for shared_rows, names in groups.items()
        for number, row in enumerate(shared_rows)
    ]
    return _lines((what, "parameter", "values", "default", "meaning"), cells)


def section(model: type[BaseModel]) -> str:
    """Return the table of one section of the configuration."""
    return _lines(("key", "values", "default", "meaning"), rows(model))


def _lines(heads: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(heads), *cells))


def _solvers(problem: str) -> str:
    suffixes = {"graph": "", "batch": " (batches)", "either": " (graphs and batches)"}
    named = {}
    for solver in solver_names(problem):
        module = load_solver(problem, solver)
        suffix = suffixes[getattr(module.Solver, "takes", "graph")]
        named[f"`{solver}`{suffix}"] = module.Parameters
    return table("solver", named)


def _formats(part: str) -> str:
    """Return the table of the formats that are ``"read"``, ``"generated"`` or ``"batches"``."""
    needs = {"file": " (file)", "seed": " (`seed`)", "extracted_from": " (`extracted_from`)", None: ""}
    named: dict[str, type[BaseModel]] = {}
    for name, form in all_formats().items():
        kind = "batches" if form.batch else "generated" if ".generators." in form.module else "read"
        if kind == part:
            named[f"`{name}`{needs[form.needs]}"] = form.parameters
    return table("format", named)


def _rivals() -> str:
    lines = []
    for name, rival in find_rivals([]).items():
        one = rival.definition
        parameters = [f"`{key}` = `{given.default}`: {given.about}" for key, given in one.parameters.items()]
        cells = f"`{name}`", f"[{one.title}]({one.url})", one.licence, one.class_, ", ".join(one.problems)
        lines.append((*cells, _markdown("; ".join(parameters))))
    return _lines(("rival", "program", "licence", "runs on", "problems", "parameters"), lines)


def tables() -> dict[str, str]:
    """Return all tables by the names in their marks."""
    sections = (
        models.config_model(problem_names()),
        models.Timing,
        models.Cost,
        models.Problem,
        models.Variant,
        models.RivalEntry,
        models.Throughput,
        models.BfsThroughput,
        models.Traffic,
        models.AllPairs,
        models.Updates,
        models.RetainedSizes,
        models.Series,
        models.Report,
        Dataset,
        shared.Weights,
    )
    distributions = {
        f"`{get_args(model.model_fields['distribution'].annotation)[0]}`": model
        for model in (shared.Unit, shared.LogUniform, shared.LogNormal, shared.Values)
    }
    engines = {f"`{name}`": e.parameters for of in ENGINES.values() for name, e in of.items()}
    queries = {name: load_problem(name).queries for name in problem_names()}
    return {
        **{model.__name__: section(model) for model in sections},
        **{problem: _solvers(problem) for problem in problem_names()},
        **{f"{problem}.queries": section(kind.spec) for problem, kind in queries.items() if kind},
        "rivals": _rivals(),
        "engines": table("engine", engines),
        **{part: _formats(part) for part in ("read", "generated", "batches")},
        "distributions": table("distribution", distributions),
    }


def written(pages: Sequence[str]) -> list[str]:
    """Return pages with their tables rewritten; UserError if their marks and the tables differ."""
    known = tables()
    marks = [name for page in pages for _, name, _ in _TABLE.findall(page)]
    if sorted(marks) != sorted(known):
        raise UserError(f"tables {', '.join(sorted(known))}, but marks {', '.join(sorted(marks))}")
    return [_TABLE.sub(lambda mark: f"{mark[1]}{known[mark[2]]}{mark[3]}", page) for page in pages]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="exit with 1 if a page is out of date")


def main(given: argparse.Namespace) -> None:
    """Rewrite the pages, or only check them; UserError if one is out of date then."""
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    for file, page, current in zip(PAGES, pages, written(pages), strict=True):
        if not given.check:
            file.write_text(current, encoding="utf-8")
        elif page != current:
            raise UserError(f"{file} is out of date: run relaxometer parameter-tables")
