#!/bin/sh
# One model, any device: trains each configuration below on two devices and compares the model files and
# the log's metrics records, by cmp. On a GPU again: a second run, and runs with forced histogram methods.
#
#   sh tests/same_bytes_cuda.sh PROGRAM [DEVICE DEVICE]      cpu cuda, if none are named
#
# Exit 77 if a device is not there. SCALE (1) multiplies the queries of the made data.
set -u
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
one=${2:-cpu} two=${3:-cuda} scale=${SCALE:-1}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
export LC_ALL=C
failed=0 passed=0

no() {
    echo "not ok same_bytes_cuda: $*"
    failed=$((failed + 1))
}

printf '1 qid:1 1:1\n0 qid:1 1:2\n' >tiny.txt
for device in "$one" "$two"; do
    "$program" train tiny.txt --rounds 1 --min-docs 1 --quiet --device "$device" -o tiny.model 2>tiny.err || {
        echo "skip same_bytes_cuda: $device: $(head -n 1 tiny.err)"
        exit 77
    }
done

synth() { # shape queries seed name
    "$program" synth --shape "$1" --queries $(($2 * scale)) --seed "$3" -o "$4" || exit 2
}
synth mslr30k 16 1 m.rwb
synth mslr30k 6 2 mv.rwb
synth yahoo 20 3 y.rwb
synth yahoo 8 4 yv.rwb
synth letor 60 5 l.txt
synth letor 25 6 lv.txt
awk '{ if ($2 != q) { q = $2; print n % 3 + 0.5 * (n % 2); n++ } }' l.txt >l.weights

# name | training data | validation data | the rest
cat >configurations <<'END'
mslr-255      |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 255 --min-docs 5
mslr-255-255  |m.rwb|mv.rwb|--rounds 2 --leaves 255 --bins 255 --min-docs 1
mslr-7        |m.rwb|mv.rwb|--rounds 8 --leaves 7 --bins 255 --min-docs 5
mslr-15       |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 15 --min-docs 5
mslr-16       |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 16 --min-docs 5
mslr-16-miss  |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 16 --min-docs 5 --absent missing
mslr-63       |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 63 --min-docs 5
mslr-256      |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 256 --min-docs 5
mslr-256-miss |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 256 --min-docs 5 --absent missing
mslr-1023     |m.rwb|mv.rwb|--rounds 3 --leaves 31 --bins 1023 --min-docs 3
mslr-1024-miss|m.rwb|mv.rwb|--rounds 3 --leaves 31 --bins 1024 --min-docs 3 --absent missing
mslr-newton   |m.rwb|mv.rwb|--rounds 4 --leaves 31 --split newton --min-docs 3
mslr-newton-16|m.rwb|mv.rwb|--rounds 3 --leaves 31 --split newton --bits 16 --min-weight 0.5 --split-l2 3
mslr-bits-6   |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bits 6 --min-docs 3
mslr-bits-12  |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bits 12 --rounding nearest --min-docs 3
mslr-bits-16  |m.rwb|mv.rwb|--rounds 3 --leaves 255 --bits 16 --min-docs 1
mslr-levels   |m.rwb|mv.rwb|--rounds 4 --grow levels --depth 6 --min-docs 2
mslr-levels-n |m.rwb|mv.rwb|--rounds 3 --grow levels --depth 6 --min-docs 2 --split newton --bins 63
mslr-sampled  |m.rwb|mv.rwb|--rounds 6 --leaves 31 --sample-queries 0.5 --sample-features 0.4 --min-docs 2
mslr-few      |m.rwb|mv.rwb|--rounds 6 --leaves 7 --sample-queries 0.01 --sample-features 0.001 --min-docs 1
mslr-residual |m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective regression --metric rmse --min-docs 3
mslr-residual-n|m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective regression --split newton --metric ndcg@5,rmse --sample-queries 0.7
yahoo         |y.rwb|yv.rwb|--rounds 3 --leaves 31 --min-docs 2
yahoo-miss    |y.rwb|yv.rwb|--rounds 3 --leaves 31 --min-docs 2 --absent missing --bins 63
yahoo-newton  |y.rwb|yv.rwb|--rounds 3 --leaves 31 --min-docs 2 --split newton --bits 12
yahoo-255     |y.rwb|yv.rwb|--rounds 2 --leaves 255 --min-docs 1 --bins 15
letor         |l.txt|lv.txt|--rounds 10 --leaves 31 --min-docs 3
letor-weights |l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --weights l.weights
letor-weights-n|l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --weights l.weights --split newton
letor-stop    |l.txt|lv.txt|--rounds 60 --leaves 31 --min-docs 1 --early-stop 3 --rate 0.5 --metric ndcg@5 --metric map
letor-all     |l.txt|lv.txt|--rounds 6 --leaves 31 --truncation none --norm off --sigma 2 --train-metric on
letor-linear  |l.txt|lv.txt|--rounds 6 --leaves 7 --truncation 1 --label-gain linear --depth 2 --min-gain 0.001
letor-ignore  |l.txt|lv.txt|--rounds 4 --leaves 255 --min-docs 1 --ignore 1-20 --l2 0
END

train() { # device model options...
    device=$1 model=$2
    shift 2
    rm -f "$model"
    "$program" train "$@" --quiet --device "$device" --log "$model.log" -o "$model" 2>"$model.err" || return 1
    grep '"record":"metrics"' "$model.log" >"$model.metrics"
    [ -s "$model.metrics" ]
}
same() { # what, against a.model
    if cmp a.model b.model && cmp a.model.metrics b.model.metrics; then
        passed=$((passed + 1))
    else
        no "$1"
    fi
}

case $two in cuda*) runs='first second' ;; *) runs=first ;; esac
n=0
while IFS='|' read -r name data valid rest; do
    name=$(echo $name) n=$((n + 1))
    train "$one" a.model $data --valid $valid $rest || {
        no "$name: $one: $(head -n 3 a.model.err)"
        continue
    }
    [ "$(wc -c <a.model)" -gt 1000 ] || no "$name: a model of $(wc -c <a.model) bytes"
    for run in $runs; do
        if train "$two" b.model $data --valid $valid $rest; then
            same "$name: $one and $two differ, $run run"
        else
            no "$name: $two: $(head -n 3 b.model.err)"
        fi
    done
    case $two in cuda*) ;; *) continue ;; esac
    for method in lanes collision collision-free collision-reduced multi sort-search global-atomic; do
        if train "$two" b.model $data --valid $valid $rest --hist $method; then
            same "$name: $one and $two differ with --hist $method"
        elif ! grep -q "histogram method '$method'" b.model.err; then # what it cannot hold, it says
            no "$name: --hist $method: $(head -n 3 b.model.err)"
        fi
    done
done <configurations
[ "$n" -ge 24 ] || no "only $n configurations"
[ "$failed" = 0 ] && echo "ok same_bytes_cuda: $n configurations on $one and $two, $passed comparisons" ||
    no "$n configurations on $one and $two: $passed comparisons equal, $failed not"
[ "$failed" = 0 ]
