"""The entry of a release's run in its account, which the release and its file name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pypgm._base.terminal import escaped
from pypgm.privacy.budget import Unit, short
from pypgm.privacy.rational import as_fraction


@dataclass(frozen=True, slots=True)
class AccountEntry:
    """Entry of a run in an account: what the run reserved there.

    Parameters
    ----------
    name : str
        The name of the account.
    identity : str
        The number, in hexadecimal digits, that tells an account from others of its name.
    run : int
        The number of the run, from 1.
    unit : {"rho", "epsilon"}
        The unit of the account.
    amount : Fraction
        The amount that the run reserved, in that unit.
    """

    name: str
    identity: str
    run: int
    unit: Unit
    amount: Fraction

    @property
    def text(self) -> str:
        """The entry in words.

        Examples
        --------
        >>> AccountEntry("people.account", "9f", 3, "rho", Fraction(1, 4)).text
        'people.account, run 3, rho 0.25 reserved'
        """
        return f"{escaped(self.name)}, run {self.run}, {self.unit} {short(self.amount)} reserved"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that `from_dict` takes, the amount as "a/b"."""
        return {
            "name": self.name,
            "identity": self.identity,
            "run": self.run,
            "unit": self.unit,
            "amount": str(self.amount),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> AccountEntry:
        """Return the entry that `to_dict` described; ``ValueError`` if the amount is not a number."""
        amount = as_fraction("amount", fields["amount"])
        return cls(fields["name"], fields["identity"], fields["run"], fields["unit"], amount)
