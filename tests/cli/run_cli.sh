#!/bin/sh
# Command-line tests: run_cli.sh PROGRAM [CASE... | --room ROOM]
#
# --room: the cases with a line '# room: ROOM', the folder of src that they mainly test; for `cli`, those without. A
# case is cases/NAME.sh. sh runs it in an empty folder, after lib.sh, with $RANKWOOD set. Its expected results are in
# the same folder:
#   NAME.stdout.exact   standard output, byte for byte    (no file: nothing)
#   NAME.stderr.glob    standard error, a shell pattern per line; "..." matches any lines
#                                                         (no file: nothing)
#   NAME.exit           exit status                       (no file: 0; 77 always means skipped)
# A case may not leave a temporary file (*.tmp-*).
#
# RANKWOOD_CASES=short leaves out the cases with a line '# long': whole trainings, of code that unit tests run as well.
# RANKWOOD_CASES=long leaves out the others.
set -u
here=$(cd "$(dirname "$0")" && pwd)
RANKWOOD=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
RANKWOOD_DATA=${RANKWOOD_DATA:-$here/../../../shared/data}
case $RANKWOOD_DATA in /*) ;; *) RANKWOOD_DATA=$PWD/$RANKWOOD_DATA ;; esac
CLI_TESTS=$here
export RANKWOOD RANKWOOD_DATA CLI_TESTS
unset POSIXLY_CORRECT ARGP_HELP_FMT
LC_ALL=C
export LC_ALL
shift
folder=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT

# matches PATTERNS TEXT: do the lines of one file match those of the other?
matches() {
    exec 3<"$1" 4<"$2"
    any=no
    while IFS= read -r pattern <&3; do
        if [ "$pattern" = ... ]; then
            any=yes
            continue
        fi
        while :; do
            IFS= read -r line <&4 || return 1
            # shellcheck disable=SC2254
            case $line in
            $pattern) break ;;
            esac
            [ $any = yes ] || return 1
        done
        any=no
    done
    [ $any = yes ] || ! IFS= read -r line <&4
}

passed=0 skipped=0 failed=0 left_out=0
if [ "${1:-}" = --room ]; then
    if [ "$2" = cli ]; then
        set -- $(cd "$here/cases" && grep -L '^# room: ' ./*.sh)
    else
        set -- $(cd "$here/cases" && grep -lx "# room: $2" ./*.sh)
    fi
    [ $# -gt 0 ] || { echo "no case of this room" && exit 1; }
    set -- $(printf '%s\n' "$@" | sed 's,^\./,,; s,\.sh$,,')
fi
[ $# -gt 0 ] || set -- $(cd "$here/cases" && ls ./*.sh | sed 's,^\./,,; s,\.sh$,,')
for name; do
    case=$here/cases/$name
    length=short
    ! grep -qx '# long' "$case.sh" || length=long
    if [ "${RANKWOOD_CASES:-$length}" != $length ]; then
        left_out=$((left_out + 1))
        continue
    fi
    mkdir "$folder/$name" "$folder/$name/work"
    out=$folder/$name/stdout err=$folder/$name/stderr why=
    (cd "$folder/$name/work" && sh -c '. "$CLI_TESTS/lib.sh"; . "$0"' "$case.sh") >"$out" 2>"$err" </dev/null
    code=$?
    if [ $code -eq 77 ]; then
        echo "skip $name: $(tail -n 1 "$err")"
        skipped=$((skipped + 1))
        continue
    fi
    expected=0
    [ ! -f "$case.exit" ] || expected=$(cat "$case.exit")
    [ "$code" = "$expected" ] || why="exit status $code, not $expected"
    stdout=/dev/null stderr=/dev/null
    [ ! -f "$case.stdout.exact" ] || stdout=$case.stdout.exact
    [ ! -f "$case.stderr.glob" ] || stderr=$case.stderr.glob
    if ! diff -u "$stdout" "$out" >"$folder/$name/diff"; then
        why="$why standard output differs"
        head -n 60 "$folder/$name/diff"
    fi
    if ! matches "$stderr" "$err"; then
        why="$why standard error does not match"
        sed 's/^/  stderr: /' "$err" | head -n 40
    fi
    left=$(find "$folder/$name/work" -name '*.tmp-*')
    [ -z "$left" ] || why="$why left behind: $left"
    if [ -n "$why" ]; then
        echo "FAIL $name: $why"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $skipped skipped, $failed failed, $left_out left out"
[ $failed -eq 0 ]
