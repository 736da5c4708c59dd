"""The Jinja2 templates of the report's HTML pages.

They are text in a module, not separate files, so that an edit renews the pages: the hash of code follows
modules.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{ title }}</title>
<style>
body { font: 14px/1.45 sans-serif; margin: 1.5em; color: #222; }
table { border-collapse: collapse; margin-bottom: 2em; }
th, td { border-bottom: 1px solid #ddd; padding: 0.25em 0.8em 0.25em 0; text-align: left; }
th, td { vertical-align: top; }
th { font-weight: 600; white-space: nowrap; }
pre { background: #f6f6f6; padding: 1em; overflow-x: auto; }
figure { margin: 0 0 2em 0; }
figcaption, .note { max-width: 52em; color: #555; }
img { width: 52em; max-width: 100%; }
.wide { overflow-x: auto; }
.groups { display: flex; flex-wrap: wrap; gap: 0 3em; }
.wide > :not(.sortable) td { min-width: 9em; }
.sortable :is(th, td) { padding: 0.25em 0.6em; font-size: 13px; white-space: nowrap; }
.sortable td.long { white-space: normal; min-width: 18em; }
.sortable .number { text-align: right; font-variant-numeric: tabular-nums; }
.sortable th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; }
.sortable th button { text-align: inherit; white-space: normal; cursor: pointer; }
.sortable th button::after { content: " ⇅"; color: #bbb; }
.sortable th[aria-sort="ascending"] button::after { content: " ▲"; color: #222; }
.sortable th[aria-sort="descending"] button::after { content: " ▼"; color: #222; }
.filter { margin: 1em 0 0.5em; }
.filter input { font: inherit; width: 22em; max-width: 60%; padding: 0.25em 0.5em; margin: 0 0.8em; }
.filter a { margin-left: 0.8em; }
</style>
</head>
<body>
<h1>{{ title }}</h1>
{% block body %}
{{ body | safe }}
{% endblock %}
</body>
</html>
"""

TABLE = """<table>
{% if head %}
<tr>{% for name in head %}<th>{{ name }}</th>{% endfor %}</tr>
{% endif %}
{% for row in rows %}
<tr><th>{{ row[0] }}</th>{% for cell in row[1:] %}<td>{{ cell | linked }}</td>{% endfor %}</tr>
{% endfor %}
</table>"""

IMAGE = """<figure><img src="data:{{ kind }};base64,{{ data }}" alt="{{ caption }}">
<figcaption>{{ caption }}</figcaption></figure>"""

DATA_TABLE = """<p class="filter" id="{{ name }}-filter"><label>Filter: <input type="search" \
placeholder="words, or -words to leave out"></label><output></output>\
<a href="data:text/csv;base64,{{ data }}" download="{{ name }}.csv">save as CSV</a></p>
<div class="wide"><table class="sortable" id="{{ name }}"><thead><tr>
{%- for column, kind in columns -%}
<th scope="col"{{ {"class": kind} | xmlattr if kind }}><button type="button">{{ column }}</button></th>
{%- endfor -%}
</tr></thead>
<tbody>
{% for row in rows %}
<tr>{% for cell, (_, kind) in row %}<td{{ {"class": kind} | xmlattr if kind }}>{{ cell | linked }}</td>\
{% endfor %}</tr>
{% endfor %}
</tbody></table></div>"""

GRAPH = """{% extends "page" %}
{% block body %}
<p>{{ description }}</p>
{{ outline | safe }}
<h2>Degrees</h2>
{{ degree_shares | safe }}
{{ degrees | safe }}
<h2>Weights</h2>
{{ weights | safe }}
<h2>Components and distances</h2>
{{ components | safe }}
<p class="note">{{ note }}</p>
{{ hops | safe }}
<h2>Origin</h2>
{{ origin | safe }}
{% endblock %}
"""

BATCH = """{% extends "page" %}
{% block body %}
<p>{{ description }}</p>
{{ outline | safe }}
{{ sizes | safe }}
<h2>Origin</h2>
{{ origin | safe }}
{% endblock %}
"""

VARIANT = """{% extends "page" %}
{% block body %}
{% for text in said %}
<p>{{ text | linked }}</p>
{% endfor %}
{{ lines | safe }}
<h2>Times</h2>
{{ times | safe }}
<h2>Where it loses</h2>
{{ losses | safe }}
<h2>Parameters</h2>
{{ parameters | safe }}
<h2>Phases</h2>
{{ phases | safe }}
{{ script | safe }}
{% endblock %}
"""

PROVENANCE = """{% extends "page" %}
{% block body %}
<h2>The same in all {{ count }} runs</h2>
<div class="groups">
{% for heading, entries in groups %}
<div><h3>{{ heading }}</h3>
{{ entries | safe }}</div>
{%- endfor %}

</div>
<h2>What differs between runs</h2>
<div class="wide">
{{ runs | safe }}
</div>
{% if rivals %}
<h2>Rivals</h2>
<p>Programs of others, to be cited as their authors ask. Versions are above, with the runs.</p>
<div class="wide">
{{ rivals | safe }}
</div>
{% endif %}
<h2>Drift</h2>
{% if drift %}
<p>A fixed piece of work is timed before and after each process of a race: a kernel on the GPU, a
loop on the CPU. On a machine whose speed does not change, it always takes the same time.</p>
{{ drift | safe }}
{% else %}
<p>No run is in real time.</p>
{% endif %}
<h2>Configuration</h2>
<pre>{{ config }}</pre>

{% endblock %}
"""


@cache
def environment() -> Environment:
    """Return the environment of the templates, which escapes all values that they do not mark as safe."""
    from jinja2 import DictLoader, Environment, StrictUndefined  # late: every start of a plan imports this

    from relaxometer.report.pages import linked

    texts = {name.lower(): one for name, one in globals().items() if name.isupper() and isinstance(one, str)}
    found = Environment(
        loader=DictLoader(texts),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters["linked"] = linked
    return found


def render(template: str, **values: Any) -> str:
    """Return a template filled with values, which are escaped unless the template marks them as safe."""
    return environment().get_template(template).render(**values)
