# room: train
# long
# --rate A:B:N: the rate of a round depends only on its number.
small_data
train() {
    "$RANKWOOD" train train.txt --leaves 7 --min-docs 3 --quiet "$@"
}
train --rate 0.4:0.05:3 --rounds 6 -o whole
grep '^rate' whole
# The first tree is that of a plain rate A, and with N of 1 all others have B.
train --rate 0.4 --rounds 1 -o plain
leaves() {
    awk -v n="$2" '/^tree /{ t++ } t == n && /^leaf/' "$1"
}
say 'the first is A' test "$(leaves whole 1)" = "$(leaves plain 1)"
train --rate 0.2:0.2:4 --rounds 6 -o same
train --rate 0.2 --rounds 6 -o plain
say 'A:A:N is A' sh -c 'sed /^rate/d same >a; sed /^rate/d plain >b; sed -i /^checksum/d a b; cmp a b'
# A round's leaves are the gradients' means times its rate: a model of one tree more tells which it was.
for n in 1 2 3 4; do
    train --rate 0.4:0.05:3 --rounds $n -o before
    train --rate 0.4:0.05:3 --rounds 1 --init before -o one
    train --rate 0.8 --rounds 1 --init before -o other
    paste -d ' ' - - <<END | awk -v n=$n '{ printf "round %d: %.4f\n", n + 1, 0.8 * $3 / $10 }'
$(leaves one $((n + 1)) | head -n 1)
$(leaves other $((n + 1)) | head -n 1)
END
done
for device in ref sim; do
    train --rate 0.4:0.05:3 --rounds 6 --device $device -o other
    say "as $device" cmp whole other
done
train --rate 0.4:0.05:3 --rounds 6 --ranks 3 -o other
say 'as 3 ranks' cmp whole other
train --rate 0.4:0.05:3 --rounds 2 -o first --checkpoint ck
train --rate 0.4:0.05:3 --rounds 4 --init first -o other
say 'goes on from a model' cmp whole other
train --rate 0.4:0.05:3 --rounds 6 --resume ck -o other
say 'resumed' cmp whole other
train --rate 0.4:0.05:3 --rounds 6 --valid valid.txt.gz --early-stop 2 -o other
train --rate 0.4:0.05:3 --rounds "$(sed -n 's/^trees //p' other)" -o fewer
say 'stopped early' test "$(grep '^leaf' other | md5sum)" = "$(grep '^leaf' fewer | md5sum)"
train --rate 0.4,0.2,0.1,0.05 --rounds 6 -o listed
say 'a list is the same' sh -c 'sed "/^rate/d; /^checksum/d" whole >a; sed "/^rate/d; /^checksum/d" listed >b; cmp a b'
"$RANKWOOD" train train.txt --rate 0.4,0.2,0.1,0.05 --rounds 6 --print-config --quiet | grep '^rate' | tee config
train --config config --rounds 6 -o other
say 'of a file' cmp listed other
printf 'rate = 0.4:0.05:3\n' >config
train --config config --rounds 6 -o other
say 'of a file' cmp whole other
"$RANKWOOD" train train.txt --rate 0.40:5e-2:3 --rounds 6 --print-config --quiet | grep '^rate'
try train train.txt --rate 0.4:0.05:4 --rounds 6 --leaves 7 --min-docs 3 --resume ck --quiet -o no
for rate in 0.4:0.05 0.4:0.05:0 0.4:0.05:1000001 0.4:0.05:1.5 0.4:0.05:3:4 :0.05:3 0.4::3 0.4:0.05: 0.4:2:3 nan:0.05:3 auto:0.05:3 1:2 0.1, 0,1 0.1,,0.2 auto,0.1; do
    try train train.txt --rate $rate --quiet -o no
done
printf 'rate = auto 0.4:0.05:3\n' >config
try train train.txt --config config --quiet -o no
say none test ! -e no
