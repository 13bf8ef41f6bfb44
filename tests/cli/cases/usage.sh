# Wrong usage: the error, a reference to the help, exit status 2, and no output file.
echo '1 qid:1 1:1' >a.txt
try trian
try evaluate a.txt
try Train a.txt
try --frob
try help nothing
try train
try train a.txt
try train a.txt -o
try train a.txt --leaves
try train a.txt --leaves= -o m
try train a.txt -o ''
try train '' -o m
try train --quiet=1 a.txt -o m
try train a.txt -o m -o n
try train a.txt -o m --leaves 3 --leaves 3
try train a.txt -o=m
try train a.txt -o m -x
try train a.txt -o m -leaves 3
try train a.txt -o m --lea 3
try train a.txt -o m --num_leaves 31
try train a.txt -o m --eta=0.1
try train a.txt -o m --n_estimators 100
try train a.txt -o m --laeves 31
try train a.txt -o m --valid_data a.txt
try train a.txt -o m --frobnicate 1
try train a.txt -o m --quiet --verbose
try train - --valid - -o m
try train a.txt --valid a.txt,, -o m
try train a.txt -o a.txt
try train a.txt --valid a.txt --log a.txt -o m
try train a.txt --log m -o m
try bin a.txt
try bin a.txt -o a.txt
try bin a.txt --leaves 3 -o b
try bin -o b
try export m --to XGBoost -o b
try synth
try synth --shape letor --queries 0 -o b
try synth --shape letor --queries 1e3 -o b
try synth --shape letor --queries 10 --seed -1 -o b
try synth --shape letr --queries 10 -o b
try synth --shape letor --queries 10 -o b more
try predict m
try predict - - -o b
try eval a.txt
try eval --model m
try eval a.txt --model m --scores s
try eval a.txt --model m --leaves 3
try eval a.txt --scores a.txt --per-query a.txt
try eval - --scores -
try info
try info a b
try info --all --json a
try show a
try show a --tree 0
try show a --tree one
ls
try predict m a.txt --leaf-ids --trec -
try show --help
