# Every command that prints results prints them as text, JSON, CSV and LaTeX. JSON parses; CSV has the columns named
# below, in rows of one width; LaTeX has as many cells in each row as in the tabular's head, and no bare special character.
command -v python3 >/dev/null || { echo "needs python3" >&2; exit 77; }
export CUDA_VISIBLE_DEVICES=-1
small_model
"$RANKWOOD" train train.txt --rounds 2 --leaves 3 --quiet -o 'we_ak&,"$.txt'
"$RANKWOOD" calibrate model.txt valid.txt.gz -o cal.txt --quiet >out
printf 'q_1 0 a 1\nq_1 0 b 0\n' >qrels
printf 'q_1 Q0 b 1 2.0 t\nq_1 Q0 a 2 1.0 t\n' >run_1
cat >read.py <<'END'
import csv, json, re, sys
json.load(open("json", encoding="utf-8"))
rows = list(csv.reader(open("csv", newline="", encoding="utf-8")))
print("  " + ",".join(rows[0]), "+" if len(rows) > 1 else "and no rows")
assert len({len(row) for row in rows}) == 1, "rows of several widths"
width = None
for line in open("latex", encoding="utf-8"):
    line = line.rstrip("\n")
    begin = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", line)
    if begin:
        width = len(begin[1])
    elif line == r"\end{tabular}":
        width = None
    elif line == r"\hline":
        assert width, line
    elif width:
        assert line.endswith(r" \\"), line
        cells = line[:-3].split(" & ")
        assert len(cells) == width, (width, line)
        for cell in cells:
            bare = re.sub(r"\\text[a-z]+\{\}|\\[&%$#_{}]|\\[~^]\{\}|\$\^\{\*+\}\$", "", cell)
            assert not re.search(r"[&%$#_{}~^\\<>|]", bare), line
    else:
        assert width is None and (not line or line.startswith("%")), line
assert "\\begin{tabular}" in open("latex", encoding="utf-8").read(), "no table"
END
each() {
    echo "$1"
    for format in text json csv latex; do
        rm -rf new
        eval "\"\$RANKWOOD\" $1 --format $format" >$format 2>err || { echo "exit $?"; cat err; }
    done
    [ -s text ] || echo 'no text'
    python3 read.py
    rm -rf new
    eval "\"\$RANKWOOD\" $1 --json" 2>err | cmp - json
}
each 'eval valid.txt.gz --model "we_ak&,\"\$.txt" --metric ndcg@10,map'
each 'eval valid.txt.gz --model model.txt --audit'
each 'eval --qrels qrels --run run_1'
each 'compare valid.txt.gz --a "we_ak&,\"\$.txt" --b model.txt --metric ndcg@10,map'
each 'compare valid.txt.gz --baseline "we_ak&,\"\$.txt" model.txt --metric ndcg@10,map'
each 'cv train.txt --folds 3 --rounds 3 -o new --metric ndcg@10,p@5'
each 'select train.txt --valid valid.txt.gz --rounds 2 --leaves 3 --loss 1 --repeats 1'
each 'prune model.txt valid.txt.gz -o new'
each 'calibrate model.txt valid.txt.gz -o new'
each 'check train.txt --against valid.txt.gz'
each 'info cal.txt'
each 'show model.txt --tree 1'
each 'show cal.txt --calibration'
each 'explain model.txt valid.txt.gz'
each 'explain model.txt valid.txt.gz --query 60000001 --doc 1 --doc 2'
each 'explain model.txt valid.txt.gz --query 60000001 --doc 1'
each 'export model.txt --to xgboost --verify valid.txt.gz -o new'
# Of these the times differ.
for command in 'bench predict --quick' 'doctor' 'train train.txt --plan --leaves 7 --rounds 3'; do
    echo "$command"
    for format in json csv latex; do
        eval "\"\$RANKWOOD\" $command --format $format" >$format 2>err || cat err
    done
    python3 read.py
done
"$RANKWOOD" explain model.txt valid.txt.gz --documents --format csv | head -n 1 | cut -c 1-24
try explain model.txt valid.txt.gz --documents --format latex
try explain model.txt valid.txt.gz --top 3 --format csv
try info model.txt --all --format csv
try show model.txt --tree 1 --dot --format csv
try export model.txt --to xgboost -o new --json
try info model.txt --format html
try info model.txt --format csv --json
try train train.txt --format csv --quiet -o new
