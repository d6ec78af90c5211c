"""The text of a Bayesian network in the interchange format BIF, with noisy maxima: read into parts, and written."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.file_kind import it_looks_like
from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import whole_of
from pypgm._base.terminal import escaped
from pypgm.bayes.bif_words import Words, items, shown, written
from pypgm.bayes.checks import NetworkError
from pypgm.data.sources.files import is_weight
from pypgm.domain import Clique, first_repeat, listed


def noisy_max(rows: Mapping[int, Sequence[float]], shape: Sequence[int]) -> NDArray[np.float64]:
    r"""Fill a conditional table from the rows in which at most one parent is away from its first value.

    With :math:`F(y \mid x)` the cumulative probability of an effect's values, :math:`F_0` that of the row in which all
    parents have their first value, and :math:`F_i(\cdot \mid x_i)` that of the row in which parent i alone has
    another, the effect is the greatest of the values that the causes produce independently:

    .. math:: F(y \mid x) = F_0(y) \prod_{i : x_i \ne 0} F_i(y \mid x_i) / F_0(y).

    Given rows stay unchanged.

    Parameters
    ----------
    rows : mapping of int to sequence of float
        The given rows, by their position in C order over the parents' values.
    shape : sequence of int
        Sizes of the parents.

    Returns
    -------
    ndarray of float64, shape (product of `shape`, size of the effect)

    Raises
    ------
    ValueError
        If one of these rows is missing, or the product is not a distribution.

    References
    ----------
    M. Henrion, Some practical issues in constructing belief networks, UAI 1987. F. J. Díez, Parameter adjustment in
    Bayes networks: the generalized noisy OR-gate, UAI 1993.

    Examples
    --------
    >>> noisy_max({0: [0.9, 0.1], 1: [0.45, 0.55], 2: [0.3, 0.7]}, (2, 2))[3].round(4)
    array([0.15, 0.85])
    """
    codes = np.indices(tuple(shape)).reshape(len(shape), -1)
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    needed = [0, *(x * stride for size, stride in zip(shape, strides, strict=True) for x in range(1, size))]
    missing = [row for row in needed if row not in rows]
    if missing:
        values = tuple(int(c) for c in codes[:, missing[0]])
        raise ValueError(f"it needs the row in which the parents have values number {values} (the first is 0)")
    written = {row: np.asarray(values, dtype=np.float64) for row, values in rows.items()}
    base = np.cumsum(written[0])
    cumulative = np.tile(base, (codes.shape[1], 1))
    for code, size, stride in zip(codes, shape, strides, strict=True):
        for x in range(1, size):
            with np.errstate(divide="ignore", invalid="ignore"):
                # 0 / 0: an effect this small is impossible already.
                cumulative[code == x] *= np.where(base > 0, np.cumsum(written[x * stride]) / base, 0.0)
    table: NDArray[np.float64] = np.diff(cumulative, axis=1, prepend=0.0)
    if table.min() < -1e-12:
        raise ValueError(f"some row would have the probability {table.min():.3g}; its causes cannot be independent")
    table = np.maximum(table, 0.0)
    for row, given in written.items():
        table[row] = given
    return table


# Each is linear in the text: no two repetitions that meet can take the same character.
_PROPERTY = re.compile(r"\s*property\b")
_ROW = re.compile(r'\s*\(([^")]*(?:"[^"]*"[^")]*)*)\)([^;]*);')
_TABLE = re.compile(r"\s*(table|default)\b([^;]*);")
_UNSEEN = "; unseen='uniform' reads a row of values that no record had as the same number for each value"
_MAX = re.compile(r"\s*function\s*=?\s*max\s*")


@dataclass(frozen=True)
class Description:
    """Contents of a BIF file: the parts of a network.

    Attributes
    ----------
    name : str
        Name of the network.
    labels : dict of str to tuple of str
        Values of each attribute, in the order of the file.
    parents : dict of str to tuple of str
        Parents of each attribute, in the order of the file.
    tables : dict of str to ndarray of float64, shape (sizes of the parents, size of the attribute)
        Probabilities of an attribute given its parents, exactly as written.
    lines : dict of str to int
        Line on which each table begins.
    notes : list of str
        Remarks for the reader of the network.
    """

    name: str = "unknown"
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parents: dict[str, Clique] = field(default_factory=dict)
    tables: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


Unseen = Literal["refuse", "uniform"]


def parse_bif(text: str, path: str = "text", unseen: Unseen = "refuse") -> Description:
    """Read a network from the text of a BIF file.

    Parameters
    ----------
    text : str
    path : str
        Name of the text in messages.
    unseen : {"refuse", "uniform"}
        Whether a row of NaN, as R's bnlearn writes one for values that no record had, is an error, or uniform.

    Raises
    ------
    ValueError
        If the text is not a whole network; the message names the line, the text needed and the text found.

    Examples
    --------
    >>> found = parse_bif('variable rain { type discrete[2] { no, yes }; } probability (rain) { table 0.7, 0.3; }')
    >>> found.labels, found.tables["rain"]
    ({'rain': ('no', 'yes')}, array([0.7, 0.3]))
    """
    if unseen not in get_args(Unseen):
        raise ValueError(f"unseen must be 'refuse' or 'uniform', got {unseen!r}")
    return _Reader(text, path, unseen).read()


def format_bif(
    name: str,
    labels: Mapping[str, Sequence[str]],
    parents: Mapping[str, Clique],
    tables: Mapping[str, NDArray[np.float64]],
) -> Iterator[str]:
    """Yield the text of a BIF file, block by block; each number is the shortest that reads back as the same double.

    Raises
    ------
    ValueError
        If a name or label holds a double quote or a line break, which the format cannot express.
    """
    yield f"network {written(name)} {{\n}}\n"
    for attribute, values in labels.items():
        inside = ", ".join(map(written, values))
        yield f"variable {written(attribute)} {{\n  type discrete [ {len(values)} ] {{ {inside} }};\n}}\n"
    for attribute in labels:
        given = parents[attribute]
        rows = tables[attribute].reshape(-1, len(labels[attribute])).tolist()
        head = " | ".join([written(attribute), *([", ".join(map(written, given))] if given else [])])
        keys = itertools.product(*([written(v) for v in labels[p]] for p in given))
        lines = (f"  ({', '.join(key)})" if given else "  table" for key in keys)
        body = "".join(f"{key} {', '.join(map(repr, row))};\n" for key, row in zip(lines, rows, strict=True))
        yield f"probability ( {head} ) {{\n{body}}}\n"


@dataclass(frozen=True)
class _Block:
    """Probability block whose body is not read yet."""

    child: str
    parents: Clique
    start: int
    end: int


class _Reader(Words):
    def __init__(self, text: str, path: str, unseen: Unseen) -> None:
        super().__init__(text, path)
        self.unseen, self.n_unseen = unseen, 0
        self.network = Description()
        self.blocks: list[_Block] = []
        self.title = self.network.name

    def read(self) -> Description:
        if not self.text.strip():
            raise NetworkError("", f"{self.path}: the file is empty: no network, variable or probability block")
        while (keyword := self.word_or_end()) is not None:
            if keyword == "network":
                self._network()
            elif keyword == "variable":
                self._variable()
            elif keyword == "probability":
                self._header()
            else:
                hint = "" if self.network.labels else it_looks_like(self.text, "a BIF network")
                self.fail(f"a block must begin with network, variable or probability, got {keyword!r}{hint}")
        for block in self.blocks:
            self._table(block)
        self._add_unwritten()
        network = self.network
        if self.n_unseen:
            network.notes.append(f"{self.n_unseen} rows of NaN, of values that no record had, are uniform")
        in_order = {a: network.parents[a] for a in network.labels}, {a: network.tables[a] for a in network.labels}
        return Description(self.title, network.labels, *in_order, network.lines, network.notes)

    def _add_unwritten(self) -> None:
        """Give a variable without table and children a uniform table, which leaves the product as written."""
        network = self.network
        used = {p for parents in network.parents.values() for p in parents}
        for name in [a for a in network.labels if a not in network.tables]:
            if name in used:
                self.fail(f"variable {name!r} has children and needs a probability block, and has none")
            size = len(network.labels[name])
            network.parents[name], network.lines[name] = (), self.line(self.position)
            network.tables[name] = np.full(size, 1 / size)
            network.notes.append(f"{name!r}: no probability block and no children; all its values are equally likely")

    # Blocks.

    def _network(self) -> None:
        words = []
        while True:
            name, mark = self.token()
            if name is None:
                break
            words.append(name)
        if mark != "{":
            self.fail(f"'{{' must follow the name of the network, got {shown(mark)}")
        if words:
            self.title = " ".join(words)
        self._skip_properties("network", "}")

    def _skip_properties(self, where: str, *stops: str) -> str:
        """Skip properties up to a mark or word that ends or interrupts them; return it."""
        while match := _PROPERTY.match(self.text, self.position):
            self._property(match.end())
        name, mark = self.token()
        word = mark if name is None else name
        if word not in stops:
            wanted = " or ".join(repr(s) for s in ("property", *stops))
            self.fail(f"{wanted} must stand in this {where} block, got {shown(word)}")
        return word

    def _property(self, start: int, end: int | None = None) -> str:
        """Return the text of a property, and pass it and the ';' that may close it."""
        self.position = start
        stop = self.find(";}", end)
        self.position = stop + self.text.startswith(";", stop)
        return self.text[start:stop]

    def _variable(self) -> None:
        name = self.name("the name of a variable")
        begun = self.position
        if name in self.network.labels:
            self.fail(f"variable {name!r} is declared twice")
        self.mark("{", f"the name {name!r}")
        while self._skip_properties("variable", "type", "}") == "type":
            if name in self.network.labels:
                self.fail(f"variable {name!r} has two types")
            self.network.labels[name] = self._labels(name)
        if name not in self.network.labels:
            self.fail(f"variable {name!r} needs a type", begun)

    def _labels(self, name: str) -> tuple[str, ...]:
        kind = self.name("'discrete'")
        if kind != "discrete":
            self.fail(f"variable {name!r} needs type discrete, got {kind!r}")
        self.mark("[", "discrete")
        size = self.name("the number of values")
        count = whole_of(size)
        if not count:
            self.fail(f"variable {name!r} needs a number of values, 1 or more, got {size!r}")
        self.mark("]", "the number of values")
        start, end = self.braced(f"the values of {name!r}")
        labels = items(self.text[start:end], count)
        if len(labels) != count:
            self.fail(f"variable {name!r} needs {count} values, got {len(labels)}: {listed(labels)}")
        if len(set(labels)) != len(labels):
            self.fail(f"variable {name!r} has value {first_repeat(labels)!r} twice")
        end = self.position
        if self.token() != (None, ";"):
            self.position = end
        return tuple(labels)

    def _header(self) -> None:
        """Read the head of a probability block; its body waits until all variables are known."""
        self.mark("(", "probability")
        names: list[str] = []
        bars = []
        while True:
            name, mark = self.token()
            if name is not None:
                names.append(name)
            elif mark == "|":
                bars.append(len(names))
            elif mark != ",":
                break
        if mark != ")":
            self.fail(f"')' must close the list of variables, got {shown(mark)}")
        if not names or bars not in ([], [1]):
            self.fail("a probability block needs one variable, and its parents after one '|'")
        self.blocks.append(_Block(names[0], tuple(names[1:]), *self.braced("the probabilities")))

    # Tables.

    def _table(self, block: _Block) -> None:
        network, child, parents = self.network, block.child, block.parents
        self.position = block.start
        for name in (child, *parents):
            if name not in network.labels:
                self.fail(f"probability block of {child!r} names {name!r}, which is not declared")
        if child in network.tables:
            self.fail(f"variable {child!r} has two probability blocks")
        if len({child, *parents}) != 1 + len(parents):
            self.fail(f"the variables of a probability block must differ, got {listed([child, *parents])}")
        shape = [len(network.labels[p]) for p in parents]
        network.parents[child] = parents
        network.lines[child] = self.line(block.start)
        cells = math.prod(shape) * len(network.labels[child])
        # Twice: as Python's numbers, and as the table.
        check_fits(
            16 * cells,
            None,
            f"{self.path}, line {network.lines[child]}: the table of {child!r}, of {len(parents)} parents, needs "
            f"{short(cells)} cells",
            "such a table does not fit into memory",
        )
        rows, is_max = self._rows(block, shape)
        network.tables[child] = self._filled(block, rows, shape, is_max).reshape(*shape, len(network.labels[child]))

    def _rows(self, block: _Block, shape: Sequence[int]) -> tuple[dict[int, list[float]], bool]:
        """Return the given rows by their position in C order over the parents' values; -1 is the default."""
        size = len(self.network.labels[block.child])
        codes = [{label: i for i, label in enumerate(self.network.labels[p])} for p in block.parents]
        plain = self._plain_rows(self.text[block.start : block.end], codes, size)
        if plain is not None:
            return plain, False
        rows: dict[int, list[float]] = {}
        is_max = False
        while self.position < block.end:
            if match := _ROW.match(self.text, self.position, block.end):
                row = self._row_index(match, block.parents, codes, shape)
                if row in rows:
                    self.fail(f"the row ({match[1]}) of {block.child!r} comes twice", match.start(1))
                rows[row] = self._numbers(match[2], size, match.start(2))
            elif match := _PROPERTY.match(self.text, self.position, block.end):
                is_max |= _MAX.fullmatch(self._property(match.end(), block.end)) is not None
                continue
            elif match := _TABLE.match(self.text, self.position, block.end):
                if rows and (match[1] == "table" or -1 in rows):
                    self.fail(f"{match[1]} must stand alone, but {block.child!r} has other rows", match.start(1))
                if match[1] == "table":
                    rows = self._whole_table(match, size, math.prod(shape))
                else:
                    rows[-1] = self._numbers(match[2], size, match.start(2))
            elif self.text[self.position : block.end].isspace():
                break
            else:
                start = len(self.text) - len(self.text[self.position :].lstrip())
                what = "table, default, property or a row in parentheses, closed by ';',"
                self.fail(
                    f"{what} must stand here, got {shown(self.text[start : min(start + 30, block.end)].strip())}",
                    start,
                )
            self.position = match.end()
        return rows, is_max

    def _plain_rows(self, body: str, codes: Sequence[Mapping[str, int]], size: int) -> dict[int, list[float]] | None:
        """Return the rows of a plain block, all at once; None if anything in it is unusual and needs a closer look."""
        *lines, rest = map(str.strip, body.split(";"))
        if not lines or rest or '"' in body or not all(row.startswith("(") for row in lines):
            return None
        keys, _, values = zip(*(row[1:].partition(")") for row in lines), strict=True)
        if any(key.count(",") != len(codes) - 1 for key in keys) or any(v.count(",") != size - 1 for v in values):
            return None
        labels = ",".join(keys).split(",")
        text = ",".join(values)
        index = np.zeros(len(keys), dtype=np.intp)
        try:
            for i, known in enumerate(codes):
                parent_codes = map(known.__getitem__, map(str.strip, labels[i :: len(codes)]))
                index = index * len(known) + np.fromiter(parent_codes, dtype=np.intp, count=len(keys))
            numbers = np.array(list(map(float, text.split(",")))).reshape(len(keys), size)
        except (KeyError, ValueError):
            return None
        rows = dict(zip(index.tolist(), numbers.tolist(), strict=True))
        good = ((numbers >= 0) & (numbers < np.inf)).all() and "_" not in text
        return rows if good and len(rows) == len(keys) else None

    def _whole_table(self, match: re.Match[str], size: int, n_rows: int) -> dict[int, list[float]]:
        """Read a table, in which the variable's own value varies slowest and the last parent's fastest."""
        numbers = self._numbers(match[2], size * n_rows, match.start(2))
        return {row: numbers[row::n_rows] for row in range(n_rows)}

    def _row_index(
        self, match: re.Match[str], parents: Clique, codes: Sequence[Mapping[str, int]], shape: Sequence[int]
    ) -> int:
        text, position = match[1], match.start(1)
        labels = [v.strip() for v in text.split(",")] if '"' not in text else items(text, len(parents))
        if len(labels) != len(parents):
            labels = items(text, len(parents))
        if len(labels) != len(parents):
            self.fail(f"a row needs {len(parents)} values, of {listed(parents)}, got ({text})", position)
        row = 0
        for parent, label, size, known in zip(parents, labels, shape, codes, strict=True):
            if label not in known:
                self.fail(f"{parent!r} has no value {label!r}; its values are {listed(tuple(known))}", position)
            row = row * size + known[label]
        return row

    def _numbers(self, text: str, count: int, position: int) -> list[float]:
        words = text.replace(",", " ").split()
        if self.unseen == "uniform" and len(words) == count and {word.lower() for word in words} == {"nan"}:
            self.n_unseen += 1
            return [1 / count] * count
        try:
            numbers = list(map(float, words))
            # A NaN makes the sum NaN.
            good = not numbers or (min(numbers) >= 0 and sum(numbers) < np.inf and "_" not in text)
        except ValueError:
            good = False
        if not good:
            bad = next((word for word in words if not is_weight(word)), None)
            if bad is None:
                self.fail("probabilities must be about 1 in sum, and have one beyond the doubles", position)
            at = position + text.index(bad)
            hint = _UNSEEN if bad.strip("+-").lower() == "nan" else ""
            self.fail(f"a probability must be a number, finite and at least 0, got {bad!r}{hint}", at)
        if len(numbers) != count:
            self.fail(f"{count} probabilities must stand here, got {len(numbers)}", position)
        return numbers

    def _filled(
        self, block: _Block, rows: dict[int, list[float]], shape: Sequence[int], is_max: bool
    ) -> NDArray[np.float64]:
        """Return all rows: the given ones, for others the default or, if the file says so, the noisy maximum."""
        n_rows = math.prod(shape)
        default = rows.pop(-1, None)
        table = np.empty((n_rows, len(self.network.labels[block.child])))
        if rows:
            table[list(rows)] = list(rows.values())
        is_given = np.zeros(n_rows, dtype=bool)
        is_given[list(rows)] = True
        missing = np.flatnonzero(~is_given)
        if not missing.size:
            return table
        if default is not None:
            table[missing] = default
            return table
        if not is_max:
            codes = np.unravel_index(int(missing[0]), tuple(shape)) if shape else ()
            labels = [self.network.labels[p][int(c)] for p, c in zip(block.parents, codes, strict=True)]
            what = f"row ({escaped(', '.join(labels))})" if labels else "table"
            self.fail(f"variable {block.child!r} needs {n_rows} rows or a default; {what} is missing", block.start)
        try:
            filled = noisy_max(rows, shape)
        except ValueError as error:
            self.fail(f"the noisy maximum of {block.child!r}: {error}", block.start)
        what = f"{missing.size} of {n_rows} rows are the noisy maximum of the {len(rows)} written"
        self.network.notes.append(f"{block.child!r}: {what}")
        return filled
