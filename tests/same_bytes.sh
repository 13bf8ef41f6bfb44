#!/bin/sh
# Tests that the same data, parameters and seed give an identical model file, whatever the engine, the number of
# threads, the input format and the compiler. Every comparison is cmp. pin.py compares the results with pin.txt, so that
# every change of a model is deliberate.
#
#   [ALL=1] sh tests/same_bytes.sh BUILDS      builds its programs in BUILDS/bytes-*
#
# ALL=1: all configurations and all of pin.txt; otherwise those that tests/cover.py chooses.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1" && builds=$(cd "$1" && pwd) || exit 2
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
unset CFLAGS LDFLAGS CC 2>/dev/null
export LC_ALL=C
failed=0

no() {
    echo "not ok same_bytes: $*"
    failed=1
}

# --- builds: only the program
build() { # name compiler options...; sets $program
    name=$1 compiler=$2
    shift 2
    again=
    [ -f "$builds/bytes-$name/build.ninja" ] && again=--reconfigure
    program=$builds/bytes-$name/src/cli/rankwood
    CC=$compiler meson setup $again "$builds/bytes-$name" "$root" -Dtests=disabled -Dcuda=disabled \
        "$@" >"$builds/bytes-$name.log" 2>&1 &&
        ninja -C "$builds/bytes-$name" src/cli/rankwood >>"$builds/bytes-$name.log" 2>&1
}
base=$builds/release/src/cli/rankwood # of run.sh, by gcc -O3
if [ ! -x "$base" ]; then
    build gcc-O3 gcc --buildtype=release || {
        tail -n 30 "$builds/bytes-gcc-O3.log"
        no "gcc -O3 does not build"
        exit 1
    }
    base=$program
fi

# --- data: two shapes, one narrow and dense, one wide with absent features
"$base" synth --shape letor --queries 150 --seed 7 -o train.txt &&
    "$base" synth --shape letor --queries 60 --seed 8 -o valid.txt &&
    "$base" synth --shape istella --queries 12 --seed 9 -o wide.txt &&
    "$base" synth --shape mslr30k --queries 20 --seed 10 -o mid.txt || {
    no "synth fails"
    exit 1
}

# Five runs that between them use every part of training that could depend on order.
run_of() { # name -> arguments after the training data
    case $1 in
    mart) echo "--valid valid.txt --rounds 20 --min-docs 5" ;;
    newton) echo "--valid valid.txt --rounds 12 --split newton --grow levels --depth 6 --min-docs 3 --bits 12
        --rounding nearest --sample-queries 0.7 --sample-features 0.6 --absent missing --bins 1024
        --truncation none --norm off" ;;
    wide) echo "--rounds 8 --leaves 63 --min-docs 2 --absent missing --label-gain linear" ;;
    yeti) echo "--objective yetirank --valid valid.txt --rounds 10 --min-docs 3 --split newton --leaves 15
        --sample-queries 0.8" ;;
    residual) echo "--objective regression --rounds 10 --split newton --bins 16 --l2 1 --seed 5 --metric rmse --train-metric on" ;;
    esac
}
data_of() {
    case $1 in
    wide) echo wide.txt ;;
    residual) echo mid.txt ;;
    *) echo train.txt ;;
    esac
}
train() { # program run data model options...
    one=$1 run=$2 input=$3 model=$4
    shift 4
    rm -f "$model"
    "$one" train $input $(run_of "$run") --quiet -o "$model" "$@" 2>"$model.err" || {
        echo "train $run $*: $(head -n 3 "$model.err")"
        return 1
    }
}
same() { # what model: compares it with the first one of the same run
    run=$1 what=$2 model=$3
    if cmp "$run.model" "$model"; then
        echo "ok same_bytes: $run: $what"
    else
        no "$run: $what"
    fi
}

for run in mart newton wide residual yeti; do
    train "$base" "$run" "$(data_of "$run")" "$run.model" --device cpu --threads 1 || {
        no "$run does not train"
        exit 1
    }
    [ "$(wc -c <"$run.model")" -gt 1000 ] || no "$run: a model of $(wc -c <"$run.model") bytes"
done
cmp -s mart.model newton.model && no "two different runs give one model: nothing is compared"

# --- tests/pin.txt: engines, threads, instruction sets, input formats, and the output of all commands
quick=--quick cover=1
[ -z "${ALL:-}" ] || quick= cover=
if python3 "$root/tests/pin.py" "$base" $quick >pin; then
    echo "ok same_bytes: $(tail -n 1 pin)"
