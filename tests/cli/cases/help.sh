# Requested help is written to standard output; help after an error, to standard error.
"$RANKWOOD" --help
"$RANKWOOD" help >again && "$RANKWOOD" --help | cmp - again
"$RANKWOOD" eval --help >eval && "$RANKWOOD" help eval | cmp - eval
"$RANKWOOD" --version | sed 's/^\(build:\) [a-z]* by [a-z]* [0-9.]* for [a-z0-9_]*$/\1 .../
    s/^\(CUDA:\) \(none\|[0-9.]*, for [a-z0-9_ ]*\)$/\1 .../; s/^\(instruction sets:\) plain.*; [a-z0-9]* is in use$/\1 .../'
# In the middle of a line that is wrong otherwise, too.
"$RANKWOOD" show --tree 1 --help
# Every line fits on a terminal, and every option begins where options do.
for command in "" $("$RANKWOOD" --help | awk '/^usage:/ { on = 1; next } on && NF { print $1; n++ } n && !NF { exit }'); do
    "$RANKWOOD" $command --help >help || echo "$command: $?"
    grep -n '.\{81\}' help && echo "$command: wider than 80 columns"
    grep ' --[a-z-]*=[A-Z|a-z]*  ' help | grep -v '^  \(   \|-[a-z],\) --' && echo "$command: an option elsewhere"
    grep ' $' help && echo "$command: blanks at the end of a line"
done
"$RANKWOOD"
