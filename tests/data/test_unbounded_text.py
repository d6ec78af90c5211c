"""A file of a few kilobytes may unpack to any length: what is read whole is read up to a length, and a line too."""

from __future__ import annotations

import gzip
import io

import pytest

import pypgm
from pypgm import cli
from pypgm.bayes import BayesianNetwork
from pypgm.data.schema.schema_file import MOST_YAML
from pypgm.data.sources.files import MOST_TEXT, csv_rows


class Endless(io.StringIO):
    """A text of one line that has no end; who asks for all of the line is told."""

    def readline(self, size=-1):
        if size is None or size < 0:
            raise AssertionError("a line is read, however long it is")
        return "x" * size

    read = readline

    def __next__(self):
        return self.readline()


READERS = {
    "network.bif": BayesianNetwork.read_bif,
    "model.uai": pypgm.read_uai,
    "network.net": pypgm.read_network,
    "network.xdsl": pypgm.read_network,
    "domain.json": pypgm.read_domain,
    "schema.json": pypgm.read_schema,
    "schema.yaml": pypgm.read_schema,
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_unpacks_to_more_than_is_read_is_refused(tmp_path, name):
    path = tmp_path / name
    if name.endswith("yaml"):
        pytest.importorskip("yaml")
    path.write_bytes(gzip.compress(b" " * (2 * MOST_TEXT + 1), compresslevel=1))
    with pytest.raises(ValueError, match=r"holds more than [0-9,]+ characters"):
        READERS[name](path)


def test_a_long_file_of_yaml_is_refused_as_it_is(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / "schema.yaml").write_text("- a\n" * (MOST_YAML // 4 + 1))
    with pytest.raises(ValueError, match="holds more than"):
        pypgm.read_schema(tmp_path / "schema.yaml")


def test_a_workload_that_unpacks_to_more_than_is_read_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_text('{"a": 2, "b": 2}')
    (tmp_path / "work.json").write_bytes(gzip.compress(b"[" + b" " * MOST_TEXT + b"]", compresslevel=1))
    asked = ["plan", "schema.json", "--records", "9", "--epsilon", "1", "--delta", "0", "--workload", "work.json"]
    assert cli.main(asked) == 2
    assert "work.json holds more than" in capsys.readouterr().err


def test_a_line_of_a_table_is_not_read_to_its_end():
    with pytest.raises(ValueError, match="a field is too long"):
        list(csv_rows("table.csv", Endless()))


def test_lines_of_all_kinds_are_read(tmp_path):
    rows = list(csv_rows("table.csv", io.StringIO('a,b\r\n1,"x\ny"\r2,\n\n3,z', newline="")))
    assert rows == [["a", "b"], ["1", "x\ny"], ["2", ""], [], ["3", "z"]]
