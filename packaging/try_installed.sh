#!/bin/sh
# Uses what is installed on this machine as strangers do: the program, the library by pkg-config, the Python package.
# Prints a line a test: ok or not ok.
#
#   sh packaging/try_installed.sh
set -u
source=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
failed=0
check() { # name command...
    name=$1
    shift
    if "$@" >log 2>&1; then
        echo "ok installed: $name"
    else
        echo "not ok installed: $name: $(tail -n 5 log)"
        failed=1
    fi
}
program() {
    rankwood --version && rankwood synth --shape letor --queries 60 --seed 1 -o train.txt &&
        rankwood synth --shape letor --queries 30 --seed 2 -o valid.txt && cp valid.txt test.txt &&
        rankwood train train.txt --valid valid.txt --rounds 5 --early-stop 0 --quiet -o model.txt &&
        rankwood predict model.txt test.txt -o scores
}
library() {
    gcc -std=c17 "$source/examples/quickstart.c" $(pkg-config --cflags --libs "$1") -o quickstart &&
        ./quickstart train.txt valid.txt test.txt other.txt
}
score() {
    printf '#include <rankwood_score.h>\nint main(void) { struct rw_ctx *c; struct rw_model *m;
return rw_ctx_new(&c) || rw_model_read(c, "model.txt", &m); }\n' >score.c
    gcc -std=c17 score.c $(pkg-config --cflags --libs rankwood-score) -o score && ./score
}
python() {
    python3 -c 'import numpy as np, rankwood
x = np.arange(40, dtype=np.float32).reshape(20, 2) % 7
model = rankwood.train({"rounds": 2, "min_docs": 1}, rankwood.Dataset(x, x[:, 0] > 3, qid=np.repeat([1, 2], 10)))
assert model.predict(x).std() > 0 and rankwood.Model.load("model.txt").n_trees == 5'
}
check 'the program trains and predicts' program
check 'man page' sh -c 'test -s /usr/share/man/man1/rankwood.1.gz || test -s /usr/local/share/man/man1/rankwood.1'
check 'a C program against librankwood' library rankwood
check 'a C program against librankwood-score' score
check 'the Python package trains' python
exit $failed
