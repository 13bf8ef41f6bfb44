#!/bin/sh
# Every comparison with other trainers in one run: makes a Python environment with the newest LightGBM, XGBoost,
# CatBoost and scikit-learn, builds Rankwood if the program is missing, and prints all tables.
#
#   sh tests/peers/run.sh [--quick] [--parts LIST] [--like PATH] [--json FILE] [--python INTERPRETER]
#
# --quick    everything small, as a test of the scripts
# --parts    of train, load, predict (speed.py), latency, quality, formats, dialects, report, with commas; default: all
#            except latency, whose interpreter also needs the rankwood package
# --like     another generator, for train and quality (as of gpu.py)
# --json     every figure as a JSON record per line, in FILE (overwritten)
# --python   an interpreter that has the peers, in place of the environment; formats and dialects make
#            that all the same
# --threads  of training, with commas; 1 and all by default
#
# RANKWOOD_BUILD  the build; default build in the tree
# RANKWOOD_DATA   folder with real data sets, for quality; default ../shared/data, next to the tree
# Exit 1 if a part could not run, or models or metrics differ; missed bars are only shown.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
root=$(cd "$here/../.." && pwd) || exit 2
known="train load predict latency quality formats dialects report"
parts="train load predict quality formats dialects report" quick= like= json= python= threads=

usage() {
    sed -n '5,17s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 && shift && continue ;;
    --parts | --like | --json | --python | --threads) [ $# -ge 2 ] || usage ;;
    *) usage ;;
    esac
    case $1 in
    --parts) parts=$(printf '%s' "$2" | tr ',' ' ') ;;
    --like) like=$(realpath "$2") || exit 2 ;;
    --json) json=$(realpath "$2") || exit 2 ;;
    --python)
        python=$2
        case $2 in # not by realpath: an environment's interpreter is a link out of it
        */*) python=$(cd "$(dirname "$2")" && pwd)/$(basename "$2") ;;
        esac
        ;;
    --threads) threads=$2 ;;
    esac
    shift 2
done
for part in $parts; do
    case " $known " in
    *" $part "*) ;;
    *) echo "run.sh: expected parts of $known, not '$part'" >&2 && exit 2 ;;
    esac
done
wanted() {
    case " $parts " in *" $1 "*) return 0 ;; esac
    return 1
}

. "$here/built.sh"
venv=$root/build-peers
if [ -z "$python" ]; then
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv" || exit 1
    "$venv/bin/python" -m pip install -q --upgrade -r "$here/requirements.txt" || exit 1
    python=$venv/bin/python
fi
[ -z "$json" ] || : >"$json" || exit 1

failed=0
script() { # title, script of this folder, options...
    title=$1 name=$2
    shift 2
    printf '\n== %s\n' "$title"
    python3 "$here/$name" "$@" ${json:+--records "$json"} || {
        echo "run.sh: $name exits with $?" >&2
        failed=1
    }
}

speed=
for part in train load predict; do
    wanted "$part" && speed=${speed:+$speed,}$part
done
[ -z "$speed" ] || script "speed" speed.py --rankwood "$program" --library "$library" --parts "$speed" \
    --python "$python" ${quick:+--quick} ${like:+--like "$like"} \
    ${threads:+--threads "$threads"}
! wanted latency || script "latency" latency.py --rankwood "$program" --library "$library" \
    --python "$python" ${quick:+--quick}
if wanted quality; then
    sets=all
    [ -n "$like" ] || sets=mq2008,ohsumed,mslr-sample,synth-mslr30k,synth-yahoo,synth-istella
    set -- --peers --threads "$(nproc)" --sets "$sets"
    [ -z "$quick" ] || set -- --peers --sets mq2008,synth-mslr30k${like:+,like} --seeds 1 \
        --made-seeds 1 --scale 0.05 --rounds 10
    script "quality" quality.py --rankwood "$program" --library "$library" "$@" \
        --python "$python" ${like:+--like "$like"}
fi
! wanted formats || script "models out and in" formats.py --rankwood "$program" ${quick:+--docs 2000}
! wanted dialects || script "what metrics mean" dialects.py --program "$program"
! wanted report || script "the page of a report" report_page.py --rankwood "$program" --browser
exit "$failed"
