"""What the checks written in Python have in common: a list of them, one run, a summary."""

import os
import sys
import traceback

_checks = []
_all = os.environ.get("CHECK_ALL")
_differences = []


def check(function):
    """A check: it has an open database to itself and raises at the first difference."""
    _checks.append(function)
    return function


def equal(have, want, what=""):
    if have != want:
        difference = f"{what + ': ' if what else ''}got {have!r}, expected {want!r}"
        if not _all:
            raise AssertionError(difference)
        _differences.append(f"line {sys._getframe(1).f_lineno}: {difference}")


def same(have, want, what=""):
    """Equal, and of the same types, in sequences as well."""
    equal(have, want, what)

    def kinds(value):
        if isinstance(value, (list, tuple)):
            return [kinds(each) for each in value]
        return type(value)

    equal(kinds(have), kinds(want), f"types of {what}" if what else "types")


def main(tool, argument=None):
    only = sys.argv[1:]
    done = failed = 0
    for function in _checks:
        name = function.__name__
        if only and name not in only:
            continue
        _differences.clear()
        try:
            function(argument)
        except Exception as error:  # whatever a client raises
            if not _all or _all == "2":
                traceback.print_exc()
            _differences.append(f"{type(error).__name__}: {error}")
        if _differences:
            failed += 1
            for difference in _differences:
                print(f"{tool}: FAILED {name}: {difference}", file=sys.stderr)
            if not _all:
                break
        else:
            done += 1
            print(f"{tool}: {name}: {function.__doc__}")
    print(f"{tool}: {done} checks" + (f", {failed} FAILED" if failed else ""))
    sys.exit(1 if failed else 0)
