"""YAML files are read strictly, and each mistake is one line with file, line and column."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from relaxometer.core import yaml_files
from relaxometer.core.errors import UserError
from relaxometer.core.yaml_files import read_sections, read_yaml

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"a: b\nc: \xff\n", "2:4: byte 0xff is not UTF-8"),
        (b"a: 1\nb: [1,\n", "3:1: invalid YAML: while parsing a flow"),
        (b"a: 1\nb: 2\na: 3\n", "3:1: invalid YAML: key 'a' is given twice, first in line 1"),
        (b'{"a": 1,\n\t"b": 1,\n "a": 2}', "invalid YAML: "),
        (b"a: \x1b]0;title\x07", r"1:4: invalid YAML: '\x1b' is not allowed"),
        (b"\xe3\x81\x82: 2020-13-45", "1:4: invalid YAML: '2020-13-45' is not a valid timestamp"),
        (b"a: " + b"9" * 5000, "1:4: invalid YAML: '999"),
        (b"a: !!python/object/apply:os.system [ls]", "1:4: invalid YAML: could not determine a constructor"),
        (b"seed: 010", "1:7: invalid YAML: '010' would be read as 8; write 8, or a text in quotes"),
        (b"limit: 1:30", "1:8: invalid YAML: '1:30' would be read as 90"),
        (b"[" * 1500, "invalid YAML: lists and sections are nested too deeply"),
        (b"? [1]\n: 2", "1:3: invalid YAML: while constructing a mapping, found unhashable key"),
        (b"a: 1\n---\nb: 1", "2:1: invalid YAML: expected a single document"),
        (b"a: &a {b: *a}", "a section that contains itself"),
        (b'a: "\\ud800"', "lone surrogate"),
    ],
)
def test_a_mistake_is_one_short_line_with_its_place(tmp_path, monkeypatch, raw, message):
    monkeypatch.setattr("relaxometer.core.yaml_files.MAX_VALUES", 10_000)
    path = tmp_path / "my.yaml"
    path.write_bytes(raw)
    with pytest.raises(UserError) as caught:
        read_yaml(path)
    text = str(caught.value).removeprefix(f"{path}:")
    assert message in text
    assert text.isprintable()
    assert len(text) < 250


def test_aliases_that_multiply_each_other_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxometer.core.yaml_files.MAX_VALUES", 10_000)
    lines = ["a0: &a0 [x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40))]
    path = tmp_path / "my.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UserError, match="more than 10,000 values"):
        read_yaml(path)


@pytest.mark.parametrize(
    ("raw", "contents"),
    [
        (b"", None),
        (b"\xef\xbb\xbfa: 1", {"a": 1}),
        (b'{"a": 1,\n\t"b": [2]}', {"a": 1, "b": [2]}),
        (b"x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}", {"x": {"a": 1, "b": 2}, "y": {"a": 1, "b": 3}}),
        (b'1: a\n"1": b', {1: "a", "1": "b"}),
    ],
)
def test_right_files(tmp_path, raw, contents):
    path = tmp_path / "my.yaml"
    path.write_bytes(raw)
    assert read_yaml(path) == contents


def test_libyaml_reads_what_pyyaml_reads():
    files = [*(ROOT / "config").rglob("*.yaml"), *(ROOT / "resources").rglob("*.yaml")]
    assert any(len(yaml_files.read_yaml(file)) > 20 for file in files)
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert yaml.load(text, yaml_files._FastLoader) == yaml.load(text, yaml_files._Loader)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("gone", "No such file or directory"), ("", "Is a directory"), ("a" * 300, "File name too long")],
)
def test_a_file_that_cannot_be_read(tmp_path, name, reason):
    with pytest.raises(UserError, match=rf": not readable \({reason}\)$"):
        read_sections(tmp_path / f"{name}.yaml" if name else tmp_path)


def check(*arguments, module="relaxometer.cli.check_configfiles", **environment):
    """Return what the check that the profile runs first, or another program, says when it fails."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment})
    assert run.returncode != 0
    return [line for line in run.stderr.splitlines() if "profile" not in line]


def test_snakemake_ends_in_one_line_where_an_overlay_is_not_utf_8(tmp_path):
    overlay = tmp_path / "my.yaml"
    overlay.write_bytes("sssp: # 最短経路".encode("shift-jis"))
    lines = check("--dry-run", "--configfile", overlay, "--", "all", module="snakemake")
    assert lines == [f"error: {overlay}:1:9: byte 0x8d is not UTF-8; save it as UTF-8"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--configfile", "EMPTY"], "EMPTY: has no keys; leave it out, or write {} to change nothing"),
        (
            ["--configfile", "config/suites/aa.yaml", "all"],
            "--configfile: 'all' is not a file; if it is a target, write it after --",
        ),
        (["--config", "device"], "--config: 'device' is not key=value"),
        (
            ["--config", "seed=3", "sssp.variants.a=false"],
            "--config: 'sssp.variants.a': keys have no dots here; write 'sssp={variants: {a: false}}'",
        ),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(tmp_path, arguments, message):
    (tmp_path / "empty.yaml").write_text("# nothing\n", encoding="utf-8")
    empty = str(tmp_path / "empty.yaml")
    lines = check(*(word.replace("EMPTY", empty) for word in arguments))
    assert lines == [f"error: {message}".replace("EMPTY", empty)]


def test_a_home_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    cache = tmp_path / "file/cache"
    lines = check("--", "all", XDG_CACHE_HOME=str(cache))
    assert lines == [f"error: {cache}/snakemake: cannot be written; set XDG_CACHE_HOME to a folder that can"]


@pytest.mark.parametrize(
    ("name", "end"),
    [("surwey", "config/suites/survey.yaml?"), ("nosuch", "/config/suites has adaptive.yaml, survey.yaml")],
)
def test_a_missing_suite_is_refused_with_the_names_of_others(tmp_path, name, end):
    folder = tmp_path / "config/suites"
    folder.mkdir(parents=True)
    for known in ("survey", "adaptive"):
        (folder / f"{known}.yaml").touch()
    with pytest.raises(UserError, match=r"not readable \(No such file or directory\); ") as caught:
        read_sections(folder / f"{name}.yaml")
    assert str(caught.value).endswith(end)
