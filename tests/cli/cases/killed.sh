# A signal in the middle of writing leaves neither half a file nor a temporary one.
small_model
killed() {
    "$@" 2>talk &
    child=$!
    tries=0
    until ls ./*.tmp-* >/dev/null 2>&1 || [ $tries -gt 200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    kill -TERM $child
    wait $child 2>/dev/null
    echo "exit $?"
    cat talk
}
killed "$RANKWOOD" synth --shape mslr30k --queries 10000000 --seed 1 -o made.txt
mkfifo pipe
killed "$RANKWOOD" predict model.txt pipe -o scores &
exec 3>pipe
wait $! 2>/dev/null
exec 3>&-
ls
