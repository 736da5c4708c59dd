"""Install a rival, or say why it is absent; either is the content of a JSON file."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.rivals.definition import find_rivals
from relaxometer.rivals.installation import installation, write_installation

with job(snakemake):
    rival = find_rivals(snakemake.config.get("rivals", []))[snakemake.wildcards.rival]
    found = installation(rival, elsewhere=snakemake.params.elsewhere)
    write_installation(found, Path(snakemake.output[0]))
