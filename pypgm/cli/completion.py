"""``pypgm completion``: a script with which a shell completes verbs, options and files."""

from __future__ import annotations

import argparse
import sys

from pypgm.cli.arguments import Verbs, add_verb

_DESCRIPTION = """\
Print a script with which a shell completes verbs, options, their values and files. It is made once and runs without
Python, so Tab answers at once; make it anew with another version of pypgm. It needs shtab, which is the extra
pypgm[completion].
"""
_USAGE = """\
examples:
  pypgm completion bash > ~/.local/share/bash-completion/completions/pypgm
  pypgm completion zsh > ~/.zfunc/_pypgm   (in a folder of $fpath)
"""
_SHELLS = ("bash", "zsh", "tcsh")


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    summary = "a script for Tab in a shell"
    verb = add_verb(
        commands, "completion", _completion, summary=summary, about=_DESCRIPTION, examples=_USAGE, has_json=False
    )
    verb.add_argument("shell", choices=_SHELLS, help="for which shell")


def _completion(arguments: argparse.Namespace) -> None:
    try:
        import shtab
    except ImportError:
        raise ValueError('completion needs shtab: pip install "pypgm[completion]"') from None
    from pypgm.cli.command import parser_of_all

    parser = parser_of_all()
    _complete_files(parser, shtab.FILE)
    sys.stdout.write(shtab.complete(parser, arguments.shell))


def _complete_files(parser: argparse.ArgumentParser, files: object) -> None:
    """Add completion of files to all arguments without choices."""
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for inner in action.choices.values():
                _complete_files(inner, files)
        elif action.choices is None and action.type is None and action.nargs != 0:
            action.complete = files  # type: ignore[attr-defined]  # where shtab looks for it
