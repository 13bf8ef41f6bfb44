# room: base
# Errors name the format of unsupported files: from standard input, inside gzip, for every command.
bad=$CLI_TESTS/../golden/bad
for name in letor.xz letor.zip letor.tar.gz xz.gz csv.gz bom.txt svmlight.txt table.parquet; do
    echo "\$ rankwood train - <$name"
    "$RANKWOOD" train - -o m <"$bad/$name" 2>&1
    echo "[$?]"
done
# The commands in the hints work.
for name in letor.tar.gz bom.txt utf16.txt; do
    cp "$bad/$name" .
    hint=$("$RANKWOOD" check $name 2>&1 | sed -n 's/^rankwood: hint: \(.*\) | rankwood \.\.\. -$/\1/p')
    echo "$hint | rankwood check -"
    sh -c "$hint" | "$RANKWOOD" check - | head -n 1
done
small_model
printf '1,1,0.5\n0,1,0.2\n' >table.txt
try predict model.txt table.txt
try eval table.txt --model model.txt
try train train.txt --valid table.txt -o m
try bin table.txt -o train.rwb
try check table.txt
try predict model.txt model.txt
try eval model.txt --model model.txt
