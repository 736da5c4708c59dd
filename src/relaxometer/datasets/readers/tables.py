"""Reader of tables of edges with named columns and ids of any kind: text, Parquet and Arrow files."""

from __future__ import annotations

import csv as slow_csv
import io
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, ipc

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.tables import TableParameters
from relaxometer.datasets.parameters import Values
from relaxometer.datasets.readers.edge_weights import value_column
from relaxometer.datasets.readers.own_weights import weights_of
from relaxometer.datasets.readers.text import (
    MAX_LINE,
    Column,
    Line,
    lines,
    note_on_completeness,
    opened,
    refuse,
    within,
)
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.files import parquet
from relaxometer.graphs.graph import Graph

USUAL = {
    "source": ("source", "from", "tail", "src", "u"),
    "target": ("target", "to", "head", "dst", "v"),
    "weight": ("weight", "cost", "length", "distance"),
}
"""Names of columns by the key that names another one."""

PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather")
COMMENTS = ("#", "%")
DAMAGED = "it is damaged or of another kind: fetch it again"
NUMBER = r"^(0|-?[1-9][0-9]{0,19})$"
"""Ids that are numbers without a loss: 007 is a text."""

Ids = npt.NDArray[np.uint32]


def build(name: str, dataset: Dataset[TableParameters], files: list[Path], base: Graph | None) -> Graph:
    """Make the graph of a table; see :data:`relaxometer.datasets.build.Reader`.

    The vertices are those that occur, in ascending order of their ids: numbers by value, texts by bytes.
    """
    (file,) = files
    parameters = dataset.parameters
    is_text = file.suffix not in (*PARQUET, *ARROW)
    read = _read_text if is_text else _read_parquet if file.suffix in PARQUET else _read_arrow
    table = read(file, parameters)
    ids, tails, heads = _numbered(table)
    weights = weights_of(file, parameters, tails, heads, table.values, directed=parameters.directed)
    return Graph.from_arcs(
        name,
        len(ids),
        tails,
        heads,
        weights,
        undirected=not parameters.directed,
        weight_type=weights.dtype.name,
        ids=ids,
        metadata={
            "rows_in_file": len(tails),
            "columns_read": ", ".join(table.names),
            **(note_on_completeness(file, dataset) if is_text else {}),
        },
    )


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file that make a graph.

    Parameters
    ----------
    names : list of str
        Names of the columns.
    ends : list of pyarrow.ChunkedArray
        Ids of the sources and of the targets, without missing ones.
    values : ndarray of shape (n_rows,), float64, optional
    """

    names: list[str]
    ends: list[pa.ChunkedArray]
    values: npt.NDArray[np.float64] | None


def _chosen(path: Path, names: Sequence[str], parameters: TableParameters) -> list[int]:
    """Return the places of source, target and, if there is one, weight among the columns of a file."""
    places = []
    for number, key in enumerate(USUAL):
        given = getattr(parameters, key)
        if given is None and key == "weight" and not isinstance(parameters.weights, Values | None):
            continue
        if given is None and not parameters.header:
            given = number + 1 if key != "weight" else None
        if isinstance(given, int):
            found = [given - 1] if given <= len(names) else []
        else:
            wanted = USUAL[key] if given is None else (given,)
            known = [one.strip().casefold() if given is None else one for one in names]
            found = [place for one in wanted for place, name in enumerate(known) if name == one]
        if (found and given is None) or len(found) == 1:
            places.append(found[0])
        elif key != "weight" or given is not None or isinstance(parameters.weights, Values):
            what = f"no column for `{key}`" if given is None else f"`{key}: {given}` names no single column"
            hint = ", or give `header: false` if these are not names" if parameters.header else ""
            has = quoted(", ".join(names))
            raise UserError(f"{path}: {what}; the file has {has}: name one of these by `{key}`{hint}")
    if len(set(places)) < len(places):
        raise UserError(f"{path}: source, target and weight are not different columns; name them")
    if len(places) == 2 and len(names) > 2 and parameters.weights is None:
        others = quoted(", ".join(name for place, name in enumerate(names) if place not in places))
        print(f"{path}: weights are 1; `weight` takes them from a column, of {others}", file=sys.stderr)
    return places


def _value_column(parameters: TableParameters) -> Column:
    distribution = parameters.distribution(has_values=True)
    return value_column(distribution, "float32", directed=parameters.directed)


def _read_text(path: Path, parameters: TableParameters) -> Table:
    """Read a text file, possibly compressed; lines before the table may be comments."""
    separator = parameters.separator or ("\t" if ".tsv" in path.suffixes else ",")
    first = next(lines(path, COMMENTS), None)
    if first is None:
        raise UserError(f"{path}: no rows; expected a table of edges")
    names = _names(path, first, separator)
    if not parameters.header:
        names = [str(number + 1) for number in range(len(names))]
    places = _chosen(path, names, parameters)
    keys = [str(place) for place in range(len(names))]
    types = [pa.dictionary(pa.int32(), pa.string())] * 2 + [pa.float64()]
    chosen = {keys[place]: kind for place, kind in zip(places, types, strict=False)}
    try:
        with opened(path, first.start) as stream:
            table = csv.read_csv(
                stream,
                csv.ReadOptions(column_names=keys, skip_rows=int(parameters.header)),
                csv.ParseOptions(delimiter=separator),
                csv.ConvertOptions(
                    column_types=chosen,
                    include_columns=list(chosen),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
                pa.system_memory_pool(),  # the default pool retains more memory
            )
    except pa.ArrowException as error:
        _refuse_row(path, parameters, separator, places, len(names), str(error))
    if not len(table):
        raise UserError(f"{path}: no rows after the header; expected a table of edges")
    ends = [table.column(place).unify_dictionaries() for place in (0, 1)]
    values = table.column(2) if len(places) > 2 else None
    lacks = any(map(_is_blank, ends)) or (values is not None and values.null_count > 0)
    if lacks or (values is not None and not within(values.to_numpy(), _value_column(parameters))):
        _refuse_row(path, parameters, separator, places, len(names), "a value is missing or out of bounds")
    return Table([names[place] for place in places], ends, None if values is None else values.to_numpy())


def _names(path: Path, first: Line, separator: str) -> list[str]:
    """Return the fields of the first row of a text file."""
    with opened(path, first.start) as stream:
        text = stream.readline(MAX_LINE).decode("utf-8-sig", errors="replace").rstrip("\r\n")
    try:
        return next(slow_csv.reader([text], delimiter=separator, strict=True))
    except slow_csv.Error as error:
        refuse(path, first.number, text, f"not a row of a table separated by {separator!r} ({error})")


def _is_blank(column: pa.ChunkedArray) -> bool:
    """Return whether an id is missing or consists of blanks."""
    texts = pc.utf8_trim_whitespace(column.chunk(0).dictionary) if column.num_chunks else pa.array([""])
    return column.null_count > 0 or pc.index(texts, "").as_py() >= 0


def _refuse_row(
    path: Path, parameters: TableParameters, separator: str, places: list[int], width: int, reason: str
) -> NoReturn:
    """Refuse the first row of a text file that does not fit, by a slow reader that knows its line."""
    column = _value_column(parameters)
    first = next(lines(path, COMMENTS))
    with opened(path, first.start) as stream:
        text = io.TextIOWrapper(stream, "utf-8", errors="replace", newline="")
        reader = slow_csv.reader(text, delimiter=separator)
        try:
            for count, row in enumerate(reader):
                number, shown = first.number - 1 + reader.line_num, separator.join(row)
                if not row or (count == 0 and parameters.header):
                    continue
                if len(row) != width:
                    refuse(path, number, shown, f"{len(row)} columns; expected {width}")
                for key, place in zip(USUAL, places, strict=False):
                    if not row[place].strip():
                        refuse(path, number, shown, f"the column of `{key}` is empty")
                for place in places[2:]:
                    column.parse(path, number, shown, row[place].strip())
        except slow_csv.Error as error:
            reason = str(error)
    raise UserError(f"{path}: not readable as a table separated by {separator!r} ({quoted(reason)})")


def _read_parquet(path: Path, parameters: TableParameters) -> Table:
    with parquet(path, DAMAGED) as file:
        names = file.schema_arrow.names
        places = _chosen(path, names, parameters)
        table = file.read([names[place] for place in places])
        if len(table) != file.metadata.num_rows or table.num_columns != len(places):
            raise UserError(f"{path}: has fewer rows or other columns than it announces; {DAMAGED}")
        return _checked(path, table, parameters)


def _read_arrow(path: Path, parameters: TableParameters) -> Table:
    try:
        with pa.memory_map(str(path)) as stream:
            table = ipc.open_file(stream).read_all()
            table.validate(full=True)
            return _checked(path, table.select(_chosen(path, table.column_names, parameters)), parameters)
    except (OSError, pa.ArrowException, ValueError, MemoryError) as error:
        raise UserError(f"{path}: not readable as an Arrow file ({quoted(error)}); {DAMAGED}") from None


def _checked(path: Path, table: pa.Table, parameters: TableParameters) -> Table:
    """Return typed columns: ids as numbers of 64 bits or texts, values as float64."""
    table.validate(full=True)
    if not len(table):
        raise UserError(f"{path}: no rows; expected a table of edges")
    for key, name in zip(USUAL, table.column_names, strict=False):
        if table.column(name).null_count:
            row = int(np.argmax(table.column(name).is_null().to_numpy())) + 1
            raise UserError(f"{path}: row {row}: column {quoted(name)}, `{key}`, has no value")
    source, target, *loads = table.columns
    kind = _id_type(path, table.schema)
    ends = [one.cast(kind).dictionary_encode() for one in (source, target)]
    if not loads:
        return Table(table.column_names, ends, None)
    name = table.column_names[2]
    if not (pa.types.is_integer(loads[0].type) or pa.types.is_floating(loads[0].type)):
        raise UserError(f"{path}: column {quoted(name)}, `weight`, is of type {loads[0].type}; not numbers")
    values = loads[0].cast(pa.float64(), safe=False).to_numpy()
    return Table(table.column_names, ends, values)


def _id_type(path: Path, schema: pa.Schema) -> pa.DataType:
    """Return the common type of the two columns of ids; refuse others than integers or texts."""
    kinds = []
    for key, field in zip(("source", "target"), schema, strict=False):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_integer(kind):
            kinds.append(pa.uint64() if kind == pa.uint64() else pa.int64())
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            kinds.append(pa.large_string())
        else:
            of = f"column {quoted(field.name)}, `{key}`, is of type {quoted(kind)}"
            raise UserError(f"{path}: {of}; expected integers or texts")
    if (kinds[0] == pa.large_string()) != (kinds[1] == pa.large_string()):
        raise UserError(f"{path}: one of the columns of source and target has integers, the other texts")
    return kinds[0] if kinds[0] == kinds[1] else pa.uint64()


def _numbered(table: Table) -> tuple[pa.Array, Ids, Ids]:
    """Return the ids in ascending order, and the numbers of the two ends of each row."""
    source, target = table.ends
    both = pa.chunked_array([*source.chunks, *target.chunks]).unify_dictionaries()
    ids, places = _distinct(both.chunk(0).dictionary)
    order = pc.sort_indices(ids).to_numpy()
    new = np.empty(len(ids), np.uint32)
    new[order] = np.arange(len(ids), dtype=np.uint32)
    numbers = np.concatenate([new[places][chunk.indices.to_numpy()] for chunk in both.chunks])
    return ids.take(pa.array(order)), *np.split(numbers, [len(source)])


def _distinct(values: pa.Array) -> tuple[pa.Array, Ids]:
    """Return ids without repetition, and the place of each value among them.

    Texts of a text file, which have 32-bit offsets, lose the blanks around them, and are numbers if all look
    like numbers.
    """
    if values.type == pa.string():
        values = pc.utf8_trim_whitespace(values).cast(pa.large_string())
        if pc.all(pc.match_substring_regex(values, NUMBER)).as_py():
            for kind in (pa.int64(), pa.uint64()):
                with suppress(pa.ArrowInvalid):
                    values = values.cast(kind)
                    break
    coded = values.dictionary_encode()
    return coded.dictionary, coded.indices.to_numpy()
