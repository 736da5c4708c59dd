"""The frame of the report's HTML pages, which are self-contained."""

from __future__ import annotations

import base64
import html
import mimetypes
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from relaxometer.report.templates import render

SCRIPT = Path(__file__).with_name("tables.js")  # sorts and filters the tables of data_table
LONG = 40  # cells of a column are broken into lines if one of them has more characters
NOTHING = "<!-- nothing to show -->\n"  # a section of the landing page that this run does not need


def page(title: str, body: str) -> str:
    """Return a page whose `body` is HTML."""
    return render("page", title=title, body=body)


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Return a table whose rows begin with a name; addresses in its cells become links."""
    return render("table", rows=rows, head=head)


def linked(text: str) -> Markup:
    """Return a cell as HTML: an address as a link, literals of reStructuredText as code."""
    is_address = text.startswith(("http://", "https://"))
    return Markup('<a href="{0}">{0}</a>').format(text) if is_address else Markup(code(text))


def code(text: str, *, quote: bool = True) -> str:
    """Return text as HTML, its literals of reStructuredText as code."""
    return re.sub(r"``?([^`]+)``?", r"<code>\1</code>", html.escape(text, quote=quote))


def image(file: str | Path, caption: str) -> str:
    """Return an image, embedded in the page, with its caption; the suffix of the file is the format."""
    kind, _ = mimetypes.guess_type(file)
    data = base64.b64encode(Path(file).read_bytes()).decode()
    return render("image", kind=kind, data=data, caption=caption)


def data_table(rows: pd.DataFrame, name: str) -> str:
    """Return a table that sorts by a click on a heading and filters by words, and that can be saved as CSV.

    Columns of numbers are aligned to the right. `name` is its id on the page, and its file when saved. A page
    with such tables ends with :func:`table_script`.
    """
    cells = rows.astype(object).where(rows.notna(), "").astype(str)
    columns = [(str(column), _kind(cells.iloc[:, place])) for place, column in enumerate(cells.columns)]
    rows_of = [zip(row, columns, strict=True) for row in cells.itertuples(index=False, name=None)]
    data = base64.b64encode(cells.to_csv(index=False).encode()).decode()
    return render("data_table", name=name, columns=columns, rows=rows_of, data=data)


def _kind(cells: pd.Series) -> str:
    """Return the class of a column's cells: "number", "long" or none."""
    if _is_numeric(cells):
        return "number"
    return "long" if cells.str.len().max() > LONG else ""


def _is_numeric(cells: pd.Series) -> bool:
    """Return whether at least half of the cells that are not empty begin with a number, and one does."""
    filled = cells[cells != ""]
    return bool(len(filled)) and bool(filled.str.match(r"[-+]?\d[\d,.]*(e[-+]?\d+)?%?$").mean() > 0.5)


def table_script() -> str:
    """Return the script that lets the tables of :func:`data_table` sort and filter."""
    return f"<script>\n{SCRIPT.read_text(encoding='utf-8')}</script>"


def table_page(title: str, note: str, rows: pd.DataFrame, name: str) -> str:
    """Return a page with one table; `note` is HTML, such as that of :func:`from_caption`."""
    return page(title, f'<div class="note">{note}</div>\n{data_table(rows, name)}\n{table_script()}')


def from_caption(text: str) -> str:
    """Return a caption of the report as HTML: paragraphs, emphasis and literals of reStructuredText."""
    escaped = code(text, quote=False)
    escaped = re.sub(r"\*([^*\s][^*]*)\*", r"<em>\1</em>", escaped)
    return "\n".join(f"<p>{one.strip()}</p>" for one in re.split(r"\n\s*\n", escaped) if one.strip())
