"""Files of mappings lie below the folder of the schema: what somebody else's schema names elsewhere is not read."""

from __future__ import annotations

import gzip
import json
import os

import pytest

import pypgm
from pypgm.data.schema.schema_file import with_mappings

STAFF = "login,password\nann,hunter2\nbob,swordfish\n"


class Machine:
    """A folder with a schema of somebody else, and a file beside it that is not theirs."""

    def __init__(self, home):
        self.secret, self.folder = home / "own" / "staff.csv", home / "theirs" / "schema"
        for place in (self.secret.parent, self.folder / "inner"):
            place.mkdir(parents=True)
        self.write(there=True)

    def write(self, *, there):
        """Write the file that is not theirs, or leave none."""
        self.secret.write_text(STAFF) if there else self.secret.unlink(missing_ok=True)

    def link(self, name, to):
        (self.folder / name).unlink(missing_ok=True)
        (self.folder / name).symlink_to(to)
        return name

    def names(self):
        """Yield names by which a schema might lead to the file."""
        up = "../../own"
        yield from (str(self.secret), f"{up}/staff.csv", f"inner/../{up}/staff.csv", f"./{up}/../own/staff.csv", up)
        yield from ("..", ".", "", "inner/..", "inner/../staff.csv", "/", "//", "../schema/inner/m.csv")
        yield self.link("link.csv", self.secret)
        yield self.link("link.csv", f"{up}/staff.csv")
        yield f"{self.link('inner link', self.secret.parent)}/staff.csv"
        self.link("second", "third")
        yield self.link("third", self.secret) and "second"
        yield f"{self.link('root', '/')}{self.secret}"

    def told(self, name):
        password = {"kind": "derived", "from": "login", "mapping": name, "other": "-"}
        return {"columns": {"login": ["ann", "bob", "x"], "password": password, "sex": ["F", "M"]}}


def doors(machine):
    """Yield each way in which the mapping of a schema comes to be read, given what the schema file has."""

    def by_file(told):
        path = machine.folder / "schema.json"
        path.write_text(json.dumps(told))
        return pypgm.read_schema(path)

    def by_yaml(told):
        pytest.importorskip("yaml")
        path = machine.folder / "schema.yaml"
        path.write_text(json.dumps(told))
        return pypgm.read_schema(path)

    def in_its_folder(told):
        before = os.getcwd()
        os.chdir(machine.folder)
        try:
            return pypgm.synthesize(
                {"login": ["x"], "sex": ["F"]}, told, epsilon=1, delta=1e-9, mechanism="mst", unsafe_seed=0
            ).schema
        finally:
            os.chdir(before)

    yield from (by_file, by_yaml, in_its_folder)
    yield lambda told: pypgm.Schema.from_dict(told, folder=machine.folder)
    yield lambda told: pypgm.Schema.from_dict(told["columns"], folder=str(machine.folder))
    elsewhere = machine.folder.parent / "a link"
    elsewhere.symlink_to(machine.folder)
    yield lambda told: pypgm.Schema.from_dict(told, folder=elsewhere)


def test_no_name_leads_out_of_the_folder_of_the_schema(tmp_path):
    """The refusal is the same whether or not a file is there."""
    machine = Machine(tmp_path)
    for read in doors(machine):
        for name in machine.names():
            said = []
            for there in (True, False):
                machine.write(there=there)
                with pytest.raises(
                    ValueError, match="needs the name of a file below the folder of the schema"
                ) as error:
                    read(machine.told(name))
                said.append(str(error.value))
            assert said[0] == said[1]
            assert "hunter2" not in said[0]


def test_names_below_the_folder_are_read(tmp_path):
    """Also where the folder is a link, a link stays below it, or a name goes through folders."""
    machine = Machine(tmp_path)
    for name in ("m.csv", "inner/m.csv", "..m.csv", "a..b", "m .csv", "é.csv"):
        (machine.folder / name).write_text(STAFF)
    machine.link("within.csv", "inner/m.csv")
    machine.link("whole.csv", machine.folder / "m.csv")
    machine.link("back", "inner/../inner")
    for read in doors(machine):
        for name in ("m.csv", "inner/m.csv", "./m.csv", "inner//m.csv", "..m.csv", "a..b", "m .csv", "é.csv"):
            assert dict(read(machine.told(name)).made["password"].pairs) == {"ann": "hunter2", "bob": "swordfish"}
        for name in ("within.csv", "whole.csv", "back/m.csv"):
            assert read(machine.told(name)).made["password"].pairs
    with pytest.raises(FileNotFoundError):
        pypgm.Schema.from_dict(machine.told("none.csv"), folder=machine.folder)
    machine.link("loop", "loop")
    with pytest.raises(OSError, match="loop"):
        pypgm.Schema.from_dict(machine.told("loop"), folder=machine.folder)


@pytest.mark.usefixtures("ends_by_itself")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path):
    machine = Machine(tmp_path)
    os.mkfifo(machine.folder / "pipe.csv")
    machine.link("to the pipe", "pipe.csv")
    for name in ("pipe.csv", "to the pipe", "inner"):
        with pytest.raises(ValueError, match="is a folder, a pipe or a device"):
            with_mappings(machine.told(name), machine.folder)


def test_a_mapping_that_unpacks_to_more_than_is_read_is_refused(tmp_path):
    machine = Machine(tmp_path)
    with gzip.open(machine.folder / "m.csv", "wt") as file:
        file.write(STAFF + "x,y\n" * (1 << 22))
    with pytest.raises(ValueError, match="holds more than 16,777,216 characters"):
        with_mappings(machine.told("m.csv"), machine.folder)
