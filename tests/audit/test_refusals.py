"""Refusals come before anything is read or charged; kept releases stay what they were; the sampler alone draws."""

from __future__ import annotations

import pytest
from checks.kept import check_kept
from checks.roundings import check_integer_noise
from refusals import check_refusals
from source_text import check_source

from pypgm.audit.subjects import SPELLED


def test_what_is_wrong_is_refused_before_records_are_read():
    finding = check_refusals()
    assert (finding.defects, finding.detail) == ((), "101 calls, none read or charged")


@pytest.mark.parametrize("check", [check_source, check_integer_noise])
def test_releases_are_made_by_the_sampler_alone(check):
    finding = check()
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail


@pytest.mark.slow
@pytest.mark.parametrize("name", SPELLED)
def test_a_release_that_is_kept_stays_what_it_was(name):
    finding = check_kept(name, SPELLED[name])
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail
