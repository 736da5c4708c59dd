import pytest

from relaxometer.core.files import replacing, write_json, write_text


def test_a_failure_leaves_the_old_file(tmp_path):
    target = tmp_path / "deep/file.txt"
    write_text("old", target)

    def fail_half_way():
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail_half_way()
    assert target.read_text() == "old"
    write_text("new", target)
    assert [(path.name, path.read_text()) for path in target.parent.iterdir()] == [("file.txt", "new")]


def test_json_keeps_letters(tmp_path):
    write_json({"place": "Kantō"}, tmp_path / "a.json")
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n "place": "Kantō"\n}\n'
