"""Refusals come before anything is read or charged; kept releases stay what they were; the sampler alone draws."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.kept import check_kept
from checks.roundings import check_integer_noise
from refusals import check_refusals
from source_text import CHARGE_FIRST, ROOMS, check_source

import pypgm
from pypgm.audit.subjects import SPELLED


def test_what_is_wrong_is_refused_before_records_are_read():
    finding = check_refusals()
    assert (finding.defects, finding.detail) == ((), "101 calls, none read or charged")


@pytest.mark.parametrize("check", [check_source, check_integer_noise])
def test_releases_are_made_by_the_sampler_alone(check):
    finding = check()
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail


def test_every_room_of_releases_is_there_and_no_module_is_exempt_for_nothing():
    """A module that is moved or merged would else go unread, or take its exemption along to other code."""
    package = Path(pypgm.__file__).parent
    assert [room for room in ROOMS if not (package / room).exists()] == []
    reaching = {path.name for path in package.rglob("*.py") if ".trusted_access" in path.read_text(encoding="utf-8")}
    inside = {path.name for folder in ("privacy", "audit") for path in (package / folder).rglob("*.py")}
    assert reaching - inside == CHARGE_FIRST


@pytest.mark.slow
@pytest.mark.parametrize("name", SPELLED)
def test_a_release_that_is_kept_stays_what_it_was(name):
    finding = check_kept(name, SPELLED[name])
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail
