# room: base
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
exec 3<>pipe # opening the pipe does not block, reading from it does
killed . "$RANKWOOD" predict model.txt pipe -o scores
# The temporary file is in the folder of the link's target, for every command.
mkdir d
echo old >d/target
ln -s d/target link
killed d "$RANKWOOD" synth --shape mslr30k --queries 10000000 --seed 1 -o link
killed d "$RANKWOOD" predict model.txt pipe -o link
# Temporary names already in use, by locked files: the next name is used and removed, the locked files stay.
cat >taken.sh <<'END'
exec 8>"$1.tmp-$$" 9>"$1.tmp-$$-1"
flock 8
flock 9
echo another >&8
echo another >&9
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
# Temporary files that no process locks are removed.
echo left >d/target.tmp-12345
echo left >d/target.tmp-12345-6
echo mine >d/target.tmp-x
"$RANKWOOD" synth --shape letor --queries 1 --seed 1 -o link
cat d/target.tmp-*
rm d/target.tmp-x
echo old >d/target
cat d/target
readlink link
ls . d
