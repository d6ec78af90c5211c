"""Defects by subject, a module each; `MUTANTS` has them all."""

from __future__ import annotations

import importlib
import pkgutil

from mutate import Mutant

_SUBJECTS = sorted(module.name for module in pkgutil.iter_modules(__path__))

MUTANTS: list[Mutant] = [mutant for name in _SUBJECTS for mutant in importlib.import_module(f"mutants.{name}").MUTANTS]
