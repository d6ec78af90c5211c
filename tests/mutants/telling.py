"""What is printed, written, logged or raised tells records, and calls that must raise do not."""

from __future__ import annotations

from functools import partial

from checks.table_errors import check_table_errors
from mutate import Mutant
from operators import instead, never
from refusals import check_refusals
from selfcheck.command import check_command
from selfcheck.single_steps import STEPS
from selfcheck.spellings import check_spelling

from pypgm.audit.failures import check_failures
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import far_pairs, neighbour_pairs
from pypgm.audit.subjects import MECHANISMS, SPELLED
from pypgm.audit.whole import followed
from pypgm.privacy import Budget, Privacy

TABLE, SELECTOR, GUARDED = "pypgm.privacy.private_table", "pypgm.privacy.selector", "pypgm.privacy.guarded"
MST, CLI, CLOSED = "pypgm.mechanisms._mst", "pypgm.cli.synth", "pypgm.data.closed"
BINS = "pypgm.data.bins"
RELEASE, BUDGET, QUANTILES = "pypgm.release", "pypgm.privacy.budget", "pypgm.privacy.quantiles"
PAIRS = [*[p for p in neighbour_pairs() if p.name.startswith("crossed")], *far_pairs()]
RECORDS = "getattr(table, '_PrivateTable__data')"

progress = partial(check_spelling, "mst", SPELLED["mst"], "progress=", (Privacy(),))
failures = partial(check_failures, "mst", SPELLED["mst"])
quiet = partial(check_command, ("--rows", "50", "--quiet"))


def follow(name):
    """Return all checks of one mechanism or step on a few tables."""
    return lambda: followed("mutant", name, [run_pairs(name, (MECHANISMS | STEPS)[name], Budget(rho=2), PAIRS)])


whole, measured, selected = follow("mst"), follow("gaussian measurement"), follow("selection")

SCORES = "fitted(self._weighted(now, chosen, weighing))"
SELECTED = f"{' ' * 16}return [int(chosen[law.draw({SCORES}, sampler, steps=_STEPS)])]"
ROWS = "(sum(1 for _ in open(arguments.table)) - 1)"
READ_ALL = "    mechanism_run = _prepared(arguments, schema)\n"

