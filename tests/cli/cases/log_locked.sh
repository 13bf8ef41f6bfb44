# room: train
# A log is locked while it is written, by a lock that ends with its process.
small_data
: >talk
"$RANKWOOD" train train.txt --rounds 1000000 --leaves 5 -o m --checkpoint ck --checkpoint-every 1 --log log 2>talk &
child=$!
until grep -q '^round 3/' talk && [ -e ck ]; do sleep 0.05; done
try train train.txt --rounds 2 --quiet -o other --log log
try train train.txt --rounds 2 --quiet -o other --resume ck --log log
say apart test ! -e other
head -c 18 log
echo
kill -9 $child
wait $child 2>/dev/null
rm -f *.tmp-*
# a process that was killed has no lock
: >talk
"$RANKWOOD" train train.txt --rounds 1000000 --leaves 5 -o m --checkpoint ck --resume auto --log log 2>talk &
child=$!
until grep -q '^round' talk; do sleep 0.05; done
kill $child
wait $child
echo "exit $?"
grep -c '"resume"' log
