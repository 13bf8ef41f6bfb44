#!/bin/sh
# man.sh PROGRAM PAGE: tests that every command and option is in --help and in the man page.
program=$1
page=$(sed 's/\\-/-/g' "$2")
bad=0
commands=$("$program" --help | awk '/^usage:/ { on = 1; next } on && NF { seen = 1; print $1 } seen && !NF { exit }')
count=0
for command in $commands; do
    count=$((count + 1))
    help=$("$program" "$command" --help) || { echo "'$command --help' fails"; bad=1; }
    section=$(printf '%s\n' "$page" | sed -n "/^\.SS \"rankwood $command/,/^\.S[SH] /p")
    [ -n "$section" ] || { echo "the man page has no section on '$command'"; bad=1; }
    for option in $(printf '%s\n' "$help" | sed -n 's/^  [ -][o ]*[, ] *\(--[a-z][a-z0-9-]*\).*/\1/p'); do
        case $option in --help) continue ;; esac
        # A training parameter is described once, in a separate section.
        printf '%s\n' "$section" "$(printf '%s\n' "$page" | sed -n '/^\.SH PARAMETERS/,/^\.SH EXIT/p')" \
            "$(printf '%s\n' "$page" | sed -n '/^\.SH OPTIONS/,/^\.SH PARAM/p')" |
            grep -q -e "[^a-z-]$option\([^a-z0-9-]\|$\)" ||
            { echo "the man page does not tell of '$command $option'"; bad=1; }
        options=$((${options:-0} + 1))
    done
done
[ $count -ge 7 ] && [ "${options:-0}" -ge 60 ] || { echo "only $count commands, $options options?"; bad=1; }
# And the other way round: every option that the page has is taken by some command.
all=$(for command in $commands; do "$program" "$command" --help; done)
for option in $(printf '%s\n' "$page" | grep -o -e '--[a-z][a-z0-9-]*' | sort -u); do
    case $option in --help | --version) continue ;; esac
    printf '%s\n' "$all" | grep -q -e "$option\([^a-z0-9-]\|$\)" ||
        { echo "the man page has '$option', which no command takes"; bad=1; }
done
# So is every bench of the synopsis.
for part in $(printf '%s\n' "$page" | sed -n 's/^\\fBrankwood bench\\fR \([a-z |]*\).*/\1/p' | tr -d '|'); do
    "$program" bench "$part" --help >/dev/null 2>&1 || { echo "the man page has 'bench $part', which there is not"; bad=1; }
    benches=$((${benches:-0} + 1))
done
[ "${benches:-0}" -ge 3 ] || { echo "only ${benches:-no} benches?"; bad=1; }
exit $bad
