# room: evaluate
# long
# A signal while the folds' models are written leaves whole files, no temporary one.
small_data
for i in 1 2 3 4 5; do
    rm -rf out
    env --default-signal=INT "$RANKWOOD" cv train.txt --folds 40 --rounds 10 --leaves 8 --early-stop 0 --quiet -o out \
        >/dev/null &
    child=$!
    until set -- out/*.tmp-*; [ -e "$1" ] || ! kill -0 $child 2>/dev/null; do :; done
    kill -INT $child
    wait $child
    echo "temporary: $(ls out | grep -c tmp)"
done