MUTANTS = [
    Mutant(
        "progress shows the number of records",
        MST,
        "    run.close()\n",
        f"    options.get('progress') and print(len({RECORDS}.columns[domain.attributes[0]]))\n    run.close()\n",
        progress,
        "text tells",
    ),
    Mutant(
        "a warning names an attribute without variation",
        MST,
        "    run.close()\n",
        f"    import warnings\n    {RECORDS}.count(['a'])[0].max() > 20 and warnings.warn('one value')\n"
        "    run.close()\n",
        whole,
        "text tells",
    ),
    Mutant(
        "exact scores are logged",
        SELECTOR,
        SELECTED,
        "                import logging\n"
        "                logging.getLogger('pypgm').debug('%s', self._weighted(now, chosen, weighing))\n" + SELECTED,
        selected,
        "text tells",
    ),
    Mutant(
        "exact counts are logged",
        TABLE,
        "    return query.matvec(counts).astype(np.int64, copy=False)",
        "    __import__('logging').getLogger('pypgm').info('%s', counts)\n"
        "    return query.matvec(counts).astype(np.int64, copy=False)",
        measured,
        "text tells",
    ),
    Mutant(
        "the summary tells the records read",
        TABLE,
        "PrivateTable.measure",
        instead("self._ledger.not_private", "self._ledger.not_private or str(self.__records().n_records % 7)"),
        measured,
        "records counted exactly",
    ),
    Mutant(
        "the command says how many records it read",
        CLI,
        READ_ALL,
        READ_ALL + f"    sys.stderr.write(f'{{{ROWS}}} records read')\n",
        check_command,
        "text tells",
    ),
    Mutant(
        "the command writes as many records as it read under add-remove",
        CLI,
        READ_ALL,
        READ_ALL + f"    arguments.rows = arguments.rows or {ROWS}\n",
        check_command,
        "records counted exactly",
    ),
    Mutant(
        "the command writes a few records more",
        CLI,
        "_synth",
        instead(
            "release.synthetic_data(arguments.rows)",
            "release.synthetic_data(arguments.rows or round(release.model.total) + 3)",
        ),
        check_command,
        "records counted exactly",
    ),
    Mutant(
        "the command takes the word for the relation and passes it on wrongly",
        CLI,
        "_prepared",
        instead("arguments.neighbours", "'add-remove'"),
        check_command,
        "wrong relation",
    ),
    Mutant(
        "the command adds delta to epsilon",
        CLI,
        "_prepared",
        instead("arguments.epsilon", "arguments.epsilon + 1"),
        check_command,
        "overspent",
    ),
    Mutant(
        "a table's error shows a label",
        CLOSED,
        "Closed._one_by_one",
        instead("f'needs {self.allowed}, and has another value'", "f'needs {self.allowed}, got {value!r}'"),
        check_table_errors,
        "exception tells",
    ),
    Mutant(
        "a table's error tells the length of a label",
        CLOSED,
        "Closed._one_by_one",
        instead(
            "f'needs {self.allowed}, and has another value'", "f'needs {self.allowed}, not {len(str(value))} letters'"
        ),
        check_table_errors,
        "exception tells",
    ),
    Mutant(
        "an error guesses which label was meant",
        CLOSED,
        "Closed._one_by_one",
        instead(
            "f'needs {self.allowed}, and has another value' + hint",
            "f'needs {self.allowed}, and has another value' + hint + ', not no' * str(value).lower().startswith('off')",
        ),
        check_table_errors,
        "exception tells",
    ),
    Mutant(
        "an error counts the values that do not fit",
        BINS,
        "Binned._codes",
        instead(
            "f'needs {self.allowed}, and {why}{hint}'",
            "f'needs {self.allowed}, and {why}{hint}, {int(bad.sum())} times'",
        ),
        check_table_errors,
        "exception tells",
    ),
    Mutant(
        "an error says on which side of its bounds a number is",
        BINS,
        "Binned._codes",
        instead(
            "('is beyond them', 'is empty', 'is empty', unreadable)",
            "('is below them' if places[row] < low else 'is above them', 'is empty', 'is empty', unreadable)",
        ),
        check_table_errors,
        "exception tells",
    ),
    Mutant(
        "a code outside its range is shown",
        "pypgm.data.tabulate",
        "row {row} (the first is 0) has another value",
        "row {row} (the first is 0) has {columns[name][row]}",
        check_table_errors,
        "exception tells",
    ),
    Mutant(
        "a weight below 0 is shown",
        "pypgm.data.dataset",
        "row {int(bad.argmax())} (the first is 0) is not",
        "row {int(bad.argmax())} is {values[bad][0]}",
        check_table_errors,
        "exception tells",
    ),
    Mutant(
        "codes outside their range are taken for the last one",
        "pypgm.data.tabulate",
        "check_codes",
        instead("row >= 0", "row > 1"),
        check_table_errors,
        "not refused",
    ),
    Mutant(
        "an error after the measurements holds exact counts",
        MST,
        "    run.close()\n",
        "    if options.get('callback') is not None:\n"
        f"        raise MemoryError(str({RECORDS}.count([('a',)])))\n    run.close()\n",
        failures,
        "exception tells",
    ),
    Mutant(
        "an error after the measurements notes the number of records",
        MST,
        "    run.close()\n",
        "    if options.get('callback') is not None:\n"
        f"        raise ValueError('no') from KeyError(len({RECORDS}.columns['a']))\n    run.close()\n",
        failures,
        "exception tells",
    ),
    Mutant(
        "an overdraw says how many records there are",
        TABLE,
        '        noise = access.charge_noise(done, "measure", named(attributes), rho=rho, variance=variance, '
        "scale=scale)\n",
        "        try:\n"
        '            noise = access.charge_noise(done, "measure", "", rho=rho, variance=variance, scale=scale)\n'
        "        except ValueError as error:\n"
        "            raise type(error)(f'{error}: {self.__records().count([()])[0]}') from None\n",
        check_refusals,
        "read before the charge",
    ),
    Mutant(
        "an overdraw of many cliques is found after their count",
        TABLE,
        "        unit = total / exact_sum(shares)\n",
        "        unit = total / exact_sum(shares)\n"
        "        self.__records().count([clique for clique, _, _ in asked])\n",
        check_refusals,
        "read before the charge",
    ),
    Mutant(
        "wrong estimates are found after the charge",
        SELECTOR,
        "        self._ask(now)\n"
        "        ledger, sampler = self._access.ledger, self._access.sampler\n"
        "        if count == 1:\n",
        "        ledger, sampler = self._access.ledger, self._access.sampler\n"
        "        if count == 1:\n"
        "            ledger.charge('', '', Exponential(law.epsilon, 1))\n"
        "            self._ask(now)\n",
        check_refusals,
        "charged for nothing",
    ),
    Mutant(
        "a closed table answers",
        TABLE,
        "        self.__data = None\n        for view in self.__views:",
        "        for view in self.__views:",
        check_refusals,
        "not refused",
    ),
    Mutant(
        "a selector survives its table",
        SELECTOR,
        "Selector._checked",
        instead("self._access.is_closed()", "self._access is None"),
        check_refusals,
        "charged for nothing",
    ),
    Mutant(
        "a quantile of a closed table is charged",
        QUANTILES,
        "    access.check_open()\n    points = _points(grid)\n    wanted",
        "    points = _points(grid)\n    wanted",
        check_refusals,
        "charged for nothing",
    ),
    Mutant(
        "weighted records are taken",
        TABLE,
        "PrivateTable.__init__",
        instead("data.weights is not None", "data.weights is not None and data.weights.min() < 1"),
        check_refusals,
        "not refused",
    ),
    Mutant(
        "weights of records decide whether they are refused",
        TABLE,
        "PrivateTable.__init__",
        instead("data.weights is not None", "data.weights is not None and data.weights.sum() != 22"),
        check_refusals,
        "not refused",
    ),
    Mutant(
        "a seed is dropped where OpenDP draws",
        "pypgm.privacy.sampler",
        "Sampler.__init__",
        never(),
        check_refusals,
        "not refused",
    ),
    Mutant(
        "a relation may be named twice",
        "pypgm.privacy.arguments",
        "one_relation",
        instead("neighbours is not None and privacy is not None", "neighbours == 'both'"),
        check_refusals,
        "not refused",
    ),
    Mutant(
        "a guarantee may be named twice",
        "pypgm.privacy.arguments",
        "as_budget",
        instead("epsilon is not None or delta is not None", "epsilon is not None and delta is None"),
        check_refusals,
        "not refused",
    ),
    Mutant(
        "the quiet command speaks of large tables",
        CLI,
        READ_ALL,
        READ_ALL + f"    {ROWS} > 25 and print('large')\n",
        quiet,
        "text tells",
    ),
    Mutant(
        "the command asks twice and keeps the better",
        CLI,
        "        release = mechanism_run()\n",
        "        release = _prepared(arguments, schema)()\n        release = mechanism_run()\n",
        check_command,
        "overspent",
    ),
    Mutant(
        "a file beside the model holds the number of records",
        CLI,
        READ_ALL,
        READ_ALL + f"    print({ROWS}, file=open('n.txt', 'w'))\n",
        check_command,
        "private state kept",
    ),
]
