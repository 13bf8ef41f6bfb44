# room: io
# Standard input and output; one file or the same lines in three; text, gzip: all the same.
small_model
"$RANKWOOD" train - --rounds 5 --leaves 7 --quiet -o - <train.txt >stdin.txt
say train cmp model.txt stdin.txt
split -n l/3 train.txt part.
"$RANKWOOD" train part.aa part.ab part.ac --rounds 5 --leaves 7 --quiet -o parts.txt
say parts cmp model.txt parts.txt
gzip -k train.txt
"$RANKWOOD" train train.txt.gz --rounds 5 --leaves 7 --quiet -o gzip.txt
say gzip cmp model.txt gzip.txt
"$RANKWOOD" predict model.txt train.txt -o scores
"$RANKWOOD" predict model.txt - <train.txt.gz | cmp - scores
"$RANKWOOD" predict model.txt part.aa part.ab part.ac | cmp - scores
say lines test "$(wc -l <scores)" -eq "$(wc -l <train.txt)"
"$RANKWOOD" eval - --scores scores --ties mean <train.txt >a
"$RANKWOOD" eval train.txt --scores - --ties mean <scores >b
say eval cmp a b
"$RANKWOOD" bin train.txt -o train.rwb
"$RANKWOOD" train train.rwb --rounds 5 --leaves 7 --quiet -o cache.txt
say cache cmp model.txt cache.txt
touch real
ln -s real link
"$RANKWOOD" predict model.txt train.txt -o link
say link test -L link -a -s real
