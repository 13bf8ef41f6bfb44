#!/bin/sh
# Learns from the click log of a day, and deploys the new model if it is not worse than the one in service.
#
#   daily.sh start DAY      train on this day alone and deploy without a comparison: the first model, or a new beginning
#   daily.sh run DAY        train on the last good days and deploy, or keep the model in service and name the reason
#   daily.sh rollback DAY   put the model before that of DAY in service
#
# Days are names that sort by time, such as 2026-11-29. A run may be killed at any moment and repeated: the model in
# service is always complete and verified. Each call prints one line, and keeps it in STORE/days/DAY. Needs flock.
# Exit codes: 0 done; 2 wrong usage or setting; 3 failed, try again; 4 refused, the model in service stays.
set -u
export LC_ALL=C
# DAY/clicks.tsv has the columns session, query, document, position and click (0 or 1). DAY/features.tsv has a header:
# query, document, and the names of the features.
logs=${LOGS:-logs}
store=${STORE:-store} # the files of this job
server=${SERVER:-sh $(dirname "$0")/server.sh}
rankwood=${RANKWOOD:-rankwood}
train=${TRAIN:---rounds 100}   # options of 'rankwood train'
export=${EXPORT:---to c}       # options of 'rankwood export'
window=${WINDOW:-7}            # number of good days to train on
min_clicks=${MIN_CLICKS:-1000} # a day with fewer is refused
max_drift=${MAX_DRIFT:-ks=.25} # a day with more drift is refused: see docs/how-to/drift.md
margin=${MARGIN:-.01}          # loss of NDCG@10 that the comparison must rule out
tab=$(printf '\t') table='--label-column grade --qid-column query'

say() { # replaces the line of the day, and prints it
    echo "$day $*" >"$store/days.new" && mv -f "$store/days.new" "$store/days/$day" && echo "$day $*" >&3
}
finish() { # exit code, outcome
    code=$1 && shift
    say "$*$again" || exit 3
    exit "$code"
}
refuse() { finish 4 "refused: $*"; }
wrong() { echo "$day failed: $*" >&3 && exit 2; } # a wrong call: the line of the day stays
step() { # name, command: ends the run with the command's error if it fails
    name=$1 && shift
    "$@" 2>"$store/errors"
    code=$?
    cat "$store/errors" >&2
    [ $code != 0 ] || return 0
    reason="$name: $({ grep error: "$store/errors" || head -n 1 "$store/errors"; } |
        sed "s/.*error: //; s|$work/||g" | paste -s -d '|' - | sed 's/|/; /g')"
    case "$1 $code" in
    "$rankwood 1" | "$rankwood 4") refuse "$reason" ;;
    "$rankwood 2") finish 2 "failed: $reason" ;;
    *) finish 3 "failed: $reason (exit code $code)" ;;
    esac
}
names() { head -n 1 "$1" | cut -f 3- | tr '\t' '\n'; }                  # the features of a table
added() { names "$1" | grep -vxF -e "$(names "$2")" | paste -s -d , -; } # those that the second table lacks
labelled() { # table, days: grade, query and features of each document with enough clicks on these days
    table_to=$1 && shift
    step judge "$rankwood" judge $(printf "$logs/%s/clicks.tsv " "$@") --quiet -o "$work/labels.tsv" >"$work/judged.txt"
    step join awk -F '\t' 'NR == FNR { if (FNR > 1) grade[$1, $2] = $3; next }
        ($1, $2) in grade { row[$1, $2] = grade[$1, $2] "\t" $1 "\t" substr($0, length($1 $2) + 3) }
        END { for (pair in row) print row[pair] }' \
        "$work/labels.tsv" $(printf "$logs/%s/features.tsv " "$@") >"$work/rows.tsv"
    { echo "$header" && sort -t "$tab" -k 2,2 -k 3 "$work/rows.tsv"; } >"$table_to" || exit 3
}
on_server() { $server fetch "$1" 2>/dev/null | cmp -s - "$store/models/$1/exported"; }
deploy() { # name: stores the model on the server, and puts it in service if the server's copy is complete
    on_server "$1" || step upload $server upload "$store/models/$1/exported" "$1"
    on_server "$1" || finish 3 "failed: upload: the server's copy of $1 differs"
    step switch $server switch "$1" 9>&-
}
deployed() { # ends with the gain and the churn that the comparison printed
    finish 0 "deployed$(awk '$1 == "\"difference\":" { printf ": ndcg@10 %+.6f", $2 }
        $1 == "\"changed_first\":" { printf ", the first result changes in %.2f %% of all queries", 100 * $2 }' \
        "$store/models/$day/compared.json" 2>/dev/null)"
}
usage() { sed -n '4,6s/^# *//p' "$0" >&2 && exit 2; }
command=${1-} day=${2-} again=''
case "$# $command" in '2 start' | '2 run' | '2 rollback') ;; *) usage ;; esac
case $day in '' | [!A-Za-z0-9]* | *[!A-Za-z0-9._-]*) usage ;; esac
exec 3>&1
case $window$min_clicks in *[!0-9]*) wrong "WINDOW and MIN_CLICKS are whole numbers" ;; esac
mkdir -p "$store/days" "$store/good" "$store/models" && store=$(cd "$store" && pwd) && exec 9>"$store/lock" || exit 3
work=$store/work
flock -n 9 || { echo "$day failed: another run is in progress" >&2; exit 3; }
said=$(cat "$store/days/$day" 2>/dev/null)
[ "$said" != "$day started" ] || again=' (started again after an interruption)'
current=$($server current) || finish 3 "failed: the server does not answer"

