"""The SLURM profile gives timed jobs a node of their own."""

import re

import yaml

from relaxometer.studies.registry import STUDIES
from tiny_workflow import ROOT


def test_every_timed_rule_has_a_node_to_itself():
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "workflow/rules").glob("*.smk"))
    rule = r"^(?:use )?rule (\w+)(?: as (\w+))?(?: with)?:\n((?:[ \n].*\n?)*)"
    rules = re.findall(rule, text, re.MULTILINE)
    bodies = {new or name: body for name, new, body in rules}
    bases = {new: name for name, new, _ in rules if new}
    timed = {name for name, body in bodies.items() if re.search(r"^ +gpu=", body, re.MULTILINE)}
    for name, base in bases.items():  # each after its base
        timed |= {name} if base in timed else set()
    # The rules of studies are made in a loop.
    of_studies = (ROOT / "workflow/rules/studies.smk").read_text(encoding="utf-8")
    if re.search(r'rule:\n +name:\n +f"measure_{study_name}"\n(?:.*\n)* +gpu=1,\n', of_studies):
        timed |= {f"measure_{name}" for name in STUDIES}
    profile = yaml.safe_load((ROOT / "profiles/slurm/profile.yaml").read_text(encoding="utf-8"))
    alone = {name for name, set_to in profile["set-resources"].items() if "slurm_extra" in set_to}
    assert {"run_variant", "repeat_rival", "run_distributed", "run_on_one_rank"} <= timed
    timed -= {"build_graph"}  # Graph500's generator takes a GPU, too
    assert alone == timed
    assert all("--exclusive" in profile["set-resources"][name]["slurm_extra"] for name in alone)
