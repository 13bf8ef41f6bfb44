# Scores and figures are the same on every device; a missing one is an error with exit 1.
small_model
"$RANKWOOD" predict model.txt valid.txt.gz -o scores
"$RANKWOOD" eval valid.txt.gz --model model.txt --json --quiet >figures 2>/dev/null
same() {
    "$RANKWOOD" predict model.txt valid.txt.gz --device "$1" --quiet -o scores.1 &&
        "$RANKWOOD" eval valid.txt.gz --model model.txt --json --device "$1" --quiet >figures.1 2>/dev/null &&
        cmp scores scores.1 && cmp figures figures.1
}
# The error of each command on a machine without that device.
refused() {
    "$RANKWOOD" "$@" >out 2>err
    [ $? -eq 1 ] && [ ! -s out ] && [ "$(grep -c '^rankwood: error: ' err)" -eq 1 ] && ! grep -qv '^rankwood: [eh]' err
}
same_or_refused() {
    rm -f scores.1
    if "$RANKWOOD" predict model.txt train.txt --device "$1" >/dev/null 2>&1; then
        same "$1"
    else
        refused predict model.txt valid.txt.gz -o scores.1 --device "$1" && [ ! -e scores.1 ] &&
            refused eval valid.txt.gz --model model.txt --device "$1"
    fi
}
say cpu same cpu
say auto same auto
say cuda same_or_refused cuda
say cuda:255 refused predict model.txt valid.txt.gz --device cuda:255
echo 'device = cpu' >config
"$RANKWOOD" predict model.txt valid.txt.gz --config config | cmp - scores
try predict model.txt valid.txt.gz --device sim
try predict model.txt valid.txt.gz --device gpu
try predict model.txt valid.txt.gz --leaf-ids --device cuda
try predict model.txt valid.txt.gz --leaf-ids --device cpu -o leaves
try eval --strict valid.txt.gz --scores scores --device cpu
# A missing device is reported before data are read.
before_data() {
    "$RANKWOOD" "$@" --device cuda:255 2>&1 | head -n 1 | grep -q "device cuda:255; this\|no GPU can be used: \|built without CUDA"
}
say 'train' before_data train nothing -o m
say 'cv' before_data cv nothing --folds 3 -o folder
say 'eval' before_data eval nothing --model nothing
