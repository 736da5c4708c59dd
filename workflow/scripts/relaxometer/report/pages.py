"""The frame of the report's HTML pages, which are self-contained."""

from __future__ import annotations

import base64
import html
import mimetypes
from collections.abc import Iterable, Sequence
from pathlib import Path

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
    return f'<a href="{escaped}">{escaped}</a>' if text.startswith(("http://", "https://")) else escaped


def image(file: str | Path, caption: str) -> str:
    """Return an image, embedded in the page, with its caption; the suffix of the file is the format."""
    kind, _ = mimetypes.guess_type(file)
    data = base64.b64encode(Path(file).read_bytes()).decode()
    text = html.escape(caption)
    picture = f'<img src="data:{kind};base64,{data}" alt="{text}">'
    return f"<figure>{picture}\n<figcaption>{text}</figcaption></figure>"
