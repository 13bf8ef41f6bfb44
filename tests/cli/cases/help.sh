# Help that was asked for is a result; help that was not is a message.
"$RANKWOOD" --help
"$RANKWOOD" help >again && "$RANKWOOD" --help | cmp - again
"$RANKWOOD" eval --help >eval && "$RANKWOOD" help eval | cmp - eval
"$RANKWOOD" --version | sed 's/^\(build:\) [a-z]* by [a-z]* [0-9.]* for [a-z0-9_]*$/\1 .../
    s/^\(CUDA:\) \(none\|[0-9.]*, for [a-z0-9_ ]*\)$/\1 .../; s/^\(instruction sets:\) plain.*; [a-z0-9]* is taken$/\1 .../'
# In the middle of a line that is wrong otherwise, too.
"$RANKWOOD" show --tree 1 --help
for command in synth bin train predict eval info show bench; do
    "$RANKWOOD" $command --help >/dev/null || echo "$command: $?"
done
"$RANKWOOD"
