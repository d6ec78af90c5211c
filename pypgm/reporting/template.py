"""Templates of pages: every text in them is escaped, so that no terminal or reader obeys a name."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from pypgm._base.terminal import escaped
from pypgm.reporting.quality import rounded
from pypgm.reporting.words import percent

if TYPE_CHECKING:
    import jinja2


def rendered(template: str, **given: object) -> str:
    """Return a page as text.

    Parameters
    ----------
    template : str
        Name of a file in the folder of this module.
    **given : object
        Arguments of the template.

    Raises
    ------
    ImportError
        If jinja2, the extra ``report``, is not installed.
    """
    try:
        import jinja2  # noqa: F401 - here so that its absence has one message, whatever was made before
    except ImportError as error:
        raise ImportError('a report needs jinja2: pip install "pypgm[report]"') from error
    return _environment().get_template(template).render(**given)


@cache
def _environment() -> jinja2.Environment:
    """Return what reads templates: one, since it takes longer to compile a template than to fill it in."""
    import jinja2

    home = resources.files("pypgm.reporting")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: home.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"points": rounded, "share": percent, "plain": escaped}
    return environment
