"""Shares in percent: no text says all or none of what is only most or few."""

from __future__ import annotations

import numpy as np

from pypgm.reporting.words import percent


def test_shares_are_rounded_to_two_digits_and_never_to_none_or_all():
    rng = np.random.default_rng(0)
    near_ends = 10.0 ** -rng.uniform(0.1, 8, 2000)
    for share in [*near_ends, *(1 - near_ends), *rng.random(2000)]:
        text = percent(share)
        number = float(text.strip("<> %"))
        assert text not in {"0 %", "100 %", "0.00 %", "100.00 %"}
        if text[0] in "<>":
            assert (share < 1e-4) if text[0] == "<" else (share > 1 - 1e-4)
        else:
            assert abs(number - 100 * share) <= 0.051 * min(10, max(number, 0.1)), (share, text)
    assert [percent(share) for share in (0, 0.0, 1, 1 + 1e-12, 0.996, 0.0999)] == [
        "0 %",
        "0 %",
        "100 %",
        "100 %",
        "99.6 %",
        "10 %",
    ]
