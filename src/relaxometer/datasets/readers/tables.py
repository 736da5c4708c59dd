"""Reader of tables of edges with named columns and ids of any kind: text, Parquet and Arrow files."""

import csv as slow_csv
import io
import math
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, ipc

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.edge_files import TableParameters
from relaxometer.datasets.parameters import Values
from relaxometer.datasets.readers.edge_weights import value_column, weights_of
from relaxometer.datasets.readers.numbering import Numbering
from relaxometer.datasets.readers.text import (
    MAX_LINE,
    NO_VALUES,
    Column,
    Growing,
    Line,
    lines,
    note_on_completeness,
    opened,
    refuse,
    within,
)
from relaxometer.datasets.readers.text_edges import is_directed
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import typed_graph
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
NUMBER = re.compile(r"\s*-?[0-9]")

BLOCK = 1 << 20
"""Bytes of text that are read at a time."""

ROWS = 1 << 17
"""Rows of a Parquet file that are read at a time."""

Rows = tuple[list[str], pa.Array, pa.Array, npt.NDArray[np.float64]]
"""Names of the columns, ids of both ends, and values, if there are any, of some rows of a file."""


def build(name: str, dataset: Dataset[TableParameters], file: Path) -> Graph:
    """Make the graph of a table; see :data:`relaxometer.datasets.build.Reader`.

    The vertices are those that occur, in ascending order of their ids: numbers by value, texts by bytes.
    """
    is_text = file.suffix not in (*PARQUET, *ARROW)
    given = dataset.parameters.directed
    directed = is_directed(file, given) if is_text else bool(given)
    parameters = dataset.parameters.model_copy(update={"directed": directed})
    read = _read_text if is_text else _read_parquet if file.suffix in PARQUET else _read_arrow
    numbering, values = Numbering(), Growing(np.float64)
    columns: list[str] = []
    for names, sources, targets, some in read(file, parameters):
        columns = names
        numbering.add(sources, targets)
        values.append(some)
    ids, tails, heads = numbering.finish(_as_numbers if is_text else None)
    if not len(ids):
        raise UserError(f"{file}: no rows; expected a table of edges")
    loads = values.values if len(columns) == 3 else None
    weights = weights_of(file, parameters, tails, heads, loads, directed=directed)
    del values, loads  # memory for the graph
    facts = {"rows_in_file": len(tails), "columns_read": ", ".join(columns)}
    facts |= {"weights_from": columns[2]} if len(columns) == 3 else {}
    facts |= note_on_completeness(file, dataset) if is_text else {}
    options = {"undirected": not directed, "ids": ids, "metadata": facts}
    return typed_graph(name, len(ids), tails, heads, weights, **options)


def _chosen(
    path: Path, names: Sequence[str], parameters: TableParameters, numeric: Sequence[int]
) -> list[int]:
    """Return the places of source, target and, if there is one, weight among the columns of a file.

    `numeric` are the places of the columns that hold numbers: the only one besides the ends is the weight.
    """
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
        if key == "weight" and given is None and not found:
            found = _only_numbers(path, names, [place for place in numeric if place not in places])
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
        print(f"{path}: every weight is 1: no column besides the ends holds numbers", file=sys.stderr)
    return places


def _only_numbers(path: Path, names: Sequence[str], places: Sequence[int]) -> list[int]:
    """Return the place of the only column of numbers, and say so; UserError if there are several."""
    columns = ", ".join(names[place] for place in places)
    if len(places) > 1:
        raise UserError(
            f"{path}: which column holds the weights? name one of {quoted(columns)} by `weight`, or give "
            "`weights: {distribution: unit}` for weights of 1"
        )
    if places:
        print(f"{path}: weights are from the column {quoted(columns)}", file=sys.stderr)
    return list(places)


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        return math.isfinite(float(text))
    return False


def _value_column(parameters: TableParameters) -> Column:
    distribution = parameters.distribution(has_values=True)
    return value_column(distribution, "float32", directed=bool(parameters.directed))


def _read_text(path: Path, parameters: TableParameters) -> Iterator[Rows]:
    """Read a text file, possibly compressed; lines before the table may be comments."""
    separator = parameters.separator or ("\t" if ".tsv" in path.suffixes else ",")
    first = next(lines(path, COMMENTS), None)
    if first is None:
        raise UserError(f"{path}: no rows; expected a table of edges")
    names, row = _first_rows(path, first, separator)
    if not parameters.header:
        names, row = [str(number + 1) for number in range(len(names))], names
    numeric = [place for place, text in enumerate(row[: len(names)]) if _is_number(text)]
    places = _chosen(path, names, parameters, numeric)
    keys = [str(place) for place in range(len(names))]
    types = [pa.string(), pa.string(), pa.float64()]
    chosen = {keys[place]: kind for place, kind in zip(places, types, strict=False)}
    column, names_read = _value_column(parameters), [names[place] for place in places]
    try:
        with opened(path, first.start) as stream:
            for batch in csv.open_csv(
                stream,
                csv.ReadOptions(column_names=keys, skip_rows=int(parameters.header), block_size=BLOCK),
                csv.ParseOptions(delimiter=separator),
                csv.ConvertOptions(
                    column_types=chosen,
                    include_columns=list(chosen),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
                pa.system_memory_pool(),  # the default pool retains more memory
            ):
                tails, heads = map(_as_numbers, batch.columns[:2])
                values = batch.column(2).to_numpy(zero_copy_only=False) if len(places) > 2 else NO_VALUES
                if not all(map(_is_filled, batch.columns, (tails, heads))) or not within(values, column):
                    raise pa.ArrowInvalid("a value is missing or out of bounds")
                yield names_read, tails, heads, values
    except pa.ArrowException as error:
        _refuse_row(path, parameters, separator, places, len(names), str(error))


def _first_rows(path: Path, first: Line, separator: str) -> tuple[list[str], list[str]]:
    """Return the fields of the first row of a text file, and those of the next, if it has one."""
    with opened(path, first.start) as stream:
        text, after = (
            stream.readline(MAX_LINE).decode("utf-8-sig", errors="replace").rstrip("\r\n") for _ in range(2)
        )
    try:
        names = next(slow_csv.reader([text], delimiter=separator, strict=True))
    except slow_csv.Error as error:
        refuse(path, first.number, text, f"not a row of a table separated by {separator!r} ({error})")
    with suppress(slow_csv.Error):  # the reader of all rows names its line
        return names, next(slow_csv.reader([after], delimiter=separator), [])
    return names, []


def _as_numbers(texts: pa.Array) -> pa.Array:
    """Return ids as numbers if none loses by it, as 007 would, else without the blanks around them."""
    if texts.type not in (pa.string(), pa.large_string()):
        return texts
    is_likely = len(texts) and NUMBER.match(texts[0].as_py() or "")  # each text that is none costs time
    for kind in (pa.int64(), pa.uint64()) if is_likely else ():
        with suppress(pa.ArrowInvalid):
            numbers = texts.cast(kind)
            begins = pc.starts_with(texts, "0"), pc.starts_with(texts, "-0")
            padded = pc.or_(pc.and_(begins[0], pc.greater(pc.binary_length(texts), 1)), begins[1])
            return texts.cast(pa.large_string()) if pc.any(padded).as_py() else numbers
    trimmed = pc.utf8_trim_whitespace(texts).cast(pa.large_string())
    return trimmed if trimmed.equals(texts.cast(pa.large_string())) else _as_numbers(trimmed)


def _is_filled(column: pa.Array, ids: pa.Array) -> bool:
    """Return whether no value of a column is missing, nor blank."""
    is_text = ids.type == pa.large_string() and len(ids)
    return column.null_count == 0 and not (is_text and pc.min(pc.binary_length(ids)).as_py() == 0)


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


def _read_parquet(path: Path, parameters: TableParameters) -> Iterator[Rows]:
    with parquet(path, DAMAGED) as file:
        schema = file.schema_arrow
        places, count = _chosen(path, schema.names, parameters, _numeric(schema)), 0
        columns = [schema.names[place] for place in places]
        # One group of rows after the other, since a reader of all holds the whole file.
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(ROWS, row_groups=[group], columns=columns):
                if batch.num_columns != len(places):
                    raise UserError(f"{path}: its columns differ from those that it announces; {DAMAGED}")
                yield _checked(path, batch, count, _id_type(path, schema, places))
                count += len(batch)
        if count != file.metadata.num_rows:
            raise UserError(f"{path}: has fewer rows than it announces; {DAMAGED}")


def _read_arrow(path: Path, parameters: TableParameters) -> Iterator[Rows]:
    try:
        with pa.memory_map(str(path)) as stream:
            file, count = ipc.open_file(stream), 0
            places = _chosen(path, file.schema.names, parameters, _numeric(file.schema))
            for number in range(file.num_record_batches):
                batch = file.get_batch(number)
                batch.validate(full=True)
                yield _checked(path, batch.select(places), count, _id_type(path, file.schema, places))
                count += len(batch)
    except (OSError, pa.ArrowException, ValueError, MemoryError) as error:
        raise UserError(f"{path}: not readable as an Arrow file ({quoted(error)}); {DAMAGED}") from None


def _checked(path: Path, batch: pa.RecordBatch, row: int, kind: pa.DataType) -> Rows:
    """Return typed columns of rows, the first of which is number `row` from 0."""
    batch.validate(full=True)
    names = batch.schema.names
    for key, name, column in zip(USUAL, names, batch.columns, strict=False):
        if column.null_count:
            row += int(np.argmax(column.is_null().to_numpy(zero_copy_only=False))) + 1
            raise UserError(f"{path}: row {row}: column {quoted(name)}, `{key}`, has no value")
    source, target, *loads = batch.columns
    values = NO_VALUES
    for load in loads:
        if not _holds_numbers(load.type):
            raise UserError(
                f"{path}: column {quoted(names[2])}, `weight`, is of type {load.type}; not numbers"
            )
        values = load.cast(pa.float64(), safe=False).to_numpy()
    return names, source.cast(kind), target.cast(kind), values


def _numeric(schema: pa.Schema) -> list[int]:
    """Return the places of the columns of numbers."""
    return [place for place, field in enumerate(schema) if _holds_numbers(field.type)]


def _holds_numbers(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _id_type(path: Path, schema: pa.Schema, places: list[int]) -> pa.DataType:
    """Return the common type of the two columns of ids; refuse others than integers or texts."""
    kinds = []
    for key, place in zip(("source", "target"), places, strict=False):
        field = schema.field(place)
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
