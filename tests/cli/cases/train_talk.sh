# What train says, to whom, and how much.
small_data
"$RANKWOOD" train train.txt --valid valid.txt.gz --rounds 2 --leaves 4 --train-metric on -o m
"$RANKWOOD" train train.txt --rounds 2 --leaves 4 --quiet -o m
"$RANKWOOD" train train.txt --valid valid.txt.gz --valid valid.txt.gz,train.txt --rounds 1 -o m
"$RANKWOOD" train train.txt --rounds 1 --verbose -o m
