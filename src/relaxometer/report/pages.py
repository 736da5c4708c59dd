"""The frame of the report's HTML pages, which are self-contained."""

from __future__ import annotations

import base64
import html
import mimetypes
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

SCRIPT = Path(__file__).with_name("tables.js")
"""Sorts and filters the tables of :func:`data_table`."""

LONG = 40
"""Cells of a column are broken into lines if one of them has more characters."""

NOTHING = "<!-- nothing to show -->\n"
"""A section of the landing page that this run does not need."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 14px/1.45 sans-serif; margin: 1.5em; color: #222; }}
table {{ border-collapse: collapse; margin-bottom: 2em; }}
th, td {{ border-bottom: 1px solid #ddd; padding: 0.25em 0.8em 0.25em 0; text-align: left; }}
th, td {{ vertical-align: top; }}
th {{ font-weight: 600; white-space: nowrap; }}
pre {{ background: #f6f6f6; padding: 1em; overflow-x: auto; }}
figure {{ margin: 0 0 2em 0; }}
figcaption, .note {{ max-width: 52em; color: #555; }}
img {{ width: 52em; max-width: 100%; }}
.wide {{ overflow-x: auto; }}
.groups {{ display: flex; flex-wrap: wrap; gap: 0 3em; }}
.wide > :not(.sortable) td {{ min-width: 9em; }}
.sortable :is(th, td) {{ padding: 0.25em 0.6em; font-size: 13px; white-space: nowrap; }}
.sortable td.long {{ white-space: normal; min-width: 18em; }}
.sortable .number {{ text-align: right; font-variant-numeric: tabular-nums; }}
.sortable th button {{ font: inherit; color: inherit; background: none; border: 0; padding: 0; }}
.sortable th button {{ text-align: inherit; white-space: normal; cursor: pointer; }}
.sortable th button::after {{ content: " ⇅"; color: #bbb; }}
.sortable th[aria-sort="ascending"] button::after {{ content: " ▲"; color: #222; }}
.sortable th[aria-sort="descending"] button::after {{ content: " ▼"; color: #222; }}
.filter {{ margin: 1em 0 0.5em; }}
.filter input {{ font: inherit; width: 22em; max-width: 60%; padding: 0.25em 0.5em; margin: 0 0.8em; }}
.filter a {{ margin-left: 0.8em; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def page(title: str, body: str) -> str:
    """Return a page whose `body` is HTML."""
    return PAGE.format(title=html.escape(title), body=body)


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Return a table whose rows begin with a name; addresses in its cells become links."""
    lines = [f"<tr>{''.join(f'<th>{html.escape(name)}</th>' for name in head)}</tr>"] if head else []
    for name, *cells in rows:
        values = "".join(f"<td>{_linked(cell)}</td>" for cell in cells)
        lines.append(f"<tr><th>{html.escape(name)}</th>{values}</tr>")
    return "<table>\n{}\n</table>".format("\n".join(lines))


def _linked(text: str) -> str:
    escaped = html.escape(text)
    if text.startswith(("http://", "https://")):
        return f'<a href="{escaped}">{escaped}</a>'
    return re.sub(r"``?([^`]+)``?", r"<code>\1</code>", escaped)


def image(file: str | Path, caption: str) -> str:
    """Return an image, embedded in the page, with its caption; the suffix of the file is the format."""
    kind, _ = mimetypes.guess_type(file)
    data = base64.b64encode(Path(file).read_bytes()).decode()
    text = html.escape(caption)
    picture = f'<img src="data:{kind};base64,{data}" alt="{text}">'
    return f"<figure>{picture}\n<figcaption>{text}</figcaption></figure>"


def data_table(rows: pd.DataFrame, name: str) -> str:
    """Return a table that sorts by a click on a heading and filters by words, and that can be saved as CSV.

    Columns of numbers are aligned to the right. A page with such tables ends with :func:`table_script`.

    Parameters
    ----------
    rows : DataFrame of str
    name : str
        Of the table: its id on the page, and its file when saved.
    """
    cells = rows.astype(object).where(rows.notna(), "").astype(str)
    numeric = [_is_numeric(cells.iloc[:, place]) for place in range(cells.shape[1])]
    long = [cells.iloc[:, place].str.len().max() > LONG for place in range(cells.shape[1])]
    marks = [
        ' class="number"' if is_number else ' class="long"' if is_long else ""
        for is_number, is_long in zip(numeric, long, strict=True)
    ]
    head = "".join(
        f'<th scope="col"{mark}><button type="button">{html.escape(column)}</button></th>'
        for column, mark in zip(cells.columns, marks, strict=True)
    )
    lines = [
        "".join(f"<td{mark}>{_linked(cell)}</td>" for cell, mark in zip(row, marks, strict=True))
        for row in cells.itertuples(index=False, name=None)
    ]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    data = base64.b64encode(cells.to_csv(index=False).encode()).decode()
    return f"""<p class="filter" id="{name}-filter"><label>Filter: <input type="search" \
placeholder="words, or -words to leave out"></label><output></output>\
<a href="data:text/csv;base64,{data}" download="{name}.csv">save as CSV</a></p>
<div class="wide"><table class="sortable" id="{name}"><thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody></table></div>"""


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
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"``?([^`]+)``?", r"<code>\1</code>", escaped)
    escaped = re.sub(r"\*([^*\s][^*]*)\*", r"<em>\1</em>", escaped)
    return "\n".join(f"<p>{one.strip()}</p>" for one in re.split(r"\n\s*\n", escaped) if one.strip())
