# Help that was asked for is a result; help that was not is a message.
"$RANKWOOD" --help
"$RANKWOOD" help >again && "$RANKWOOD" --help | cmp - again
"$RANKWOOD" eval --help >eval && "$RANKWOOD" help eval | cmp - eval
"$RANKWOOD" --version
# In the middle of a line that is wrong otherwise, too.
"$RANKWOOD" show --tree 1 --help
for command in synth bin train predict eval info show bench; do
    "$RANKWOOD" $command --help >/dev/null || echo "$command: $?"
done
"$RANKWOOD"
