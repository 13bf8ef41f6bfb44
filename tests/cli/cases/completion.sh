# The Tab key completes commands, options with their help, fixed values and formats. It prints nothing for file names.
complete() {
    echo "\$ $*"
    "$RANKWOOD" --complete "$@" | tr '\t' ' ' | cut -c 1-60
}
complete tr
complete comp
complete completion ''
complete bench tr
complete help pre
complete train --see
complete train --grow ''
complete train --grow=l
complete train --grow = s
complete export --to xg
complete train -o m
complete train data.txt ''
complete nothing --see
complete train --objective lambdarank --ver
complete
[ "$("$RANKWOOD" --complete | wc -l)" = "$("$RANKWOOD" --help | grep -c '^  [a-z]')" ] || echo "other commands than in --help"
"$RANKWOOD" completion ksh
echo "$?"
# The scripts, in the shells that are installed.
mkdir bin && ln -s "$RANKWOOD" bin/rankwood && PATH=$PWD/bin:$PATH
bash --norc -c 'source <(rankwood completion bash)
    for line in "rankwood pr" "rankwood train --see" "rankwood train --objective l" "rankwood train data"; do
        COMP_WORDS=($line) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _rankwood rankwood && echo "bash: $line: ${COMPREPLY[*]}"
    done'
for shell in zsh fish; do
    rankwood completion $shell >script
    [ -s script ] || echo "no script for $shell"
    ! command -v $shell >/dev/null || HOME=$PWD $shell -n script || echo "$shell: wrong script"
done
