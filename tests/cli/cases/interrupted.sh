# SIGTERM ends after the round and writes the model; the log is whole.
small_data
: >talk # there before it is searched
"$RANKWOOD" train train.txt --valid valid.txt.gz --rounds 1000000 --early-stop 0 -o model.txt --log log.jsonl 2>talk &
child=$!
tries=0
until grep -q '^round 2/' talk || [ $tries -gt 600 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
kill -TERM $child
wait $child
echo "exit $?"
grep -c '^interrupted' talk
"$RANKWOOD" info model.txt >/dev/null && echo a model
tail -n 1 log.jsonl | grep -c '^{.*}$'