if [ "$command" = rollback ]; then
    previous=$(cat "$store/models/$day/previous" 2>/dev/null)
    [ -n "$previous" ] || wrong "the day has no model, or no model was in service before"
    if [ "$current" = "$day" ]; then
        touch "$store/models/$day/rolled-back" || exit 3
        deploy "$previous"
    elif [ ! -e "$store/models/$day/rolled-back" ]; then
        wrong "nothing to roll back; $current is in service"
    fi
    finish 0 "rolled back to $previous"
fi
if [ "$current" = "$day" ]; then
    case $said in "$day deployed"*) echo "$said" && exit 0 ;; esac
    deployed
fi
[ ! -e "$store/models/$day/rolled-back" ] || refuse "it was rolled back; to try again, remove models/$day in the store"
expr "x$current" \< "x$day" >/dev/null || refuse "the model of a later day is in service: $current"
say "started" 3>/dev/null || exit 3
old=$store/models/$current
[ "$command" = start ] || [ -e "$old/model.txt" ] ||
    finish 2 "failed: no model of this job is in service; 'daily.sh start' deploys the first"
rm -rf "$work" "$store/good/$day" && mkdir "$work" || exit 3

# The log, its features, and labels from the clicks of the last good days
clicks=$logs/$day/clicks.tsv features=$logs/$day/features.tsv
for file in "$clicks" "$features"; do
    [ -f "$file" ] || finish 3 "failed: no file '$file'"
    [ -s "$file" ] || refuse "'$file' is empty"
done
if [ "$command" = run ] && [ "$(names "$features")" != "$(names "$old/train.tsv")" ]; then
    new=$(added "$features" "$old/train.tsv") gone=$(added "$old/train.tsv" "$features")
    [ -n "$new$gone" ] || refuse "the features have another order"
    refuse "features:${new:+ new: $new}${gone:+ missing: $gone}"
fi
set -- $(awk -F '\t' 'NR == FNR { known[$1, $2]; next }
    { shown++; clicked += $5 == 1; lost += !(($2, $3) in known) }
    END { print clicked + 0, shown + 0, lost + 0 }' "$features" "$clicks")
[ "$1" -ge "$min_clicks" ] || refuse "$1 clicks, fewer than $min_clicks"
[ "$3" -le $(($2 / 10)) ] || refuse "$3 of $2 displayed documents have no features"

# The day is good if its features, labels and scores are distributed as on the day of the model in service.
header="grade${tab}query${tab}$(names "$features" | paste -s -)"
labelled "$work/day.tsv" "$day"
if [ "$command" = run ]; then
    step drift "$rankwood" check "$work/day.tsv" --against "$old/day.tsv" --model "$old/model.txt" $table --quiet \
        --fail-above "$max_drift" >"$work/drift.txt"
fi
days=$(ls "$store/good" | awk -v day="$day" '$0 < day' | tail -n "$window")
[ "$command" = run ] || { rm -f "$store"/good/* && days=$day; }
touch "$store/good/$day" || exit 3
[ -n "$days" ] || refuse "no good day before this one"

# The new model learns from the good days before this one, so that neither model has seen the clicks that compare them.
labelled "$work/train.tsv" $days
step train "$rankwood" train "$work/train.tsv" $table $train --quiet -o "$work/model.txt" >"$work/trained.txt"
cmp -s "$work/model.txt" "$old/model.txt" && finish 0 "kept: the new model is identical to the one in service"
if [ "$command" = run ]; then
    step compare "$rankwood" compare "$work/day.tsv" $table --a "$old/model.txt" --b "$work/model.txt" \
        --json --fail-below "-$margin" >"$work/compared.json"
fi
step export "$rankwood" export "$work/model.txt" $export --verify "$work/day.tsv" $table -o "$work/exported" \
    >"$work/verified.txt"

# The folder of the model appears complete, then its copy on the server, and only then is it in service.
echo "$current" >"$work/previous" && rm -rf "$store/models/$day" && mv "$work" "$store/models/$day" || exit 3
deploy "$day"
deployed
