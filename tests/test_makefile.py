"""The Makefile names the configuration that the user names, and lists its targets."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is missing")


def planned(*arguments, **environment):
    """Return the process of a make that prints its commands and runs none."""
    return subprocess.run(
        ["make", "--dry-run", "--always-make", *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("run", "run"),
        ("report", "report"),
        ("bundle", "bundle"),
        ("aa", "all-runs"),
        ("aa", "aa"),
    ],
)
@pytest.mark.parametrize(
    ("given", "file"), [("SUITE=survey", "config/suites/survey.yaml"), ("CONFIG=my/own.yaml", "my/own.yaml")]
)
def test_a_suite_or_a_file_is_the_overlay(target, command, given, file):
    done = planned(target, given)
    assert done.returncode == 0, done.stderr
    assert f".venv/bin/relaxometer {command} {file}" in done.stdout.splitlines()


def test_without_a_name_there_is_no_overlay():
    commands = planned("run", CONFIG="another programs").stdout
    assert ".venv/bin/relaxometer run " in commands.splitlines()
    assert "relaxometer aa config/suites/aa-host.yaml" in planned("aa").stdout


def test_both_are_refused():
    done = planned("run", "SUITE=survey", "CONFIG=my.yaml")
    assert done.returncode != 0
    assert "name SUITE or CONFIG, not both" in done.stderr


def test_only_a_suite_is_published():
    done = planned("publish", "CONFIG=my.yaml")
    assert done.returncode != 0
    assert "only a suite is published, a file in config/suites: make publish SUITE=adaptive" in done.stderr
    assert "relaxometer publish survey" in planned("publish", "SUITE=survey").stdout


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["run", "CONFIG=my own.yaml"], 'relaxometer run "my own.yaml"'),
        (["bundle", "CONFIG=my own.yaml"], 'relaxometer bundle "my own.yaml"'),
        (["verify", "BUNDLE=my a.zip"], 'relaxometer verify "my a.zip"'),
        (["compare", "BASE=my a.zip", "NOW=my b"], 'relaxometer compare "my a.zip" "my b"'),
        (["board", "BUNDLES=a.zip b.zip", "TARGET=my board"], 'a.zip b.zip --target "my board"'),
        (["history", "BUNDLES=my bundles"], 'relaxometer history "my bundles"'),
        (["compare", "BASE=a.zip", "THRESHOLD=-5%"], "--threshold=-5%"),
    ],
)
def test_a_name_may_have_spaces_and_a_value_a_sign(arguments, command):
    assert command in planned(*arguments).stdout


def test_help_lists_every_target_and_those_that_the_readme_names():
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )
    listed = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(targets[1].split())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", readme, re.MULTILINE))
    assert {"run", "test", "compare"} <= named <= set(listed)
