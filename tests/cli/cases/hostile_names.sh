# room: report
# Names of features and words of categories that are markup, code, commands or lines of their own: in pages, drawings,
# exports and messages they are text, and nothing else.
command -v python3 >/dev/null || {
    echo 'needs Python to read what is written' >&2
    exit 77
}
cat >body <<'MODEL'
rankwood model 4
absent missing
best-round 0
finished yes
empty-rounds 0

params 0

earlier 0

features 8
1-8

names 8
1 </script><script>alert(1)</script>
2 "double" 'single' \\ back\\" slash
3 first\x0asecond\x0d\x09third
4 $(touch pwned) `touch pwned`; touch pwned & touch pwned
5 */ int pwned = 1; /* \\
6 ]]> <!-- --> &amp; &lt; <?php ?> %s%n%d
7 ??/ "]; pwned [label="<b>" //
8 colour <b>

categories 1
feature 8 words 3
category "*/ ]]> $(touch pwned) \\" &quot;
category </script><script>alert(2)</script>
category red

metrics 0 rounds 0

trees 2

tree 1 leaves 8
MODEL
# A chain: each feature once.
set -- '</script><script>alert(1)</script>' "\"double\" 'single' \\\\ back\\\\\" slash" 'first\x0asecond\x0d\x09third' \
    '$(touch pwned) `touch pwned`; touch pwned & touch pwned' '*/ int pwned = 1; /* \\' \
    ']]> <!-- --> &amp; &lt; <?php ?> %s%n%d' '??/ "]; pwned [label="<b>" //'
n=0
for name; do
    printf 'node %d feature %d <= 0.5 left leaf %d right %s missing left gain 1 # %s\n' $n $((n + 1)) $n \
        "$([ $n -lt 6 ] && echo "node $((n + 1))" || echo 'leaf 7')" "$name" >>body
    n=$((n + 1))
done
for leaf in 0 1 2 3 4 5 6 7; do echo "leaf $leaf 0.$leaf"; done | sed 's/0\.0$/0/' >>body
cat >>body <<'MODEL'

tree 2 leaves 2
node 0 feature 8 in 0-1 left leaf 0 right leaf 1 missing right gain 1 # colour <b>
leaf 0 0.5
leaf 1 -0.5

MODEL
sum() { # BODY: with its checksum
    cat "$1"
    echo "checksum $(gzip -c "$1" | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')"
}
sum body >words.model
# The same without words, which most formats do not take.
sed '1s/4/2/; /^categories/,/^category red/d; /^trees/s/2/1/; /^tree 2/,$d' body | cat -s >plain
sum plain >plain.model
# And without control characters, which JSON and XML readers differ about.
sed 's/first.x0asecond.x0d.x09third/third/' plain >printable
sum printable >printable.model
"$RANKWOOD" info plain.model >info && "$RANKWOOD" info words.model >>info || exit 1
say 'no line of a name alone' test "$(grep -c '^second\|^.third' info)" -eq 0
awk 'BEGIN { for (i = 0; i < 60; i++) { line = i % 3 " qid:" int(i / 6); for (f = 1; f <= 8; f++) line = line " " f ":" (f < 8 ? ((i * (f + 2)) % 7) / 7 : i % 4); print line " # docid = <script>" i } }' >docs.txt

for model in plain printable words; do
    "$RANKWOOD" report $model.model --valid docs.txt --trees 2 -o $model.html --quiet 2>/dev/null || echo "no report of $model"
    "$RANKWOOD" explain $model.model docs.txt --repeats 1 -o $model.explain 2>/dev/null || echo "explain: $?"
    "$RANKWOOD" explain $model.model docs.txt --json -o $model.explain.json 2>/dev/null || echo "explain --json: $?"
    "$RANKWOOD" info --json $model.model >$model.info.json
    "$RANKWOOD" show $model.model --tree 1 --dot >$model.dot
    for format in ranklib quickrank lightgbm xgboost xgboost-ubj xgboost-dump eslr-raw vespa c onnx onnx5 solr catboost pmml; do
        "$RANKWOOD" export $model.model --to $format -o $model.$format 2>said
        echo "$model to $format: $?"
    done
done
for compiler in gcc clang; do
    command -v $compiler >/dev/null || compiler=cc
    for model in plain words; do
        cp $model.c code.c && say "$model as C" $compiler -std=c99 -Wall -Wextra -Wpedantic -Werror -c code.c -o code.o
    done
done
say 'no name in C is defined' eval '! nm code.o | grep pwned'
if command -v dot >/dev/null; then
    say 'dot reads it' eval 'dot -Tplain plain.dot | grep -c "^node" | grep -qx 15'
else
    echo 'dot reads it: yes'
fi
cat >read.py <<'PYTHON'
import glob, html.parser, json, re, sys, xml.etree.ElementTree

SCRIPT = "</script><script>alert(1)</script>"


class Page(html.parser.HTMLParser):
    texts, tags = "", set()

    def handle_data(self, data):
        self.texts += data

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs), attrs


def strings(value):
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, str):
        yield value


for path in sorted(glob.glob("*.html")):
    page = Page()
    page.feed(open(path, encoding="utf-8").read())
    page.close()
    print(path, "script" in page.tags, SCRIPT in page.texts, "<!-- -->" in page.texts)
for path in sorted(glob.glob("*.pmml")):
    root = xml.etree.ElementTree.parse(path).getroot()
    names = [one.get("name") for one in root.iter() if one.tag.endswith("DataField")]
    print(path, SCRIPT in names, any("]]>" in (name or "") for name in names))
for path in sorted(glob.glob("*.json") + glob.glob("*.xgboost") + glob.glob("*.xgboost-dump") + glob.glob("*.solr")
                   + glob.glob("*.vespa") + glob.glob("*.catboost") + glob.glob("*.eslr-raw")):
    print(path, SCRIPT in strings(json.load(open(path, encoding="utf-8"))))
for path in sorted(glob.glob("*.dot")):
    text = open(path, encoding="utf-8").read()
    bare = re.sub(r'"(\\.|[^"\\])*"', '""', text)  # the line without its strings
    print(path, "pwned" in bare, "script" in bare, text.count("\n"))
PYTHON
python3 read.py
say 'no command was run' test ! -e pwned
