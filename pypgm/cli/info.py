"""``pypgm info``: what a release guarantees, measured and holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypgm import load
from pypgm.cli.arguments import add_verb
from pypgm.cli.printing import show
from pypgm.release import Release
from pypgm.report import domain_lines, measurement_lines, model_lines, noise_of, unpaired_lines

if TYPE_CHECKING:
    import argparse

    from pypgm.cli.arguments import Verbs

__all__ = ["add_to"]

_DIGITS = 16  # of a digest, for the eye: by chance two files in 10^19 have the same


def add_to(commands: Verbs) -> None:
    """Add the verb."""
    about = "Print what a release guarantees, what was measured at which noise, and what its model holds."
    info = add_verb(commands, "info", _info, summary="what a release guarantees, measured and holds", about=about)
    info.add_argument("release", metavar="RELEASE", help="a file that synth wrote, or a model")


def _info(arguments: argparse.Namespace) -> None:
    found = load(arguments.release)
    of_release, model = (_release_lines(found), found.model) if isinstance(found, Release) else ([], found)
    lines = [*of_release, *model_lines(model), f"total: {model.total:,.0f} records"]
    lines.append(f"digest: {found.digest[:_DIGITS]}, of all that is in the file")
    show([*lines, "attributes:", *domain_lines(model.domain)])


def _release_lines(release: Release) -> list[str]:
    """Return the guarantee, who it protects, what made the release and what was measured."""
    told = ", ".join(f"{name} {_shown(value)}" for name, value in release.options.items())
    made = " ".join(part for part in (release.mechanism, "of pypgm", release.version) if part)
    noise = [(noise_of(m), m.clique) for m in release.measurements]
    lines = [
        f"guarantee: {release.guarantee}",
        f"protects: {release.privacy.sentence}",
        f"made by: {made}{f' ({told})' if told else ''}",
        f"measured: {len(noise):,} marginals",
        *measurement_lines(release.measurements),
        *unpaired_lines(release),
    ]
    if noise:
        most, clique = max(noise)
        lines.append(f"largest error: {most:.3g} records in each number of {', '.join(clique)}, by noise alone")
    if release.schema is not None and release.schema.drop:
        lines.append(f"left out of the table: {', '.join(release.schema.drop)}")
    return lines


def _shown(value: object) -> str:
    """Return an option in a few words."""
    if isinstance(value, dict) and "cliques" in value:
        return f"of {len(value['cliques']):,} marginals"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
