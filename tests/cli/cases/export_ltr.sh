# room: convert
# A model for a feature set of Elasticsearch's and OpenSearch's learning-to-rank plugin.
cat >train.txt <<'END'
2 qid:1 1:0.5 2:3 3:1
1 qid:1 1:0.25 2:-1 3:0
0 qid:1 1:0.125 2:2
0 qid:1 2:-3 3:1
2 qid:2 1:0.75 3:1
1 qid:2 1:0.5 2:5
0 qid:2 1:0.25 2:-2 3:2
0 qid:2 2:1
END
printf '%s\n' '1 body' '2 title' '3 age_of_page' >names.txt
"$RANKWOOD" train train.txt --rounds 2 --leaves 3 --min-docs 1 --quiet -o plain.model
"$RANKWOOD" train train.txt --rounds 2 --leaves 3 --min-docs 1 --names names.txt --quiet -o named.model
cp "$CLI_TESTS"/../golden/featureset/*.json .
for form in made source answer search; do
    "$RANKWOOD" export plain.model --to opensearch --featureset $form.json --name m -o $form.body
    say $form cmp -s made.body $form.body
done
cat made.body
try export plain.model --to opensearch --featureset answer.json --name m --verify train.txt -o plain.body
try export named.model --to elasticsearch --featureset answer.json --name m --verify train.txt -o named.body
grep -o 'split\\":\\"[a-z ]*' named.body | sort -u
try export plain.model --to opensearch --featureset answer.json --name m --feature-base auto -o plain.body
try export named.model --to opensearch --featureset answer.json --name m --feature-base auto -o named.body
try export plain.model --to lightgbm --feature-base auto --verify train.txt -o plain.lightgbm
try import plain.lightgbm --from lightgbm --feature-base auto -o back.model
"$RANKWOOD" predict plain.model train.txt -o scores
"$RANKWOOD" predict back.model train.txt -o back
say same cmp -s scores back

echo "== Solr"
cat >features.json <<'END'
[{"store": "shop", "name": "title", "class": "org.apache.solr.ltr.feature.SolrFeature", "params": {"q": "{!field f=title}${words}"}},
 {"store": "shop", "name": "unused", "class": "org.apache.solr.ltr.feature.OriginalScoreFeature", "params": {}},
 {"store": "shop", "name": "age of page", "class": "org.apache.solr.ltr.feature.FieldValueFeature", "params": {"field": "age"}},
 {"store": "shop", "name": "body", "class": "org.apache.solr.ltr.feature.SolrFeature", "params": {"q": "{!field f=body}${words}"}}]
END
for names in '' '--names names.txt'; do
    "$RANKWOOD" train train.txt --rounds 30 --leaves 4 --min-docs 1 --sample-features 1 --gain-noise 0 $names --quiet \
        -o "${names:+named.}all.model"
done
try export named.all.model --to solr --featureset features.json --name m-1 --verify train.txt -o named.solr
head -n 2 named.solr
# Without names, the first feature of the set is feature 1.
try export all.model --to solr --featureset features.json --verify train.txt -o plain.solr
head -n 2 plain.solr
try export named.all.model --to solr --name m-1 -o names.solr
head -n 2 names.solr
# Without names and a set, feature 1 is f1, and the file lists no feature 0.
try export all.model --to solr --verify train.txt -o ids.solr
head -n 2 ids.solr
"$RANKWOOD" import ids.solr --from solr --feature-base 1 -o ids.model
for model in all ids; do
    "$RANKWOOD" predict $model.model train.txt --quiet -o $model.scores
done
say 'imported: the same scores' cmp all.scores ids.scores
sed 's/shop", "name": "body"/other", "name": "body"/' features.json >stores.json
sed 's/"title", "class"/"other", "class"/' features.json >lacks.json
rm -f no.solr
try export named.all.model --to solr --featureset stores.json -o no.solr
try export named.all.model --to solr --featureset lacks.json -o no.solr
try export named.all.model --to solr --featureset made.json -o no.solr
try export named.model --to opensearch --featureset features.json --name m -o no.solr
try export named.model --to solr --name _OriginalRanking_ -o no.solr
try train train.txt --names names.txt --min-docs 1 --for solr --featureset lacks.json --quiet -o no.solr
say none test ! -e no.solr

echo "== without the plugin"
cat >queries.json <<'END'
{"learning_to_rank": {"default_params": {"words": ""}, "feature_extractors": [
  {"query_extractor": {"feature_name": "title", "query": {"match": {"title": "{{words}}"}}, "default_score": 0.5}},
  {"query_extractor": {"feature_name": "body", "query": {"match": {"body": "{{words}}"}}}},
  {"query_extractor": {"feature_name": "age of page", "query": {"match_all": {}}}}]}}
END
try export named.model --to elasticsearch-ml --featureset queries.json --name m-1 --verify train.txt -o ml.body
cat ml.body
try export plain.model --to elasticsearch-ml --featureset answer.json --name m-1 -o ml.body
try export plain.model --to elasticsearch-ml --featureset queries.json --name M -o x
try export plain.model --to elasticsearch-ml --name m -o x
try export plain.model --to opensearch --featureset queries.json --name m -o x
echo '{"features":[{"name":"body"},{"name":"title"},{"name":"age of page"}]}' >names.json
try export plain.model --to elasticsearch-ml --featureset names.json --name m -o x
try train train.txt --for elasticsearch-ml --featureset names.json --rounds 2 --leaves 3 --min-docs 1 --quiet -o y
say none test ! -e x -a ! -e y

echo "== wrong"
wrong() { # FILE.json
    try export plain.model --to opensearch --featureset "$1" --name m -o x
}
try export plain.model --to opensearch -o x
try export plain.model --to opensearch --featureset answer.json -o x
try export plain.model --to opensearch --featureset answer.json --name '' -o x
try export plain.model --to ranklib --featureset answer.json -o x
try export plain.model --to ranklib --name m -o x
try export named.model --to opensearch --featureset answer.json --name m --feature-base 1 -o x
try export plain.model --to opensearch --featureset answer.json --name m -o answer.json
head -c 100 answer.json >broken.json
wrong broken.json
echo '[]' >array.json
wrong array.json
echo '{"found":false}' >unknown.json
wrong unknown.json
echo '{"features":[]}' >empty.json
wrong empty.json
echo '{"features":[{"name":7}]}' >number.json
wrong number.json
echo '{"features":[{"name":"a"},{"name":"a"}]}' >twice.json
wrong twice.json
echo '{"features":[{"name":"body"}]}' >small.json
wrong small.json
try export named.model --to opensearch --featureset small.json --name m -o x
wrong nothing.json
wrong train.txt
say none test ! -e x

echo "== for"
sed 's/ 2:-[0-9]/ 2:nan/' train.txt >missing.txt
train() {
    try train "$@" --rounds 2 --leaves 3 --min-docs 1 --quiet -o y
}
train missing.txt --for ranklib
train missing.txt --for ranklib --ranks 2
train missing.txt --for ranklib --plan
train train.txt --for opensearch
train train.txt --for opensearch --featureset small.json
train train.txt --for opensearch --featureset broken.json
train train.txt --for opensearch --featureset answer.json --names /dev/stdin <<'END'
1 body
2 title
3 url
END
train train.txt --featureset answer.json
train train.txt --for ranklib --featureset answer.json
train train.txt --for ranklab
cat >odd.model <<'END'
rankwood model 1
absent zero
best-round 0

params 0

features 3
1-3

names 0

metrics 0 rounds 0

trees 1

tree 1 leaves 2
node 0 feature 2 <= 2 left leaf 0 right leaf 1 missing right gain 1
leaf 0 0.25
leaf 1 1

END
echo "checksum $(gzip -c odd.model | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')" >>odd.model
train train.txt --for ranklib --init odd.model
say none test ! -e y
train missing.txt --for lightgbm
train train.txt --for ranklib
train train.txt --for opensearch --featureset answer.json
