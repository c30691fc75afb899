#!/usr/bin/env bash
# The compiler as scripts/machine.sh has cargo call it. The hooks that count instructions go into all
# code but that which the hooks themselves run: it would count without end.
set -euo pipefail
case " $* " in
*" --crate-name hotrow_machine "* | *" --crate-name iced_x86 "* | *" --crate-name lazy_static "*)
    arguments=()
    for argument in "$@"; do
        case $argument in
        -Cpasses=sancov-module | -Cllvm-args=-sanitizer-coverage-*) ;;
        *) arguments+=("$argument") ;;
        esac
    done
    exec "${arguments[@]}"
    ;;
esac
exec "$@"
