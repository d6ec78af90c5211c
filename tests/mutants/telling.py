"""Texts, files, logs and errors that tell records, and calls that do not raise where they must."""

from __future__ import annotations

from functools import partial

from checks.table_errors import check_table_errors
from mutate import at
from operators import put, skipped
from refusals import check_refusals
from selfcheck.command import check_command
from selfcheck.spellings import check_spelling

from mutants.answers import measured, selected, whole
from pypgm.audit.mechanisms import check_failures
from pypgm.audit.subjects import SPELLED
from pypgm.privacy import Privacy

progress = partial(check_spelling, "mst", SPELLED["mst"], "progress=", (Privacy(),))
failures = partial(check_failures, "mst", SPELLED["mst"])
quiet = partial(check_command, ("--rows", "50", "--quiet"))


MUTANTS = {
    "progress shows the number of records": at("mechanisms._mst:mst", progress, "text tells")(
        put(
            "options.get('progress') "
            "and print(len(getattr(table, '_PrivateTable__data').columns[domain.attributes[0]]))",
            before="run.close()",
        )
    ),
    "a warning names an attribute without variation": at("mechanisms._mst:mst", whole, "text tells")(
        put(
            "import warnings\n"
            "getattr(table, '_PrivateTable__data').count(['a'])[0].max() > 20 and warnings.warn('one value')",
            before="run.close()",
        )
    ),
    "exact scores are logged": at("privacy.selector:Selector.select_top", selected, "text tells")(
        put(
            "import logging\nlogging.getLogger('pypgm').debug('%s', self._weighted(now, chosen, weighing))",
            before="law.draw(...)",
        )
    ),
    "exact counts are logged": at("privacy.private_table:_answers", measured, "text tells")(
        put("__import__('logging').getLogger('pypgm').info('%s', counts)", before="return X")
    ),
    "the summary tells the records read": at(
        "privacy.private_table:PrivateTable.measure", measured, "records counted exactly"
    )("self._ledger.not_private", "self._ledger.not_private or str(self.__records().n_records % 7)"),
    "the command says how many records it read": at("cli.synth:_paid", check_command, "text tells")(
        put("sys.stderr.write(f'{sum(1 for _ in open(arguments.table)) - 1} records read')", after="_prepared(...)")
    ),
    "the command writes as many records as it read under add-remove": at(
        "cli.synth:_paid", check_command, "records counted exactly"
    )(put("arguments.rows = arguments.rows or sum(1 for _ in open(arguments.table)) - 1", after="_prepared(...)")),
    "the command writes a few records more": at("cli.synth:_written", check_command, "records counted exactly")(
        "RecordTable.of(release, arguments.rows, X)",
        "RecordTable.of(release, arguments.rows or round(release.model.total) + 3)",
    ),
    "the command takes the word for the relation and passes it on wrongly": at(
        "cli.synth:_prepared", check_command, "wrong relation"
    )("arguments.neighbours", "'add-remove'"),
    "the command adds delta to epsilon": at("cli.synth:_prepared", check_command, "overspent")(
        "arguments.epsilon", "arguments.epsilon + 1"
    ),
    "a table's error shows a label": at(
        "data.columns.closed:Closed._one_by_one", check_table_errors, "exception tells"
    )("f'needs {self.allowed}, and has another value'", "f'needs {self.allowed}, got {value!r}'"),
    "a table's error tells the length of a label": at(
        "data.columns.closed:Closed._one_by_one", check_table_errors, "exception tells"
    )("f'needs {self.allowed}, and has another value'", "f'needs {self.allowed}, not {len(str(value))} letters'"),
    "an error guesses which label was meant": at(
        "data.columns.closed:Closed._one_by_one", check_table_errors, "exception tells"
    )(
        "f'needs {self.allowed}, and has another value' + hint",
        "f'needs {self.allowed}, and has another value' + hint + ', not no' * str(value).lower().startswith('off')",
    ),
    "an error counts the values that do not fit": at(
        "data.columns.bins:Binned._codes", check_table_errors, "exception tells"
    )("f'needs {self.allowed}, and {why}{hint}'", "f'needs {self.allowed}, and {why}{hint}, {int(bad.sum())} times'"),
    "an error says on which side of its bounds a number is": at(
        "data.columns.bins:Binned._codes", check_table_errors, "exception tells"
    )(
        "('is beyond them', 'is empty', 'is empty', unreadable)",
        "('is below them' if places[row] < low else 'is above them', 'is empty', 'is empty', unreadable)",
    ),
    "a code outside its range is shown": at("data.tabulate:check_codes", check_table_errors, "exception tells")(
        "raise ValueError(X)", "raise ValueError(f'{X} {columns[name][row]}')"
    ),
    "a weight below 0 is shown": at("data.dataset:_as_weights", check_table_errors, "exception tells")(
        "raise ValueError(X)", "raise ValueError(f'{X} {values[bad][0]}')", 1
    ),
    "codes outside their range are taken for the last one": at(
        "data.tabulate:check_codes", check_table_errors, "not refused"
    )("row >= 0", "row > 1"),
    "an error after the measurements holds exact counts": at("mechanisms._mst:mst", failures, "exception tells")(
        put(
            "if options.get('callback') is not None:\n"
            "    raise MemoryError(str(getattr(table, '_PrivateTable__data').count([('a',)])))",
            before="run.close()",
        )
    ),
    "an error after the measurements notes the number of records": at(
        "mechanisms._mst:mst", failures, "exception tells"
    )(
        put(
            "if options.get('callback') is not None:\n"
            "    raise ValueError('no') from KeyError(len(getattr(table, '_PrivateTable__data').columns['a']))",
            before="run.close()",
        )
    ),
    "an overdraw says how many records there are": at(
        "privacy.private_table:PrivateTable.measure", check_refusals, "read before the charge"
    )(
        "noise = access.charge_noise(X, 'measure', Y, ...)",
        "try:\n"
        "    noise = access.charge_noise(X, 'measure', '', ...)\n"
        "except ValueError as error:\n"
        "    raise type(error)(f'{error}: {self.__records().count([()])[0]}') from None",
    ),
    "an overdraw of many cliques is found after their count": at(
        "privacy.private_table:PrivateTable.measure_many", check_refusals, "read before the charge"
    )(put("self.__records().count([clique for clique, _, _ in X])", before="zip(X, shares, strict=True)")),
    "wrong estimates are found after the charge": at(
        "privacy.selector:Selector.select_top", check_refusals, "charged for nothing"
    )(
        "self._ask(now)",
        "if count == 1:\n    self._access.ledger.charge('', '', Exponential(law.epsilon, 1))\n    self._ask(now)",
    ),
    "a closed table answers": at("privacy.private_table:PrivateTable.close", check_refusals, "not refused")(
        "data, self.__data = X, None", "data = X"
    ),
    "a selector survives its table": at("privacy.selector:Selector._checked", check_refusals, "charged for nothing")(
        "self._access.is_closed()", "self._access is None"
    ),
    "a quantile of a closed table is charged": at(
        "privacy.quantiles:private_quantiles", check_refusals, "charged for nothing"
    )(skipped()),
    "weighted records are taken": at("privacy.counts:check_weights", check_refusals, "not refused")(
        "data.weights is not None", "data.weights is not None and data.weights.min() < 1"
    ),
    "weights of records decide whether they are refused": at(
        "privacy.counts:check_weights", check_refusals, "not refused"
    )("data.weights is not None", "data.weights is not None and data.weights.sum() != 22"),
    "a relation may be named twice": at("privacy.arguments:one_relation", check_refusals, "not refused")(
        "neighbours is not None and privacy is not None", "neighbours == 'both'"
    ),
    "a guarantee may be named twice": at("privacy.arguments:as_budget", check_refusals, "not refused")(
        "epsilon is not None or delta is not None", "epsilon is not None and delta is None"
    ),
    "the quiet command speaks of large tables": at("cli.synth:_paid", quiet, "text tells")(
        put("sum(1 for _ in open(arguments.table)) - 1 > 25 and print('large')", after="_prepared(...)")
    ),
    "the command asks twice and keeps the better": at("cli.synth:_paid", check_command, "overspent")(
        put("release = _prepared(arguments, schema)()", before="mechanism_run()")
    ),
    "a file beside the model holds the number of records": at("cli.synth:_paid", check_command, "private state kept")(
        put("print(sum(1 for _ in open(arguments.table)) - 1, file=open('n.txt', 'w'))", after="_prepared(...)")
    ),
}