else
    cat pin
    no "$(tail -n 1 pin): if models are meant to change, write tests/pin.txt again and say so"
fi

# --- many configurations by several workers (of devices, on a GPU machine: same_bytes_cuda.sh)
EACH=1 COVER=$cover MPI_RANKS=2 RANKWOOD_COMM_MPI="$builds/release/src/rankwood_comm_mpi.so" \
    sh "$root/tests/same_bytes_workers.sh" "$base" && echo "ok same_bytes: configurations of many ranks" ||
    no "configurations of many ranks"

# --- real data, raw values of many kinds
real=${RANKWOOD_DATA:-$root/../shared/data}/mslr-sample
run_of_real="--valid $real/vali.txt.gz --rounds 10 --early-stop 0 --absent missing"
if [ -f "$real/train.txt.gz" ]; then
    for way in 'cpu 1' 'cpu 7' 'ref 2'; do
        set -- $way
        if "$base" train "$real/train.txt.gz" $run_of_real --quiet --device "$1" --threads "$2" \
            -o "real.$1$2" 2>real.err; then
            if cmp real.cpu1 "real.$1$2"; then
                echo "ok same_bytes: real data: --device $1, $2 threads"
            else
                no "real data: --device $1, $2 threads"
            fi
        else
            no "real data: --device $1, $2 threads: fails: $(head -n 3 real.err)"
        fi
    done
else
    echo "skip same_bytes: real data: no '$real'"
fi

# --- compilers: models, inputs and exports
"$base" predict mart.model valid.txt -o scores 2>/dev/null || no "predict fails"
same_program() { # name; of $program
    for run in mart newton wide residual yeti; do
        if train "$program" "$run" "$(data_of "$run")" other --threads 2 --device cpu; then
            same "$run" "$1" other
        else
            no "$run: $1: fails"
        fi
    done
    "$program" synth --shape istella --queries 12 --seed 9 -o other.txt && cmp other.txt wide.txt &&
        echo "ok same_bytes: synth: $1" || no "synth: $1"
    "$program" predict mart.model valid.txt -o other.scores 2>/dev/null && cmp scores other.scores &&
        echo "ok same_bytes: predict: $1" || no "predict: $1"
}
# run.sh has programs by other compilers and of other optimisation already; tests/long.sh, which gives a folder without
# them, has all of these built.
for way in 'gcc-O0 gcc -Doptimization=0' 'gcc-native gcc --buildtype=release -Dc_args=-march=native' \
    'clang-native clang --buildtype=release -Dc_args=-march=native'; do
    set -- $way
    name=$1
    if ! command -v "$2" >/dev/null 2>&1; then
        echo "skip same_bytes: $name: no $2 here"
        continue
    fi
    program=
    case $name in
    gcc-O0) [ ! -d "$builds/release" ] || continue ;;
    gcc-native) program=$builds/threads/src/cli/rankwood built="gcc-O1-native, under ThreadSanitizer" ;;
    clang-native)
        [ ! -e "$builds/sanitizers/built" ] || program=$builds/sanitizers/src/cli/rankwood
        built="clang-O1-native, under AddressSanitizer"
        ;;
    esac
    # (ThreadSanitizer does not start everywhere, and without clang gcc makes the build with AddressSanitizer.)
    if [ -x "$program" ] && "$program" --version 2>/dev/null | grep -q "^build: .* by ${name%-*} "; then
        same_program "$built"
    elif build "$@"; then
        same_program "$name"
    else
        tail -n 30 "$builds/bytes-$name.log"
        no "$name does not build"
    fi
done

# --- another processor, emulated
arm=aarch64-linux-gnu
if ! command -v $arm-gcc >/dev/null 2>&1 || ! command -v qemu-aarch64-static >/dev/null 2>&1 ||
    [ ! -e /usr/lib/$arm/libjansson.so ]; then
    echo "skip same_bytes: aarch64: no compiler, libraries or QEMU for it here (tests/aarch64.ini names them)"
elif build aarch64 $arm-gcc --buildtype=release --cross-file "$root/tests/aarch64.ini" -Dmpi=disabled; then
    printf '#!/bin/sh\nexec qemu-aarch64-static "%s" "$@"\n' "$program" >emulated
    chmod +x emulated
    program=./emulated
    same_program aarch64
else
    tail -n 30 "$builds/bytes-aarch64.log"
    no "aarch64 does not build"
fi
exit "$failed"
