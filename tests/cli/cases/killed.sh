# A signal in the middle of writing leaves neither half a file nor a temporary one.
small_model
# killed FOLDER COMMAND...: as soon as there is a temporary file in the folder.
killed() {
    where=$1
    shift
    "$@" 2>talk &
    child=$!
    tries=0
    until ls "$where"/*.tmp-* >/dev/null 2>&1 || [ $tries -gt 200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    kill -TERM $child
    wait $child 2>/dev/null
    echo "exit $?"
    cat talk
}
killed . "$RANKWOOD" synth --shape mslr30k --queries 10000000 --seed 1 -o made.txt
mkfifo pipe
exec 3<>pipe # a reader of it waits, and opening it waits for nobody
killed . "$RANKWOOD" predict model.txt pipe -o scores
# The temporary file stands beside what a link leads to, whoever writes it.
mkdir d
echo old >d/target
ln -s d/target link
killed d "$RANKWOOD" synth --shape mslr30k --queries 10000000 --seed 1 -o link
killed d "$RANKWOOD" predict model.txt pipe -o link
# Names already taken: the next one is removed, what others left is not.
cat >taken.sh <<'END'
for name in "$1.tmp-$$" "$1.tmp-$$-1"; do echo another >"$name"; done
shift
exec "$@"
END
taken() {
    sh taken.sh "$@" 2>talk &
    child=$!
    tries=0
    until [ -e d/target.tmp-$child-2 ] || [ $tries -gt 200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    kill -TERM $child
    wait $child 2>/dev/null
    echo "exit $?, left of others: $(cat d/target.tmp-* | grep -c another)"
    rm d/target.tmp-$child d/target.tmp-$child-1
}
taken d/target "$RANKWOOD" synth --shape mslr30k --queries 10000000 --seed 1 -o link
taken d/target "$RANKWOOD" predict model.txt pipe -o link
cat d/target
readlink link
ls . d
