"""Models: answers to any query and how far they may be off, synthetic records, a file."""

from __future__ import annotations

import contextlib
import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypeVar, get_args, overload

import numpy as np

from pypgm._base.clock import CALL_DEFAULTS, CallOptions, Clock
from pypgm._base.constraints import AtLeast, Positive
from pypgm._base.html import Shown
from pypgm._base.numeric import as_generator, check_choice, checked_flag, checked_real, float_array
from pypgm._base.signatures import checked
from pypgm._base.student import LEVEL
from pypgm._base.terminal import escaped
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset
from pypgm.domain import as_clique, as_cliques, check_kind
from pypgm.errors import ImpossibleEvidenceError, ModelTooLargeError
from pypgm.estimation.constraint import Constraint
from pypgm.factor import Factor
from pypgm.files.stored_measurements import QueryTooLargeError
from pypgm.files.stored_model import Stored, fields_of
from pypgm.graphs.evidence import LastEvidence
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.inference.folding import Folding
from pypgm.inference.region_index import Cliques, RegionIndex, maximal
from pypgm.models.estimated_again import ERROR_DEFAULTS, STANDARD_ERROR_DEFAULTS, ErrorOptions, simulated
from pypgm.models.expected_error import Basis, basis, expected_errors, hiding_noise, standard_errors
from pypgm.models.marginal import Marginal
from pypgm.models.record_blocks import BLOCK, Block, RecordBlocks
from pypgm.models.sampling import draw_records, independent_records, refined_records, stages
from pypgm.queries import KroneckerQuery

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from pypgm.domain import Clique, Domain, Label
    from pypgm.estimation.constraint import Masks
    from pypgm.estimation.fit import Fit
    from pypgm.estimation.steps import Validated
    from pypgm.graphs.evidence import Evidence
    from pypgm.inference.oracles import Answers, Oracle
    from pypgm.models.estimated_model import EstimatedModel
    from pypgm.models.marginal import Method
    from pypgm.models.recipe import Recipe
    from pypgm.models.request import Request

Table = TypeVar("Table", bound=Factor)

_BOOTSTRAP = "the bootstrap"  # that a time limit ends


