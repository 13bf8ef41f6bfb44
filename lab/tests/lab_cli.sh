#!/bin/sh
# What rankwood-lab says of wrong lines, which is said before a GPU is looked for; here there is none
# to be seen.
#
#   sh lab_cli.sh RANKWOOD_LAB
set -u
lab=$1
export CUDA_VISIBLE_DEVICES=-1
out=$(mktemp) && err=$(mktemp) && trap 'rm -f "$out" "$err"' EXIT
failed=0

# wrong EXIT PATTERN ARGUMENTS...: that line on standard error, nothing on standard output.
wrong() {
    code=$1 pattern=$2
    shift 2
    "$lab" "$@" >"$out" 2>"$err"
    got=$?
    if [ "$got" != "$code" ] || [ -s "$out" ] || ! grep -q "$pattern" "$err"; then
        echo "not ok: rankwood-lab $*: exit $got, not $code, or not '$pattern': $(cat "$err")"
        failed=1
    fi
}

wrong 1 'no GPU can be used' lanes
wrong 1 'no GPU can be used' contention --quick --json
wrong 2 '^usage: rankwood-lab SUITE'
wrong 2 "unknown suite 'lanse'; the nearest is 'lanes'" lanse
wrong 2 "unknown suite 'everything'" everything
wrong 2 "^rankwood-lab: hint: 'rankwood-lab --help' lists the suites" everything
wrong 2 "^rankwood-lab: error: unknown method 'colision'; the nearest is 'collision'" contention --method colision
wrong 2 "unknown method 'everything'; expected one of: " generalized --method everything
wrong 2 "option '--bins' has no effect in suite 'nodes'" nodes --bins 16
wrong 2 "'--runs': expected a whole number, 1 to 1000, found '0'" lanes --runs 0
wrong 2 "'--docs': expected a whole number, 1 to 2147483647, found '1e6'" lanes --docs 1e6
wrong 2 "unknown option '--shape'" lanes --shape letor
wrong 2 "^rankwood-lab: hint: 'rankwood-lab lanes --help' lists its arguments" lanes --shape letor
wrong 2 "'lanes' does not take 'contention'" lanes contention
for suite in weighted lanes contention generalized general nodes; do
    "$lab" --help | grep -q "^  $suite  *[^ ]" || { echo "not ok: no help on $suite" && failed=1; }
    "$lab" "$suite" --help | grep -q -e '--method=M' || { echo "not ok: no help of $suite" && failed=1; }
done
[ "$("$lab" --version | cut -d ' ' -f 1)" = rankwood-lab ] || { echo "not ok: --version" && failed=1; }

[ "$failed" = 0 ] && echo "rankwood-lab says what is wrong"
exit "$failed"
