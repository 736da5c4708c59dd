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


OVERLAYS = (("SUITE=survey", "config/suites/survey.yaml"), ("CONFIG=my/own.yaml", "my/own.yaml"))
COMMANDS = (("run", "run"), ("report", "report"), ("bundle", "bundle"), ("aa", "all-runs"), ("aa", "aa"))


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        *(
            ([target, given], f".venv/bin/relaxometer {command} {file}\n")
            for target, command in COMMANDS
            for given, file in OVERLAYS
        ),
        (["aa"], "relaxometer aa config/suites/aa-host.yaml\n"),
        (["publish", "SUITE=survey"], "relaxometer publish survey\n"),
        # A name may have spaces, and a value a sign.
        (["run", "CONFIG=my own.yaml"], 'relaxometer run "my own.yaml"'),
        (["bundle", "CONFIG=my own.yaml"], 'relaxometer bundle "my own.yaml"'),
        (["verify", "BUNDLE=my a.zip"], 'relaxometer verify "my a.zip"'),
        (["compare", "BASE=my a.zip", "NOW=my b"], 'relaxometer compare "my a.zip" "my b"'),
        (["board", "BUNDLES=a.zip b.zip", "TARGET=my board"], 'a.zip b.zip --target "my board"'),
        (["history", "BUNDLES=my bundles"], 'relaxometer history "my bundles"'),
        (["compare", "BASE=a.zip", "THRESHOLD=-5%"], "--threshold=-5%"),
    ],
)
def test_what_is_named_reaches_the_command(arguments, command):
    assert command in planned(*arguments).stdout


def test_a_variable_of_the_environment_names_no_overlay():
    commands = planned("run", CONFIG="another programs").stdout
    assert ".venv/bin/relaxometer run " in commands.splitlines()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run", "SUITE=survey", "CONFIG=my.yaml"], "name SUITE or CONFIG, not both"),
        (
            ["publish", "CONFIG=my.yaml"],
            "only a suite is published, a file in config/suites: make publish SUITE=adaptive",
        ),
    ],
)
def test_what_cannot_be_is_refused(arguments, line):
    done = planned(*arguments)
    assert done.returncode != 0
    assert line in done.stderr


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