class Model(Shown, Stored, Generic[Table]):
    """A model over a domain; its marginals are counts that sum to `total`.

    Attributes
    ----------
    is_exact : bool
        Whether marginals are those of one joint distribution.
    domain : Domain
        All attributes.
    cliques : tuple of tuple of str
        The cliques the model was made for.
    total : float
        Number of records.
    marginals : CliqueVector
        Counts, over the cliques or regions of the model.
    potentials : CliqueVector
        Natural logs over the same.
    fit : Fit or None
        End of the estimate.
    recipe : Recipe or None
        Measurements and options it was estimated from.
    validated : Validated or None
        The validation path that stopped the estimate; only on a freshly made model.
    not_private : str
        Why the model protects nobody, if it was made from a release that does not; kept in its file.
    """

    is_exact: ClassVar[bool]
    cliques: tuple[Clique, ...]
    marginals: CliqueVector
    potentials: CliqueVector

    def __init__(
        self,
        domain: Domain,
        total: float,
        *,
        fit: Fit | None,
        folding: Folding | None,
        masks: Masks,
        recipe: Recipe | None,
    ) -> None:
        self.folding = Folding(domain) if folding is None else folding
        self.domain = self.folding.domain
        self.total = 0.0 if total == 0 and self.is_exact else checked_real("total", total)
        self.fit = fit
        self.masks = masks
        self.recipe = recipe
        self.validated: Validated | None = None
        self.not_private = ""
        self._last = LastEvidence(self.domain)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The structural zeros and mappings that the model keeps to; `pypgm.estimate` takes them."""
        mappings = [Constraint((f, c), mapping=codes) for c, (f, codes) in self.folding.sources.items()]
        zeros = [Constraint(c, allowed=mask.reshape(self.domain.sizes(c))) for c, mask in self.masks]
        return (*mappings, *zeros)

    def project(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        method: Method | None = None,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Table:
        """Return the marginal of any clique, measured or not, in counts that sum to `total`.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes, in any order; axes come in the given order. The empty clique gives the total.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihood vector: counts as if all records agreed with it. A
            plain number is a code, or a label that is a number, but not a value of the table, as for ``--given`` of
            the command: in bins of ten from 20 on, 35 lies in the one with the code 1 and the label ``"[30, 40)"``. On
            a region graph they come from the answer to the clique and the attributes of the evidence together.
        method : str, optional
            On a region graph how to answer where no region holds the clique, see `RegionGraphModel`; else "exact".
        time_limit : float, optional
            Seconds after which an exact answer raises, and one of a region graph is the best so far.
        progress : bool
            Whether to show on standard error how far the answer is.

        Returns
        -------
        Factor or RegionAnswer
            A `RegionAnswer` from a region-graph model: with the method that found it, and its distance from the
            regions.

        Warns
        -----
        TimeLimitWarning
            If the time limit ended the answer of a region-graph model.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ValueError
            If an attribute is unknown or repeated, or the model does not answer by that method.
        ModelTooLargeError
            If a table would not fit.
        TimeoutError
            If an exact answer takes longer than the time limit.
        """
        with Clock("project", time_limit, progress, ends="the answers to 1 cliques") as clock:
            return self._counts(self._projected([as_clique(clique)], evidence, method, clock))[0]

    @checked(CallOptions, CALL_DEFAULTS)
    def project_many(
        self,
        cliques: Iterable[str | Iterable[str]],
        evidence: Evidence | None = None,
        *,
        method: Method | None = None,
        **limits: Unpack[CallOptions],
    ) -> list[Table]:
        """Return the marginals of many cliques in counts, in the given order; see `project`.

        Shared work is done once, so that all 3-way marginals of a tree cost little more than their
        cells; on a region graph cliques are answered in parallel.

        Parameters
        ----------
        cliques : sequence of cliques
            Cliques wanted, in any order; they may repeat.
        evidence, method, time_limit, progress
            See `project`.
        n_threads : int
            0 for all threads; the bits of the answers do not depend on it.

        Examples
        --------
        >>> import itertools, pypgm
        >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("a", "b"), ("b", "c")]), total=8.0)
        >>> [f.values.tolist() for f in model.project_many(itertools.combinations("abc", 2))][:2]
        [[[2.0, 2.0], [2.0, 2.0]], [[2.0, 2.0], [2.0, 2.0]]]
        """
        wanted = as_cliques(cliques)
        ends = f"the answers to {len(wanted)} cliques"
        with Clock("project", **limits, ends=ends) as clock:
            return self._counts(self._projected(wanted, evidence, method, clock))

    def query(
        self,
        targets: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Factor:
        """Return the probabilities of some attributes, given evidence on others.

        Parameters
        ----------
        targets : str or sequence of str
            Attributes of the answer, in any order.
        evidence, time_limit, progress
            As in `project`, whose warnings and errors it shares.

        Returns
        -------
        Factor
            Conditional probabilities that sum to 1, axes in the given order.
        """
        with Clock("query", time_limit, progress, ends="the answer") as clock:
            return self._projected([as_clique(targets)], evidence, None, clock)[0].normalize()

    @overload
    def answer(
        self, query: KroneckerQuery, evidence: Evidence | None = ..., **limits: Unpack[CallOptions]
    ) -> NDArray[np.float64]: ...
    @overload
    def answer(
        self, query: Sequence[KroneckerQuery], evidence: Evidence | None = ..., **limits: Unpack[CallOptions]
    ) -> list[NDArray[np.float64]]: ...
    @checked(CallOptions, CALL_DEFAULTS)
    def answer(
        self,
        query: KroneckerQuery | Sequence[KroneckerQuery],
        evidence: Evidence | None = None,
        **limits: Unpack[CallOptions],
    ) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Return the answer to a product of queries on single attributes, in counts.

        A graphical model makes no joint table for it; on a region graph it comes from the answer to its clique.

        Parameters
        ----------
        query : KroneckerQuery or sequence of them
            The queries; several share their common work.
        evidence, time_limit, progress
            As in `project`, whose warnings and errors it shares.
        n_threads : int
            0 for all threads; the bits of the answers do not depend on it.

        Returns
        -------
        ndarray, or list of ndarray
            A tensor with an axis for each attribute of the query, in its order; inf beyond 1.8e308.

        Warns
        -----
        ConditionWarning
            If terms of opposite sign cancel to less than 1e-8 of their size.

        Raises
        ------
        ValueError
            If an attribute is unknown, or a block is for another number of values.
        TypeError
            If something is not a `KroneckerQuery`.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"age": 4, "sex": ["F", "M"]})
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("age", "sex")]), total=80.0)
        >>> model.answer(pypgm.KroneckerQuery({"age": pypgm.queries.RangeList(4, [(1, 2)])}), {"sex": "F"}).round(6)
        array([40.])
        """
        checked = [q.checked(self.domain) for q in _several(query)]
        ends = f"the answers to {len(checked)} queries"
        with Clock("answer", **limits, ends=ends) as clock:
            answers = self._answers(checked, evidence, clock)
        counts = answers if self.total else [0.0 * answer for answer in answers]
        return counts[0] if isinstance(query, KroneckerQuery) else counts

    def expectation(
        self,
        attribute: str,
        given: str | Iterable[str] = (),
        levels: ArrayLike | None = None,
        evidence: Evidence | None = None,
    ) -> Factor:
        """Return the mean of a numeric attribute for each combination of values of others.

        Parameters
        ----------
        attribute : str
            The attribute averaged.
        given : str or sequence of str
            Attributes of the answer, in any order; none for the mean over all records.
        levels : array_like of float, shape (values,), optional
            The number each value stands for; its labels by default, if they are numbers. A level of a value of
            probability 0 does not count, even if it is infinite or NaN.
        evidence : mapping, optional
            See `project`.

        Returns
        -------
        Factor
            Means, axes in the order of `given`; nan where no record is expected.

        Raises
        ------
        ValueError
            If an attribute is unknown or repeated, or the attribute has no numeric levels.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"age": [20, 40], "sex": ["F", "M"]})
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("age", "sex")], [0.0, 1.0, 1.0, 0.0]), total=9.0)
        >>> model.expectation("age", "sex").values.round(3)
        array([34.621, 25.379])
        """
        numbers = _levels(self.domain, attribute, levels)
        clique = as_clique(given)
        with Clock() as clock:
            table = self._projected([(*clique, attribute)], evidence, None, clock)[0]
        cells = table.datavector().reshape(-1, numbers.size)
        with np.errstate(all="ignore"):
            shares = cells / cells.sum(axis=1, keepdims=True)
            if np.isfinite(numbers).all():
                return Factor(self.domain.project(clique), shares @ numbers)
            return Factor(self.domain.project(clique), np.where(shares == 0, 0.0, shares * numbers).sum(axis=1))

    def log_partition(self, evidence: Evidence | None = None, *, oracle: Oracle = "exact") -> float:
        """Return log Z: the natural log of the summed weights of all joint assignments.

        The weights come from the potentials. On a region graph they are products of the marginals (as probabilities) to
        the power of their Bethe counting numbers, the distribution whose generalised belief propagation has these
        marginals: log Z is 0 if the regions are those of a junction tree, and otherwise measures the distance from one.

        Parameters
        ----------
        evidence : mapping, optional
            See `project`; log Z is -inf where the evidence has probability zero.
        oracle : {"exact", "region_graph", "sampling", "auto"}
            "auto" approximates what no junction tree holds, with an `ApproximationWarning` if the answer may be far
            off; see `pypgm.bayes.BayesianNetwork.approximation`.

        Raises
        ------
        ModelTooLargeError
            If the oracle is "exact" and a junction tree of the regions does not fit.
        """
        from pypgm.inference.oracles import Oracle

        check_choice("oracle", oracle, get_args(Oracle))
        if oracle in {"exact", "auto"}:
            try:
                return self._exact_log_z(evidence)
            except ModelTooLargeError:
                if oracle == "exact":
                    raise
        return self._by_oracles.log_z(oracle, self.folding.evidence(evidence))

    def _exact_log_z(self, evidence: Evidence | None) -> float:
        if not evidence:
            return self._log_z
        tree, potentials = self._joint
        known = self.folding.evidence(evidence)
        return self._last.recalled("log Z", evidence, lambda: tree.log_partition(potentials, known))

    def log_probability(self, evidence: Evidence, *, oracle: Oracle = "exact") -> float:
        """Return the natural log of the probability of evidence (of its expected likelihood); see `log_partition`.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ModelTooLargeError
            If a junction tree of the regions does not fit.

        Examples
        --------
        >>> import pypgm
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"a": 4}), ["a"]), total=10.0)
        >>> round(model.log_probability({"a": [0, 1]}), 6), round(model.log_partition(), 6)
        (-0.693147, 1.386294)
        """
        log_weight = self.log_partition(evidence, oracle=oracle)
        if log_weight == -np.inf:
            raise ImpossibleEvidenceError(f"the evidence on {escaped(', '.join(evidence))} has probability zero")
        return log_weight - self.log_partition(oracle=oracle)

    def map(
        self, evidence: Evidence | None = None, *, oracle: Literal["exact", "auto"] = "exact"
    ) -> tuple[dict[str, Label], float]:
        """Return the most probable joint assignment, and the natural log of its weight; see `JunctionTree.map`.

        Subtract `log_partition`, which defines the weights, for its log-probability; for evidence see `project`.
        Attributes that are functions of others follow from them: the smallest of equal assignments is decided by the
        others.

        With ``oracle="auto"`` these are the best values that are found where no junction tree fits, with an
        `ApproximationWarning` that says how much more probable others may be.

        Returns
        -------
        assignment : dict of str to label or code
            Value of each attribute, in the order of the domain.
        log_weight : float

        Raises
        ------
        ImpossibleEvidenceError
            If no joint assignment keeps any weight.
        ModelTooLargeError
            If a junction tree of the regions does not fit.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"a": 2, "sex": ["F", "M"]})
        >>> pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("a", "sex")], [0.0, 1.0, 3.0, 0.0]), total=9.0).map()
        ({'a': 1, 'sex': 'F'}, 3.0)
        """
        check_choice("oracle", oracle, ("exact", "auto"))
        known = self.folding.evidence(evidence)
        try:
            tree, potentials = self._joint
            values, log_weight = tree.map(potentials, known)
        except ModelTooLargeError:
            if oracle == "exact":
                raise
            values, log_weight = self._by_oracles.map_by(oracle, known)
        return self.folding.assignment(values), log_weight

    @checked(ErrorOptions, STANDARD_ERROR_DEFAULTS)
    def standard_error(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        method: Literal["auto", "gls", "bootstrap"] = "auto",
        **options: Unpack[ErrorOptions],
    ) -> Factor:
        """Return the standard error of each count of a clique that the noise of the measurements leaves.

        It is how much an answer would vary if the same records were measured again, not how far an estimate is drawn
        towards its start: a validated estimate trades the one for the other, and cliques that were never measured
        rest on the independences of the model besides.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes, in any order; axes come in the given order.
        evidence : mapping, optional
            As in `query`; the errors are then those of its probabilities.
        method : {"auto", "gls", "bootstrap"}
            "gls" is the covariance of generalised least squares: exact if a weighted L2 estimate went to the optimum, a
            measured clique holds the requested one, there are no constraints and no count is bounded by zero (all are
            at least 4 standard errors away from it). "bootstrap" draws measurements of the model, with their noise, and
            re-estimates each time. "auto" is the first if it holds and the system is moderate (1,500 parameters),
            otherwise the second.
        draws : int
            Estimates of a bootstrap; with 50 a standard error is known to 10 %.
        rng : Generator, int or None
            Source of a bootstrap's noise; the same every time by default.
        n_threads : int
            0 for all threads.
        time_limit : float, optional
            Seconds after which a bootstrap ends with the estimates it has.
        progress : bool
            Whether to show the estimates of a bootstrap on standard error.

        Returns
        -------
        Factor
            Standard errors in counts; of probabilities under evidence.

        Warns
        -----
        TimeLimitWarning
            If the time limit ended the bootstrap.

        Raises
        ------
        TimeoutError
            If there is no time for two estimates.
        ValueError
            If the model was not estimated from measurements with a named loss, from none at all, or was loaded from a
            file that does not hold them; if "gls" is requested but does not hold; if there are fewer than 2 draws.

        References
        ----------
        Efron and Tibshirani: An introduction to the bootstrap, 1993, chapter 6.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"a": 2, "b": 2})
        >>> m = pypgm.LinearMeasurement([[40, 10], [10, 40]], ("a", "b"), stddev=1.0)
        >>> pypgm.estimate(domain, [m], 100, stop="optimum").standard_error("a").values.round(3)
        array([1., 1.])
        """
        answer = partial(standard_errors, method=method)
        return simulated(
            answer, "standard_error", self, [as_clique(clique)], evidence, options=options, ends=_BOOTSTRAP
        )[0]

    @checked(ErrorOptions, STANDARD_ERROR_DEFAULTS)
    def standard_error_many(
        self,
        cliques: Iterable[str | Iterable[str]],
        evidence: Evidence | None = None,
        *,
        method: Literal["auto", "gls", "bootstrap"] = "auto",
        **options: Unpack[ErrorOptions],
    ) -> list[Factor]:
        """Return the standard errors of many cliques from one bootstrap, in the given order; see `standard_error`."""
        answer, what = partial(standard_errors, method=method), "standard_error_many"
        return simulated(answer, what, self, as_cliques(cliques), evidence, options=options, ends=_BOOTSTRAP)

    @checked(ErrorOptions, ERROR_DEFAULTS)
    def expected_error(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        **options: Unpack[ErrorOptions],
    ) -> Factor:
        """Return the expected error of each count of a clique: the root mean square distance from the records.

        It includes the noise and the bias of the estimate: its pull towards the start, and its assumptions about
        cells, or attributes, that were not measured separately or together. Tables are drawn with replacement from
        records of this model, measured with the same queries and noise and estimated from again, and so is a prior
        that was itself estimated from some of the measurements. The squared errors of those estimates are averaged
        over the cell and, if that is more, over answers of about the same size in its clique whose true counts are
        above 0: intervals of 1.645 errors are to hold nine in ten counts, and of those above 0 as well. So the error
        of a small answer is about a record, unless no such answer ever had one. Made-up tables have no other
        dependence than the model's; so the errors of counts that were merged or not measured together, see `basis`,
        also get a part of the noise, or of the count if that is less, for the dependence that noise hides.
        Probabilities given `evidence` do without. The uncertainty of an error computed from few tables is included: it
        is wider by the quantiles of Student's t, so that intervals of few `draws` hold as often as those of many.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes, in any order; axes come in the given order.
        evidence : mapping, optional
            As in `query`; the errors are then those of its probabilities.
        draws : int
            Tables; with 20 an error is known to 16 %, and 5 % wider than the root mean square.
        rng : Generator, int or None
            Source of the tables and their noise; the same every time by default.
        n_threads : int
            0 for all threads.
        time_limit : float, optional
            Seconds after which the tables so far are taken.
        progress : bool
            Whether to show how far it is on standard error.

        Returns
        -------
        Factor
            Errors in counts, of probabilities under evidence. They are inf for an attribute that was never measured.

        Warns
        -----
        TimeLimitWarning
            If the time limit ended it.

        Raises
        ------
        TimeoutError
            If there is no time for two estimates.
        ValueError
            If the model was not estimated from measurements with a named loss, or was loaded from a file that does
            not hold them; if there are fewer than 2 draws.

        Notes
        -----
        On adult, titanic, msnbc, fire and loans at epsilon .1, 1 and 10, `bench/bench_expected_error.py` counts how
        often intervals of 1.645 errors hold the truth after `wide`: 85 to 97 % of the cells of measured, merged and
        unmeasured answers each, 99 % where most are empty, and 85 to 95 % of those above 0. Made-up tables have the
        model's dependence: where it lacks some, as after `mst` and `aim`, and on strongly structured tables, intervals
        hold far less often. `Release.expected_error` also uses the evidence of measured pairs on that.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
        >>> ab = pypgm.LinearMeasurement([[400, 100], [100, 400]], ("a", "b"), stddev=5.0)
        >>> model = pypgm.estimate(domain, [ab], 1000)
        >>> model.basis("a"), model.basis("c"), model.expected_error("c").values
        ('measured', 'unknown', array([inf, inf]))
        >>> bool((model.expected_error(("a", "b")).values < 20).all())
        True
        """
        return simulated(expected_errors, "expected_error", self, [as_clique(clique)], evidence, options=options)[0]

    @checked(ErrorOptions, ERROR_DEFAULTS)
    def expected_error_many(
        self,
        cliques: Iterable[str | Iterable[str]],
        evidence: Evidence | None = None,
        **options: Unpack[ErrorOptions],
    ) -> list[Factor]:
        """Return the expected errors of many cliques from the same tables, in the given order; see `expected_error`."""
        return simulated(expected_errors, "expected_error_many", self, as_cliques(cliques), evidence, options=options)

    @checked(ErrorOptions, ERROR_DEFAULTS)
    def marginal(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        level: Annotated[float, Positive(below=1)] = LEVEL,
        rounded: bool = False,
        **options: Unpack[ErrorOptions],
    ) -> Marginal:
        """Return the counts of a clique with the expected error of each: the results of `project` and `expected_error`.

        Parameters
        ----------
        level, rounded
            See `Release.marginal`.
        clique, evidence, draws, rng, n_threads, time_limit, progress
            See `expected_error`.

        Raises
        ------
        TimeoutError, ValueError
            See `expected_error`.

        Examples
        --------
        >>> import pypgm
        >>> m = pypgm.LinearMeasurement([400, 100], "a", stddev=5.0)
        >>> pypgm.estimate(pypgm.Domain({"a": 2}), [m], 500).marginal("a").basis
        'measured'
        """
        if checked_flag("rounded", rounded) and evidence:
            raise ValueError("rounded is for counts, and under evidence the answers are probabilities")
        names = as_clique(clique)
        errors = self.expected_error(names, evidence, **options)
        counts = self.query(names, evidence) if evidence else self.project(names)
        marginal = Marginal(counts, errors, self.basis(names), level)
        return marginal.rounded() if rounded else marginal

    def basis(self, clique: str | Iterable[str]) -> Basis:
        """Return the basis of the counts of a clique.

        Returns
        -------
        {"measured", "merged", "unmeasured", "unknown"}
            "measured": some measurement holds the clique and separates its cells; "merged": only together with
            others in groups; "unmeasured": its attributes were measured, but never together; "unknown": some attribute
            was not measured at all.

        Raises
        ------
        ValueError
            If the model does not hold its measurements, or the clique is not one of its domain.
        """
        return basis(self, as_clique(clique))

    @checked()
    def synthetic_data(
        self,
        rows: Annotated[int, AtLeast(0)] | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        method: Literal["rounding", "independent"] = "rounding",
        evidence: Evidence | None = None,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Dataset:
        """Draw synthetic records by randomised rounding along a junction tree, or independently of each other.

        By rounding, in a tree of pairs every 1- and 2-way count of a clique is within 2 of the model's: far closer than
        by chance.
        On a region graph the tree is `RegionGraphModel.bounded_tree`, and records are refined towards all marginals;
        in a tree they are refined towards those of the model's cliques where a larger one has more cells than records.
        They are also refined towards the model's marginals of other pairs, as many as it has cliques, and not much
        nearer than the noise of the model; without noise, they are refined towards its own cliques last.

        Parameters
        ----------
        rows : int, optional
            Number of records; the rounded total by default.
        rng : Generator or int, optional
            Source of the rounding or the draws; the operating system's entropy by default.
        method : {"rounding", "independent"}
            Counts as close to the model's as integers can be; or independent draws, whose counts miss the model's as
            those of a sample of that many records do.
        evidence : mapping, optional
            See `project`: all records agree with it.
        time_limit : float, optional
            Seconds after which records are refined no further; drawing them takes the time it takes.
        progress : bool
            Whether to show on standard error how far the records are.

        Warns
        -----
        TimeLimitWarning
            If the time limit ended the refinement.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ValueError
            If `rows` is negative, or there is no such method.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"a": 2, "b": 2})
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("a", "b")]), total=8.0)
        >>> model.synthetic_data(rng=0).project("a").values
        array([4., 4.])
        >>> model.synthetic_data(rng=0, method="independent").project("a").values
        array([3., 5.])
        """
        n_rows, source = round(self.total) if rows is None else rows, as_generator(rng)
        with Clock("synthetic_data", time_limit, progress) as clock:
            tree, tables, targets = self._drawn_from(n_rows, evidence, clock)
            if method == "independent":
                drawn = independent_records(tree, tables, n_rows, source, clock)
                return Dataset(self.folding.records(drawn), self.domain)
            columns = draw_records(tree, tables, n_rows, source, clock=clock)
            for index in self._refinements(tree.domain, targets, evidence, clock):
                columns = refined_records(columns, index, n_rows, source, clock, noise=self._noise)
        return Dataset(self.folding.records(columns), self.domain)

    def _records_of(self, attributes: Clique, rows: int | None, rng: np.random.Generator) -> Dataset:
        """Draw records with some attributes alone, which takes less time than records with all.

        Those of attributes that a clique holds are drawn from its marginal; others along the tree, and refined towards
        what is known of these attributes.
        """
        wanted, kept = self.domain.canonical(attributes), self.folding.clique(attributes)
        n_rows, clock = round(self.total) if rows is None else rows, Clock()
        domain = self.folding.inner.project(kept)
        if Cliques(self.potentials.cliques).holds(kept):
            drawn_from: tuple[JunctionTree, Sequence[Factor], Sequence[Clique]]
            drawn_from = JunctionTree(domain, [kept]), self._projected([kept], None, None, clock), ()
        else:
            drawn_from = self._drawn_from(n_rows, None, clock)
        tree, tables, targets = drawn_from
        drawn = draw_records(tree, tables, n_rows, rng, clock=clock)
        columns = {a: drawn[a] for a in kept}
        among = maximal([part for clique in targets if (part := tuple(a for a in clique if a in columns))])
        for index in self._refinements(domain, among, None, clock, most=len(targets)):
            columns = refined_records(columns, index, n_rows, rng, clock, noise=self._noise)
        return Dataset(self.folding.records(columns, wanted), self.domain.project(wanted))

    def _records_near(self, records: Dataset, rng: np.random.Generator | int) -> Dataset:
        """Return records of a similar model, moved to this one's marginals: most of them are there already.

        A model whose records need no refinement draws new ones.
        """
        rows, source, clock = len(records), as_generator(rng), Clock()
        if self.is_exact:
            return self.synthetic_data(rows, source)
        columns: Mapping[str, NDArray[np.signedinteger]] = {a: records.columns[a] for a in self.folding.inner}
        _, _, targets = self._drawn_from(rows, None, clock)
        for index in self._refinements(self.folding.inner, targets, None, clock):
            columns = refined_records(columns, index, rows, source, clock, noise=self._noise)
        return Dataset(self.folding.records(columns), self.domain)

    def _refinements(
        self,
        domain: Domain,
        targets: Sequence[Clique],
        evidence: Evidence | None,
        clock: Clock,
        *,
        most: int | None = None,
    ) -> Iterator[RegionIndex]:
        """Yield the marginals that records are refined towards, one stage after the other."""
        for cliques in stages(domain, targets, alone=bool(evidence), noisy=self._noise > 0, most=most):
            clock.ends = "the refinement of the records"
            answers = self._projected(cliques, evidence, None, clock)
            yield RegionIndex(CliqueVector.from_factors(domain, answers), self.total)

    def blocks(
        self, rows: int, seed: int, *, evidence: Evidence | None = None, size: int = BLOCK
    ) -> Callable[[int, int], Iterator[Block]]:
        """Return a function of two block numbers, which yields the blocks from one up to the other.

        A block depends on the seed and its number alone, and takes little memory. All blocks together are such records
        as `synthetic_data` draws: the counts of the cliques are rounded once for all of them. Each block is refined by
        itself, to the same share of its records as all of them would be: distances of blocks from the same marginals
        do not add up.

        Parameters
        ----------
        rows : int
            Records of all blocks.
        seed : int
            Non-negative.
        evidence : mapping, optional
            See `project`.
        size : int
            Records of a block; the last one has what is left.

        Returns
        -------
        callable
            Its blocks have their records, ``data``, and ``rng``, the generator of what is drawn for them after that.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ValueError
            If there are more than 2,147,483,647 rows.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"a": 2, "b": 2})
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("a", "b")]), total=8.0)
        >>> between = model.blocks(1000, seed=0, size=300)
        >>> [len(block.data) for block in between(0, 4)]
        [300, 300, 300, 100]
        """
        clock = Clock()
        tree, tables, targets = self._drawn_from(rows, evidence, clock)
        drawing = RecordBlocks(tree, tables, rows, seed, size=size)
        indices = [*self._refinements(tree.domain, targets, evidence, clock)]

        def between(first: int, last: int) -> Iterator[Block]:
            for number, (drawn, rng) in enumerate(drawing.drawn(first, last), first):
                columns, n_records = drawn, drawing.rows_of(number, number + 1)
                for index in indices:
                    columns = refined_records(columns, index, n_records, rng, clock, noise=self._noise)
                yield Block(Dataset(self.folding.records(columns), self.domain), rng)

        return between

    def archive(self) -> dict[str, Any]:
        """Return the fields of the model's file."""
        fields = fields_of(self, "junction tree") | {
            "cliques": self.cliques,
            "total": self.total,
            "fit": None if self.fit is None else dataclasses.asdict(self.fit),
            "functions": self.folding.as_lists(),
            "masks": [{"clique": clique, "allowed": mask} for clique, mask in self.masks],
            "potentials": self.potentials.values,
        }
        if self.recipe is not None:
            with contextlib.suppress(QueryTooLargeError):
                fields["recipe"] = self.recipe.packed()
        return fields

    @cached_property
    def _noise(self) -> float:
        """The standard deviation of the counts that the model was estimated from, 0 if unknown."""
        return 0.0 if self.recipe is None else hiding_noise(self.recipe.measurements)

    @cached_property
    def _log_z(self) -> float:
        tree, potentials = self._joint
        return tree.log_partition(potentials)

    @cached_property
    def _by_oracles(self) -> Answers:
        from pypgm.inference.oracles import Answers

        return Answers(self._log_weights)

    @property
    @abstractmethod
    def _log_weights(self) -> CliqueVector:
        """Log-potentials of a joint distribution over the inner attributes."""

    @property
    @abstractmethod
    def _joint(self) -> tuple[JunctionTree, CliqueVector]:
        """The junction tree of the joint distribution, and its log-potentials."""

    @abstractmethod
    def _projected(
        self, cliques: list[Clique], evidence: Evidence | None, method: Method | None, clock: Clock
    ) -> list[Table]:
        """Return the marginals of cliques as they are written, counts; probabilities where there is no record."""

    @abstractmethod
    def _drawn_from(
        self, rows: int, evidence: Evidence | None, clock: Clock
    ) -> tuple[JunctionTree, Sequence[Factor], Sequence[Clique]]:
        """Return the tree that records are drawn along, its tables, and the cliques that they are refined towards."""

    @abstractmethod
    def _answers(
        self, queries: Sequence[KroneckerQuery], evidence: Evidence | None, clock: Clock
    ) -> list[NDArray[np.float64]]:
        """Return the answers to checked queries in counts, in the given order."""

    @abstractmethod
    def estimated_again(
        self, request: Request, *, is_prior: bool = False, like: EstimatedModel | None = None
    ) -> Model[Any]:
        """Return a model like this one for another request; see `Reestimated`."""

    def _counts(self, tables: list[Table]) -> list[Table]:
        """Return tables as counts, or, without records, as the counts of one record."""
        if not self.total:
            for table in tables:
                table.datavector()[:] = 0.0
        return tables

    def __repr__(self) -> str:
        scopes, numbers = ("cliques", "parameters") if self.is_exact else ("regions", "cells")
        private = ", not private" if self.not_private else ""
        return (
            f"{type(self).__name__}({len(self.domain)} attributes, {len(self.potentials.cliques)} {scopes}, "
            f"total {self.total:.6g}, {self.potentials.values.size} {numbers}{private})"
        )


def _several(query: KroneckerQuery | Sequence[KroneckerQuery]) -> list[KroneckerQuery]:
    """Return one query or several as a list; ``TypeError`` if something else was given for one."""
    made = "pypgm.KroneckerQuery({attribute: a query of pypgm.queries}) makes one"
    if isinstance(query, KroneckerQuery):
        return [query]
    if isinstance(query, Mapping | str) or not isinstance(query, Iterable):
        raise TypeError(f"query needs a pypgm.KroneckerQuery or a sequence of them, got {type(query).__name__}: {made}")
    queries = list(query)
    for i, one in enumerate(queries):
        check_kind(f"query[{i}]", one, KroneckerQuery, made)
    return queries


def _levels(domain: Domain, attribute: str, levels: ArrayLike | None) -> NDArray[np.float64]:
    """Return the number each value of an attribute stands for."""
    size = domain.size((attribute,))
    if levels is None:
        labels = domain.labels.get(attribute, ())
        if not labels or any(isinstance(x, str) for x in labels):
            raise ValueError(f"attribute {attribute!r} has no numeric labels; pass levels=, a number for each value")
        levels = [float(x) for x in labels]
    numbers = float_array("levels", levels)
    if numbers.shape != (size,):
        raise ValueError(f"attribute {attribute!r} has {size} values, got levels of shape {numbers.shape}")
    return numbers
