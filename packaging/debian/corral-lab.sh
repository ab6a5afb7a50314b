#!/bin/sh
# Benchmarks: `corral-lab --quick`, `corral-lab languages`, `corral-lab php_worker`. Results are left in ./results.
export PYTHONPATH=/usr/share/corral PYTHONDONTWRITEBYTECODE=1
export LAB_CORRAL="${LAB_CORRAL:-/usr/bin/corral}" LAB_RESULTS="${LAB_RESULTS:-$PWD/results}"
case ${1:-} in
    languages | php_worker)
        kind=.$1
        shift
        ;;
    *) kind= ;;
esac
exec python3 -m "lab$kind" "$@"
