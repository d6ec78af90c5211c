"""Every public mechanism and learner by its name, and what each needs beside records and a budget."""

from __future__ import annotations

import inspect

from pypgm import Dataset, bayes, mrf
from pypgm.mechanisms.tables import mechanism_named, mechanism_names

__all__ = ["LEARNERS", "SUBJECTS", "options_of"]


def public_learners():
    """Every function of the packages of learners that takes private records and a budget."""
    for package in (bayes, mrf):
        for name in dir(package):
            member = getattr(package, name)
            known = inspect.signature(member).parameters if inspect.isfunction(member) else {}
            if {"data", "epsilon", "privacy"} <= known.keys():
                yield f"{package.__name__}.{name}", member


LEARNERS = dict(public_learners())
SUBJECTS = {name: mechanism_named(name) for name in mechanism_names()} | LEARNERS
NEEDED = {  # by name, what some of them need beside records and a budget
    "public": lambda data: Dataset(data.columns, data.domain),
    "structure": lambda data: {},
    "radius": lambda data: 0.5,
    "eta": lambda data: 0.4,
    "order": lambda data: 2,
}
FEW = {"iterations": 5, "rounds": 2, "steps": 2}  # of those that have such an option


def options_of(name, data):
    known = inspect.signature(SUBJECTS[name]).parameters.values()
    needed = [p.name for p in known if p.default is p.empty and p.kind is not p.VAR_KEYWORD and p.name != "data"]
    takes_more = name not in LEARNERS  # an estimate's options
    few = {o: n for o, n in FEW.items() if o in [p.name for p in known] or (takes_more and o == "iterations")}
    return {option: NEEDED[option](data) for option in needed} | few
