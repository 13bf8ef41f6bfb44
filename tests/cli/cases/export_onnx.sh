# room: convert
# ONNX's two tree ensembles: written, verified, taken in again, refused.
small_model --absent missing
awk '{ for (i = 3; i <= NF; i++) if ((NR * 7 + i * 13) % 41 == 0) sub(/:.*/, ":nan", $i); print }' \
    train.txt >missing.txt
"$RANKWOOD" predict model.txt missing.txt -o scores
for format in onnx onnx5; do
    try export model.txt --to $format --verify missing.txt -o model.$format
    try import model.$format --from $format -o back.txt
    sed 's/^absent zero$/absent missing/; /^checksum/d' back.txt >body
    sum=$(gzip -c body | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')
    { cat body; echo "checksum $sum"; } >back.txt
    say "the same scores" eval '"$RANKWOOD" predict back.txt missing.txt | cmp - scores'
    head -c 400 model.$format >cut.$format
    try import cut.$format --from $format -o x
done
try import model.onnx --from onnx5 -o x
try import model.onnx5 --from onnx -o x
try import train.txt --from onnx -o x
say none test ! -e x
