"""Releases of mechanisms: free to use, without the records; their fields in a file."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from pypgm._base.clock import Clock
from pypgm._base.constraints import Positive
from pypgm._base.numeric import as_generator, checked_flag, checked_integer
from pypgm._base.signatures import checked
from pypgm._base.student import LEVEL
from pypgm.data import Schema
from pypgm.data.schema.evidence import read_evidence
from pypgm.data.schema.rules import drawn_by_rules
from pypgm.data.schema.schema import as_schema
from pypgm.data.schema.schema_file import with_orders
from pypgm.data.sources.frames import check_library
from pypgm.data.sources.layout import Layout
from pypgm.domain import Clique, as_clique, as_cliques
from pypgm.errors import warn_caller
from pypgm.estimation.pair_screen import PairScreen
from pypgm.factor import Factor
from pypgm.files.file import file_bytes, parse_file, read_file
from pypgm.files.record_table import RecordTable
from pypgm.files.stored_measurements import packed_measurements, unpacked_measurements
from pypgm.files.stored_model import in_module, message_of, model_of_archive
from pypgm.intervals.counts import errors_of_counts
from pypgm.intervals.heavy_bins import heavy_columns, moving_bins
from pypgm.intervals.interval import Combine, Interval, Request, Target, interval_of
from pypgm.intervals.reading import IGNORED, Statistic, alone, check_named, ignores_table, is_extreme, names_read
from pypgm.models.derived_answers import answered, check_read, conditioned
from pypgm.models.estimated_again import (
    ERROR_DEFAULTS,
    STANDARD_ERROR_DEFAULTS,
    DrawOptions,
    ErrorOptions,
    Simulation,
    simulated,
)
from pypgm.models.marginal import Marginal
from pypgm.models.model import Model
from pypgm.privacy.account import Account
from pypgm.privacy.account_entry import AccountEntry
from pypgm.privacy.account_use import resumed
from pypgm.privacy.arguments import as_budget
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.measured_lines import check_links, links_of
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.released import Model_co, Released
from pypgm.report import caveat_lines
from pypgm.reporting.facts import Facts
from pypgm.reporting.text import release_lines, summary_lines
from pypgm.reporting.words import TITLE

if TYPE_CHECKING:
    import os

    from typing_extensions import Self, Unpack

    from pypgm.data import Dataset
    from pypgm.data.sources.frames import Frame, Library
    from pypgm.domain import Domain
    from pypgm.files.stored_model import ReleasedModel
    from pypgm.graphs.evidence import Evidence
    from pypgm.intervals.known import ReleaseErrors
    from pypgm.models import GraphicalModel, RegionGraphModel

__all__ = ["ModelRelease", "Release", "load"]


_LEARNERS = ("mrf.learn_ising", "mrf.learn_pairwise", "mrf.learn_t_wise", "mrf.learn_structure")
_KINDS = {"bayes.learn_private": "network", **dict.fromkeys(_LEARNERS, "field")}  # of files without a kind


def release_fields(release: Released) -> dict[str, Any]:
    """Return the fields of a release."""
    fields: dict[str, Any] = {"mechanism": release.mechanism, "ledger": release.ledger.to_dict()}
    fields |= {"measurements": packed_measurements(release.measurements)}
    fields |= links_of(release.measurements, release.ledger)
    fields |= {"options": dict(release.options), "pypgm": release.version, "log": list(release.log)}
    fields |= {"unmeasured": release.unmeasured} | ({"kind": release._kind} if release._kind else {})
    fields |= {name: value for name in ("key", "request") if (value := getattr(release, name))}
    fields |= {} if release.account is None else {"account": release.account.to_dict()}
    fields |= {} if release.screen is None else {"screen": release.screen.to_fields(release.model.domain)}
    fields |= {} if release.schema is None else {"schema": release.schema.to_dict()}
    return fields if release.layout is None else fields | {"layout": release.layout.to_dict()}


def release_arguments(stored: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """Return the arguments of a release, without its model over a domain, from the fields of its file.

    ``ValueError``, ``KeyError`` or ``TypeError`` where something is missing or does not fit.
    """
    log = ({k: tuple(v) if isinstance(v, list) else v for k, v in r.items()} for r in stored["log"])
    return {
        "measurements": unpacked_measurements(domain, stored["measurements"]),
        "ledger": LedgerReport.from_dict(stored["ledger"]),
        "mechanism": stored["mechanism"],
        "options": stored["options"],
        "version": stored["pypgm"],
        "log": tuple(log),
        "schema": as_schema(Schema.from_dict(with_orders(stored["schema"]))) if "schema" in stored else None,
        "layout": Layout.from_dict(stored["layout"]) if "layout" in stored else None,
        "unmeasured": stored.get("unmeasured", "not asked"),
        "key": stored.get("key", ""),
        "request": stored.get("request", ""),
        "account": AccountEntry.from_dict(stored["account"]) if "account" in stored else None,
        "screen": PairScreen.from_fields(domain, stored["screen"]) if "screen" in stored else None,
    }


def release_kind(stored: Mapping[str, Any]) -> str:
    """Return the kind of a release by the fields of its file; earlier files have its mechanism alone."""
    return str(stored.get("kind", _KINDS.get(stored["mechanism"], "")))


def check_release(release: Released, stored: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a release contradicts the fields that it was made from."""
    check_links(release.measurements, release.ledger, stored if "charged_by" in stored else None)
    if release.screen is not None and not any(line.what == "screen" for line in release.ledger.lines):
        raise ValueError("it has a screen of pairs that no line of its ledger charged")


