# room: model
# The contents of a model, and one of its trees.
small_model
"$RANKWOOD" info model.txt >info
grep -e '^trees' -e '^leaves' -e '^splits' info
"$RANKWOOD" info model.txt --json >json
say 'features counted' test "$(sed -n 's/^features *\([0-9]*\) in use/\1/p' info)" -eq "$(grep -c '"feature"' json)"
grep '  leaves ' info
say 'all leaves' test "$("$RANKWOOD" show model.txt --tree 5 | grep -c leaf)" -ge 7
"$RANKWOOD" show model.txt --tree 1 --dot | sed -n '1s/ .*//p;$p'
try show model.txt --tree 6
try info train.txt
try info nothing
try info .
# Of a model that went on: the parameters of each training, and which ones its size chose.
went_on=$CLI_TESTS/../golden/model/went_on.model
"$RANKWOOD" info "$went_on" 2>/dev/null | grep -e '^parameters' -e '^  rate' -e '^  leaves' -e '^  split '
"$RANKWOOD" info "$went_on" --json 2>/dev/null | sed -n '/"finished"/p; /"auto"/,/\]/p; /"trainings"/,/"objective"/p'
head -c 500 model.txt >cut.txt
"$RANKWOOD" info cut.txt