class _FewErrorOptions(DrawOptions, total=False):
    time_limit: Annotated[float, Positive(infinite=True)] | None


class Release(Released[Model_co]):
    """A private release: noisy answers, their cost, and the model fitted to them.

    It holds no records. Querying the model, drawing records and saving cost no privacy and leave the ledger as it was.

    Attributes
    ----------
    model : GraphicalModel, RegionGraphModel or CountedNetwork
        The model; its marginals are counts.
    measurements : tuple of LinearMeasurement
        The noisy answers, int64, exactly as they were drawn.
    ledger : LedgerReport
        Charges, budget and neighbour relation; made from a `Ledger`, and cannot be charged.
    mechanism : str
        Name of the mechanism.
    options : mapping of str to JSON values
        Options of the mechanism beyond the budget and the relation, if it records them.
    version : str
        pypgm version that made the release; empty if the file does not record it.
    log : tuple of mapping
        Choices and results of each round of an adaptive mechanism, only released facts;
        ``pandas.DataFrame(release.log)`` makes a frame of it. Empty without rounds.
    schema : Schema, optional
        Schema of the original table, if it is known: ``release.schema.decode(records)`` gives values as that table
        has them. ``dataclasses.replace(release, schema=schema)`` adds it.
    layout : Layout, optional
        Look of the original table: the library and types of its frame, or the format of its file; kept by
        `pypgm.synthesize`.
    unmeasured : {"not asked", "hidden by noise"}
        Reason why pairs were not measured: the rounds or the tree of the mechanism had no place for them, or noise
        would have hidden their relation. Errors of unmeasured pairs are smaller in the second case.
    key : str
        Key of the job that made the release, by which a repeated call of ``pypgm synth`` recognises it; empty if there
        was none.
    request : str
        SHA-256 of the workload and the targets that the job was called with; empty if there was none.
    account : AccountEntry, optional
        Account that the run was charged to, its number there and the amount that it reserved.
    screen : PairScreen, optional
        Noisy distances of pairs from independence, if the mechanism looked at all of them before it chose some. Errors
        of pairs that were not counted are at most what they leave possible.
    """

    __slots__ = ()

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the model's marginal of any clique, measured or not, in counts; it may have derived columns."""
        return answered(self.schema, clique, self.model.project)

    def query(self, targets: str | Iterable[str], evidence: Evidence | None = None) -> Factor:
        """Return the joint probabilities of some attributes given evidence on others, as `query` of the model does.

        Evidence is given in values of the table as the schema reads them, single, in a list or in a range: 35 and
        ``"30..40"`` stand for their bins. Columns that the schema derives from others by a mapping may be targets and
        evidence; they are answered exactly by their source columns. ``ValueError`` names derived columns that cannot
        be answered so, such as sums.

        Examples
        --------
        >>> import pypgm
        >>> region = {"kind": "derived", "from": "city", "mapping": {"Ash": "North", "Elm": "North", "Fox": "South"}}
        >>> schema = {"city": ["Ash", "Elm", "Fox"], "region": region}
        >>> release = pypgm.synthesize({"city": ["Ash", "Elm", "Fox"] * 99}, schema, epsilon=9, delta=1e-9)
        >>> release.query("region", {"city": "Elm"})["North"]
        1.0
        """
        return conditioned(self.schema, targets, self._read(evidence), self.model.query)

    def _read(self, evidence: Evidence | None) -> Evidence | None:
        """Return evidence with its values read by the schema, as for ``--given`` of the command."""
        return read_evidence(self.model.domain, evidence, self.schema)

    @checked(_FewErrorOptions, ERROR_DEFAULTS)
    def expected_error(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        synthetic: Dataset | None = None,
        **options: Unpack[_FewErrorOptions],
    ) -> Factor:
        """Return the expected error of each count: the root mean square distance from the records.

        It is the larger of two errors. The first is the error on tables made up from the model, as in
        `GraphicalModel.expected_error`, with the error of the total that denoised answers share. The second is the
        distance from true tables drawn given the answers, each measured pair about the prediction of a model without
        its answers, as in `interval`: it includes dependence that the estimate shrank, or that nothing was measured
        of. In pairs that were not counted, that is no more than the mechanism's screen of all pairs leaves possible, if
        it made one (`screen`). Intervals of 1.645 errors to each side are to hold 90 % of counts, and of counts above
        0; `bench/README.md` has the shares that they held, by mechanism.

        Parameters
        ----------
        clique, evidence, draws, rng, time_limit
            See `GraphicalModel.expected_error`; `draws` also sets the number of true tables.
        synthetic : Dataset, optional
            Records drawn from this release: errors are then those of their counts, whose distance from the model is
            known exactly. Another number of records than the model's is scaled to it.

        Returns
        -------
        Factor
            Errors in counts of the model's total; inf where an attribute was never measured.

        Raises
        ------
        ValueError
            If the records are over another domain or come with evidence, or the model does not hold its measurements.
        TypeError
            If the errors of its kind of model are unknown.

        Examples
        --------
        >>> import pypgm
        >>> data = pypgm.Dataset({"a": [0, 1, 1] * 100}, pypgm.Domain({"a": 2}))
        >>> release = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9)
        >>> records = release.synthetic_data(rng=0)
        >>> bool((release.expected_error("a", synthetic=records).values >= release.expected_error("a").values).all())
        True
        """
        if synthetic is None:
            return self.expected_error_many([clique], evidence, **options)[0]
        model = self._with_errors((*as_clique(clique), *(evidence or ())))
        if synthetic.domain != model.domain:
            raise ValueError(f"the release is over {model.domain!r}, the records are over {synthetic.domain!r}")
        if evidence:
            raise ValueError("the errors of synthetic records are about all of them: pass no evidence")
        expected = self.expected_error_many([clique], **options)[0]
        counts = synthetic.project(clique).values * (model.total / max(1, len(synthetic)))
        return Factor(expected.domain, np.hypot(expected.values, counts - model.project(clique).values))

    @checked(ErrorOptions, ERROR_DEFAULTS)
    def expected_error_many(
        self,
        cliques: Iterable[str | Iterable[str]],
        evidence: Evidence | None = None,
        **options: Unpack[ErrorOptions],
    ) -> list[Factor]:
        """Return the expected errors of many cliques, in their order, from the same tables; see `expected_error`."""
        wanted = as_cliques(cliques)
        model = self._with_errors((*(a for c in wanted for a in c), *(evidence or ())))

        def answer(simulation: Simulation) -> list[Factor]:
            return errors_of_counts(self._known, self._known.informed(simulation))

        return simulated(answer, "expected_error_many", model, wanted, self._read(evidence), options=options)

    @checked(_FewErrorOptions, STANDARD_ERROR_DEFAULTS)
    def standard_error(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        **options: Unpack[_FewErrorOptions],
    ) -> Factor:
        """Return the standard error of each count due only to noise; ``TypeError`` as for `expected_error`."""
        model = self._with_errors((*as_clique(clique), *(evidence or ())))
        return model.standard_error(clique, self._read(evidence), **options)

    def interval(
        self,
        statistic: Callable[[Any], Any],
        level: float = 0.9,
        *,
        target: Target = "records",
        attributes: str | Iterable[str] | None = None,
        worlds: int = 20,
        truths: int = 20,
        combine: Combine = "larger",
        rng: np.random.Generator | int | None = 0,
        n_threads: int = 0,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Interval:
        """Return a statistic of synthetic records with an interval for the same statistic of the original records.

        There are two views of the error; the larger is used. *Worlds* are tables drawn from records of the
        model, measured with the same queries and noise, estimated from and drawn from again; they show the effects of
        noise and of smoothing by the model. *Truths* are tables drawn given the answers, each measured pair about the
        prediction of a model without that pair's answers; they show dependence that the estimate shrank and, by
        extrapolation or by the screen of the release, effects in merged cells and unmeasured pairs. No answer says how
        values lie within bins; if the statistic depends on it, the variance from random within-bin distributions is
        added. No record is read, nothing is charged, and a saved release gives the same intervals.

        Parameters
        ----------
        statistic : callable
            Function of a data frame such as `to_frame` makes; returns a number, an array or a dict of numbers, or a
            series or frame of pandas (labels that a table lacks may be missing), always the same for the same records,
            and NaN where a table has no answer. Without the library of the frame it gets a `Dataset`.
        level : float
            Probability with which the interval is to hold the answer, between 0 and 1.
        target : {"records", "population"}
            The answer of the original records, or of the population that they were drawn from, which is less certain;
            it is not known of weighted records.
        attributes : str or sequence of str, optional
            The columns that the statistic reads; by default they are found by leaving columns out. With more of them
            the interval is wider and slower.
        worlds, truths : int
            Numbers of tables of each kind, at least 2; worlds are kept with the release for further calls.
        combine : {"larger", "both"}
            The larger of the two views, or the root of the sum of their squares, which is longer and holds more often.
        rng : Generator, int or None
            Source of the truths; by default the same every time. Worlds are always the same.
        n_threads : int
            0 for all threads.
        time_limit : float, optional
            Seconds after which the tables made so far are used.
        progress : bool
            Whether to show progress on standard error.

        Returns
        -------
        Interval
            The answer and the ends, labelled as the statistic labels them, the columns read, their basis, and the
            reliability of such intervals (``promise``). Ends are not clipped: those of a rate may be below 0 or above
            1.

        Warns
        -----
        TimeLimitWarning, EstimateInterruptedWarning
            If the time limit or Ctrl-C ended it; two tables of each kind are needed.
        UserWarning
            If the statistic does not depend on the table that it is given.

        Raises
        ------
        TimeoutError
            If there is no time for two tables of each kind.
        ValueError
            If the statistic fails, gives no numbers, another shape on another table or another answer for the same
            records, or reads columns other than those named; an option is out of range; or the model does not hold its
            measurements.
        TypeError
            If its model does not know its errors, or the statistic is not a function.

        Notes
        -----
        `bench/bench_intervals.py` counts how often intervals hold the truth at a level of 0.9, by kind of statistic and
        by mechanism: see the table in `bench/README.md`, with standard errors. By `wide`, `mst` and `aim`, at epsilon
        .1, 1 and 10, counts of attributes, pairs and triples are held in 84 to 98 %, means in 86 to 96, quantiles,
        rates and means by group in 86 to 100 %. Where columns decide each other and no answer is about both, rates and
        means by group were held in 31 to 67 %; where three columns depend on each other beyond their pairs, triples and
        rates by two columns in 31 to 62 % (a made-up table, `wide` at epsilon 10). Intervals held odds ratios,
        coefficients of regressions and correlations in 72 to 100 % of a few trials and in 33 to 89 % of others: nothing
        is promised for them, for extremes, or for means of columns in bins whose bounds are far beyond nearly all
        values.

        Examples
        --------
        >>> import pypgm
        >>> data = pypgm.Dataset({"a": [0, 1, 1] * 100, "b": [0, 1, 0] * 100}, pypgm.Domain({"a": 2, "b": 2}))
        >>> release = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9, unsafe_seed=0)
        >>> found = release.interval(lambda records: records["a"].mean())
        >>> bool(found.low < 2 / 3 < found.high), found.attributes, found.basis
        (True, ('a',), 'measured')
        """
        from pypgm.intervals.frames import Frames
        from pypgm.intervals.made_up import MadeUpTables

        if target == "population" and self.privacy.weight:
            known = "the sampling error of a weighted survey depends on its design, which no release knows"
            raise ValueError(f'{known}: target needs "records"')
        model = self._with_errors(())
        checked = Statistic(statistic)
        frames = Frames(model.domain, self.schema, self.layout)
        with (
            Clock("interval", time_limit, progress, n_threads=n_threads, ends="the interval") as clock,
            MadeUpTables(self._known, checked_integer("worlds", worlds, 2), clock) as made_up,
        ):
            records, draws = self._known.records()
            some = frames.some(records, draws)  # as `to_frame` draws them
            answer = checked(some(frames.names))
            if not np.array_equal(answer, checked(some(frames.names)), equal_nan=True):
                raise ValueError(
                    "the statistic gives another answer for the same records: its random draws need a seed"
                )
            in_bins = frames.has_bins and not np.array_equal(
                answer, checked(frames.of(frames.names, records, as_generator(0), as_generator(0))), equal_nan=True
            )
            if attributes is None:
                read = names_read(checked, some, frames.names)
                names = frames.attributes(read)
            else:
                names = frames.attributes(as_clique(attributes))
                read = frames.made_of(names)
                check_named(checked, answer, some, frames.names, read)
            extreme = is_extreme(checked, answer, map(some.values, read), some.kept)
            bins = heavy_columns(self.model, self.schema, names) if in_bins else ()
            heavy = tuple(moving_bins(checked, some, frames.names, bins))
            shown = read if alone(checked, answer, some, read) else frames.names
            request = Request(
                statistic=checked,
                frame=partial(frames.of, shown),
                attributes=names,
                drawn=frames.attributes(shown),
                in_bins=in_bins,
                is_extreme=extreme,
                heavy=heavy,
                level=level,
                target=target,
                worlds=worlds,
                truths=truths,
                combine=combine,
                rng=rng,
            )
            interval = interval_of(made_up, answer, request, clock)
        if interval.is_constant and ignores_table(checked, answer):
            warn_caller(IGNORED, UserWarning)
        return interval

    @property
    def _known(self) -> ReleaseErrors:
        """Errors of the release, computed when first needed."""
        from pypgm.intervals.known import ReleaseErrors

        if not self._kept:
            ordinal = self.options.get("ordinal") if self.schema is None else self.schema.ordinal
            if ordinal is None:  # numbers
                labels = self.model.domain.labels
                ordinal = [
                    a for a in self.model.domain if not any(isinstance(v, str | bool) for v in labels.get(a, ()))
                ]
            self._kept["known"] = ReleaseErrors(
                self._with_errors(()),
                self.unmeasured,
                frozenset(ordinal),
                self._drawn,
                self.measurements,
                by_rules=self._has_rules,
                screen=self.screen,
            )
        known: ReleaseErrors = self._kept["known"]
        return known

    @property
    def _has_rules(self) -> bool:
        return bool(self.schema and self.schema.rules)

    def _drawn(
        self, model: Model[Any], rows: int | None, attributes: Clique | None, rng: np.random.Generator
    ) -> Dataset:
        """Return records of a model over the same domain that keep the rules of the schema.

        They have at least the given attributes, and all where rules relate some.
        """
        if attributes and len(attributes) < len(model.domain) and not self._has_rules:
            return model._records_of(attributes, rows, rng)
        return self._by_rules(lambda n: model.synthetic_data(rows if n is None else n, rng))

    def _with_errors(self, names: Iterable[str]) -> Model[Any]:
        if not isinstance(self.model, Model):
            raise TypeError(f"a {type(self.model).__name__} does not know its errors")
        check_read(self.schema, names, "the error")
        return self.model

    @checked(_FewErrorOptions, ERROR_DEFAULTS)
    def marginal(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        level: Annotated[float, Positive(below=1)] = LEVEL,
        rounded: bool = False,
        **options: Unpack[_FewErrorOptions],
    ) -> Marginal:
        """Return the counts of a clique with the expected error of each; ``TypeError`` as for `expected_error`.

        Parameters
        ----------
        clique, evidence, draws, rng, time_limit
            See `expected_error`.
        level : float
            Share of the true counts that the marginal's ``low`` and ``high``, and each ± of it, are to hold.
        rounded : bool
            Whether counts are whole: see `Marginal.rounded`. Not under evidence, where they are probabilities.

        Examples
        --------
        >>> import pypgm
        >>> data = pypgm.Dataset({"a": [0, 1, 1] * 100}, pypgm.Domain({"a": 2}))
        >>> found = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9).marginal("a", level=0.95, rounded=True)
        >>> found.basis, all(count.is_integer() for count in found.counts.datavector())
        ('measured', True)
        """
        if checked_flag("rounded", rounded) and evidence:
            raise ValueError("rounded is for counts, and under evidence the answers are probabilities")
        names = as_clique(clique)
        errors = self.expected_error(names, evidence, **options)
        model, given = self._with_errors(names), self._read(evidence)
        counts = model.query(names, given) if given else model.project(names)
        marginal = Marginal(counts, errors, model.basis(names), level)
        return marginal.rounded() if rounded else marginal

    def synthetic_data(
        self,
        rows: int | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Evidence | None = None,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Dataset:
        """Return synthetic records drawn from the model; none breaks a rule of the schema.

        A model with structural zeros draws no other records. Networks and fields have no zeros: records are drawn until
        enough of them keep the rules, and their answers are those of all records.

        Parameters
        ----------
        rows : int, optional
            Number of records; by default the model's total, rounded.
        rng : numpy.random.Generator or int, optional
            Source of the draws.
        evidence : mapping, optional
            See `GraphicalModel.query`: all records agree with it, and are distributed as such records of the model.
        time_limit : float, optional
            Seconds after which records of a graphical model are no longer refined; other models are quick.
        progress : bool
            Whether to show progress on standard error.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ValueError
            If `rows` is negative, the evidence names unknown attributes or values, or hardly any records of the model
            keep the rules of the schema.

        Examples
        --------
        >>> import pypgm
        >>> data = pypgm.Dataset({"a": [0, 1, 1] * 100, "b": [0, 1, 0] * 100}, pypgm.Domain({"a": 2, "b": ["F", "M"]}))
        >>> release = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9)
        >>> release.synthetic_data(30, evidence={"b": "F"}).project("b").values.tolist()
        [30.0, 0.0]
        """
        draws = as_generator(rng)
        options = {"time_limit": time_limit, "progress": progress or None}
        limits: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        # All models draw records, not all take evidence.
        given: dict[str, Any] = {} if evidence is None else {"evidence": self._read(evidence)}
        given |= limits if isinstance(self.model, Model) else {}
        return self._by_rules(lambda n: self.model.synthetic_data(rows if n is None else n, draws, **given))

    def _by_rules(self, draw: Callable[[int | None], Dataset]) -> Dataset:
        schema = self.schema
        return draw(None) if schema is None else drawn_by_rules(schema.rules, schema.columns, draw)

    def to_frame(
        self,
        rows: int | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Evidence | None = None,
        library: Library | None = None,
    ) -> Frame:
        """Return synthetic records as a data frame that looks like the original table.

        Parameters
        ----------
        rows, rng, evidence
            See `synthetic_data`.
        library : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; by default the library of the source, with its columns in their order and of their
            types. A file or engine with types gives a table of pyarrow, an unknown source a frame of pandas. Another
            library converts the types of the source.

        Raises
        ------
        ValueError
            If the library is not one of these.
        ImportError
            If the library is not installed.

        Examples
        --------
        >>> import pandas, pypgm  # doctest: +SKIP
        >>> people = pandas.read_parquet("people.parquet")  # doctest: +SKIP
        >>> release = pypgm.synthesize(people, "schema.json", epsilon=1, delta=1e-9)  # doctest: +SKIP
        >>> (release.to_frame().dtypes == people.dtypes).all()  # doctest: +SKIP
        True
        """
        schema, layout = as_schema(self.schema or self.model.domain), self.layout or Layout()
        if library is not None:
            check_library(library)
            layout = layout.in_library(library, schema.example(0))
        draws = as_generator(rng)
        records = self.synthetic_data(rows, draws, evidence=evidence)
        return layout.frame(schema.cells(records.columns, draws))

    def to_batches(
        self,
        rows: int | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Evidence | None = None,
        parts: int = 1,
        part: int = 0,
    ) -> Any:  # noqa: ANN401 - of a package that may be missing
        """Return synthetic records as a reader of record batches, which draws them as it is read, in little memory.

        DuckDB, Polars, ADBC and every other reader of Arrow's C stream take it; `pypgm.integrations.records` hands it
        to PostgreSQL and Spark.

        Parameters
        ----------
        rows, rng, evidence
            See `synthetic_data`.
        parts, part : int
            The records of one part of so many, counted from 0; the records do not depend on the parts. See `write`.

        Returns
        -------
        pyarrow.RecordBatchReader
            With the types of the source, as in `to_frame`.

        Raises
        ------
        ValueError
            If there is no such part.
        ImportError
            If pyarrow is not installed.

        Examples
        --------
        >>> people = release.to_batches(10**7)  # doctest: +SKIP
        >>> duckdb.connect("synthetic.duckdb").execute("CREATE TABLE people AS FROM people")  # doctest: +SKIP
        """
        n, k = checked_integer("parts", parts, 1), checked_integer("part", part)
        if k >= n:
            raise ValueError(f"part must be below {n}, the number of parts, got {k}")
        table = RecordTable.of(self, rows, rng, self._read(evidence))
        return table.batches(*table.part(k, n))

    def write(
        self,
        path: str | os.PathLike[str],
        rows: int | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Evidence | None = None,
        parts: int | None = None,
        part: int | Sequence[int] | None = None,
        processes: int = 1,
    ) -> None:
        """Write synthetic records to a CSV or Parquet file in the format of the original table, or to a folder.

        Records are drawn and written in blocks, in memory for one block, however many there are. Up to 131,072 of them
        are those that `synthetic_data` draws from the same seed. The counts of larger tables are rounded once as well,
        for all blocks together.

        Parameters
        ----------
        path : str or path-like
            A name in ``.parquet`` or ``.pq`` makes a Parquet file; ``.gz`` compresses a CSV file. With `parts`, a
            folder, whose ending decides what its files are; Parquet without one.
        rows, rng, evidence
            See `synthetic_data`.
        parts : int, optional
            Number of files in a folder: part k has the records from k rows / parts to (k + 1) rows / parts of one
            table, whatever their number. A part that is there is not written again, so that the same call completes
            what another one left. The folder keeps the seed; once all parts are there it has a file ``_SUCCESS``.
        part : int or sequence of int, optional
            The parts to write, counted from 0; all by default. They need a seed, so that calls for other parts, on
            machines of the same kind, write parts of the same table.
        processes : int
            Number of processes that write parts.

        Raises
        ------
        OSError
            If a file cannot be written.
        ValueError
            If the name of the file has the ending of another format, it is the file of the original records, the folder
            has other files or parts of other records, or arguments do not fit.
        ImportError
            If pyarrow, which Parquet needs, is not installed.

        Examples
        --------
        >>> release.write("synthetic.csv")  # doctest: +SKIP
        >>> release.write("synthetic", rows=10**8, parts=100, processes=4)  # doctest: +SKIP
        >>> release.write("synthetic", rows=10**8, rng=7, parts=100, part=3)  # doctest: +SKIP
        """
        self._check_place(path)
        given = self._read(evidence)
        if parts is not None:
            from pypgm.files.record_parts import write_parts

            write_parts(self, path, rows, rng, evidence=given, parts=parts, part=part, processes=processes)
        elif part is None and processes == 1:
            RecordTable.of(self, rows, rng, given).write(path)
        else:
            raise ValueError("part and processes are about the parts of a folder: pass their number as parts")

    def resume(
        self,
        data: Counts,
        budget: Budget,
        *,
        n_threads: int = 0,
        unsafe_seed: int | None = None,
        account: Account | None = None,
    ) -> PrivateTable:
        """Return the records behind a new ledger that begins with the charges of the release.

        Further measurements are charged after the earlier lines, for the same neighbour relation; the new ledger, and
        a release made from it, report and guarantee the total. The ledger of a release that protects nobody says so.
        Several ledgers resumed from one release do not know of each other: their costs add up. In an account they do:
        each reserves what its budget adds to the release, until its table is closed.

        Parameters
        ----------
        data : Dataset
            The records, over the domain of the release.
        budget : Budget
            Budget for everything, the release included: at least the budget of the release, whatever it spent of it.
        n_threads, unsafe_seed, account
            See `PrivateTable`. An account that has the charges of the release already takes only the further ones.

        Raises
        ------
        BudgetError
            If the account has less left.
        ValueError
            If the budget is in another unit or less than that of the release, the records are weighted, or their
            domain is another one.
        TypeError
            If `budget` is not a `Budget`.

        Examples
        --------
        >>> import pypgm
        >>> data = pypgm.Dataset({"a": [0, 1, 1]}, pypgm.Domain({"a": 2}))
        >>> release = pypgm.mechanisms.mst(data, budget=pypgm.Budget(rho=1))
        >>> table = release.resume(data, pypgm.Budget(rho="3/2"))
        >>> more = [*release.measurements, table.measure("a", rho=table.ledger.remaining())]
        >>> len(table.ledger.lines), table.ledger.spent()
        (2, Fraction(3, 2))
        """
        if self.privacy.weight and data.weights is None:
            raise ValueError(f"the release is of weighted records: these need their weights, {self.privacy.weight!r}")
        granted = self.ledger.budget
        if as_budget(None, None, budget).unit != granted.unit:
            raise ValueError(f"the release spent {granted.unit}, {budget!r} is in {budget.unit}")
        if granted.accounting == "zcdp" != budget.accounting:  # what was admitted by zCDP is added up in it
            budget = Budget(**{**budget.arguments(), "accounting": "zcdp"})
        if budget.limit < granted.limit or budget.reserved_delta < granted.reserved_delta:
            raise ValueError(f"{budget!r} is for the release and everything after it: at least its {granted!r}")
        ledger = Ledger(budget)
        for line in self.ledger.lines:
            within = f"{self.mechanism} / {line.within}" if line.within else self.mechanism
            ledger.charge(line.what, line.on, line.law, within=within)
        if self.not_private:
            ledger.mark_not_private(self.not_private)
        how: dict[str, Any] = {"n_threads": n_threads, "unsafe_seed": unsafe_seed}
        with resumed(account, self, ledger) as run:
            table = PrivateTable(data, self.privacy, ledger, account=run, **how)
            table.ends_run = True
            if table.domain != self.model.domain:
                raise ValueError(f"the release is over {self.model.domain!r}, the records are over {table.domain!r}")
        table.schema = table.schema or self.schema
        return table

    def archive(self) -> dict[str, Any]:
        """Return the fields of the release's file."""
        return self.model.archive() | {"release": release_fields(self)}

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        return (_unpickled, (file_bytes(self.archive()),))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: float | None = None) -> Self:
        """Read a release from a file, as `pypgm.load` does; ``ValueError`` if it holds another thing."""
        loaded = load(path, max_bytes=max_bytes)
        if isinstance(loaded, cls):
            return loaded
        raise ValueError(f"{path} holds a {type(loaded).__name__}, not a {cls.__name__}: pypgm.load reads it")

    def summary(self) -> str:
        """Return the guarantee, the number of measurements and the ledger draw by draw in a few lines of text.

        The first line states any missing protection. Errors, which take time, are left out.
        """
        return "\n".join(summary_lines(Facts(self)))

    def report(self, *, ledger: bool = False) -> str:
        """Return the text of ``pypgm info``: the guarantee, the expected errors, the losses and the budget.

        Everything in it follows from the release. For the expected errors, tables are made up from the model and
        estimated from, which takes a few times as long as the estimate did.

        Parameters
        ----------
        ledger : bool
            Whether to add all columns and losses, of which many are counted in the first 25 lines, the measurements
            with their noise, the model and its estimate, and the law of each draw.

        Examples
        --------
        >>> import pypgm
        >>> data = pypgm.Dataset({"a": [0, 1, 1]}, pypgm.Domain({"a": 2}))
        >>> print(pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9, unsafe_seed=0).report().splitlines()[0])
        warning: This release protects nobody: noise drawn from a seed
        """
        return "\n".join(release_lines(Facts(self), model=ledger, ledger=ledger))

    def report_html(
        self,
        path: str | os.PathLike[str],
        *,
        unsafe_data: Dataset | None = None,
        audit: str | os.PathLike[str] | None = None,
        title: str = TITLE,
    ) -> None:
        """Write a report as a page: the promise in words, expected errors of columns and pairs, losses, the ledger.

        It is one HTML file that loads nothing and runs nothing, and is as public as the release.

        Parameters
        ----------
        path : str or path-like
            An .html file, written whole or not at all.
        unsafe_data : Dataset, optional
            The real records, whose counts are drawn too. The page is then not private, and says so in red.
        audit : str or path-like, optional
            File of ``python -m pypgm.audit MECHANISM --out audit.json``, folded in.
        title : str
            Title of the page.

        Raises
        ------
        ImportError
            If jinja2, the extra ``report``, is not installed.
        ValueError
            If the records are over another domain, the file is not an audit, or the path is that of the original
            records.
        OSError
            If a file cannot be read or written.

        Examples
        --------
        >>> release.report_html("report.html")  # doctest: +SKIP
        """
        from pypgm.reporting.audited import read_audit  # what only pages need takes a while to import
        from pypgm.reporting.page import Part, write_page

        self._check_place(path)
        if unsafe_data is not None and unsafe_data.domain != self.model.domain:
            raise ValueError(f"the release is over {self.model.domain!r}, the records are over {unsafe_data.domain!r}")
        part = Part("", Facts(self), unsafe_data)
        audited = None if audit is None else read_audit(audit)
        write_page(path, [part], self.ledger, self.promise, title=title, audit=audited)

    def card(
        self,
        path: str | os.PathLike[str],
        *,
        file: str | os.PathLike[str] | None = None,
        license: str = "",  # noqa: A002 - the word of data catalogues
        title: str = TITLE,
    ) -> None:
        """Write a card of the synthetic records, to lie beside their file: for people, or for data catalogues.

        It says what the records are and how they were made, the guarantee and whom it protects, what to use them for
        and what not, expected errors, the columns, losses, the licence and digests. Everything in it follows from the
        release and the file of synthetic records.

        Parameters
        ----------
        path : str or path-like
            A name in ``.md`` makes a page of Markdown, whose header of YAML Hugging Face and others read; one in
            ``.json`` makes Croissant, JSON-LD that search engines and loaders of data sets read.
        file : str or path-like, optional
            The file of synthetic records, CSV or Parquet, whose digest, size and types the card has. Croissant needs
            it. A loaded release does not know the path of the original records: if they have the same columns, it
            takes them too, and the card shows their exact number, which is private.
        license : str
            Licence of the records: a name of SPDX such as "CC-BY-4.0", an address, or a name of one's own.
        title : str
            Name of the data set.

        Raises
        ------
        ValueError
            If the name has another ending, the file has other columns than the release's, or one of the paths is that
            of the original records.
        OSError
            If a file cannot be read or written.

        Examples
        --------
        >>> import pathlib, tempfile, pypgm
        >>> data = pypgm.Dataset({"a": [0, 1, 1] * 100}, pypgm.Domain({"a": 2}))
        >>> release = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9)
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> release.write(folder / "people.csv")
        >>> release.card(folder / "README.md", file=folder / "people.csv", license="CC-BY-4.0", title="People")
        >>> release.card(folder / "croissant.json", file=folder / "people.csv", license="CC-BY-4.0", title="People")
        >>> (folder / "README.md").read_text().splitlines()[1:3]
        ['pretty_name: "People"', 'license: cc-by-4.0']
        """
        from pypgm.reporting.card_file import write_card  # takes a while to import

        write_card(self, path, file=file, license=license, title=title)

    def __repr__(self) -> str:
        first = "".join(f"{text} " for text in caveat_lines(self.promise))
        held = f"{len(self.measurements)} measurements, {self.ledger!r}, {self.model!r}"
        return f"Release({first}{self.mechanism}: {held})"


ModelRelease: TypeAlias = "Release[GraphicalModel | RegionGraphModel]"
"""Release of a mechanism."""

_CLASSES = {  # of releases by their kind: module and name
    "": (__name__, "Release"),
    "network": ("pypgm.bayes.network_release", "NetworkRelease"),
    "field": ("pypgm.mrf.field_release", "FieldRelease"),
}


def load(path: str | os.PathLike[str], *, max_bytes: float | None = None) -> Release | ReleasedModel:
    """Read a saved release or model.

    A file may come from anybody: its unpacked size is known beforehand, nothing in it is run, and one that contradicts
    itself is refused. That a file is intact says nothing about who made it.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_bytes : float, optional
        Memory that unpacking it may take; by default half of the available memory.

    Raises
    ------
    ValueError
        If the file is not one of pypgm, is truncated, changed or contradictory, or is of another version.
    ModelTooLargeError
        If the file unpacks to more than `max_bytes`; nothing was unpacked then.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile, pypgm
    >>> data = pypgm.Dataset({"a": [0, 1, 1]}, pypgm.Domain({"a": 2}))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "release.pgm"
    >>> pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9).save(path)
    >>> isinstance(pypgm.load(path), pypgm.Release)
    True
    """
    return _of_archive(read_file(path, max_bytes), str(path))


def _of_archive(fields: dict[str, Any], name: str) -> Release | ReleasedModel:
    model = model_of_archive(fields, name)
    if "release" not in fields:
        return model
    try:
        arguments = release_arguments(fields["release"], model.domain)
        kind: type[Release] = in_module(*_CLASSES[release_kind(fields["release"])])
        release = kind(model, **arguments)
        check_release(release, fields["release"])
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{name}: not a whole pypgm release ({message_of(error)})") from error
    return release


def _unpickled(packed: bytes) -> object:
    return _of_archive(parse_file(io.BytesIO(packed), "a pickle"), "a pickle")
