"""How other programs score the files that `rankwood export` writes, a few lines a program, written from their
sources and apart from Rankwood's code. A document is {feature id: value}, values being floats (NaN: missing); a
feature that is not in it is absent. Standard library only."""
import json
import math
import re
import struct
import xml.etree.ElementTree

NAN = float("nan")


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def add32(values):
    total = 0.0
    for value in values:
        total = f32(total + value)
    return total


class Trees:
    """Nested (leaf value,) or (feature, threshold, how missing, left, right); at a split by categories the
    threshold is a frozenset of them."""

    def __init__(self, trees, goes_left, add):
        self.trees, self.goes_left, self.add = trees, goes_left, add

    def leaves(self, doc):
        out = []
        for tree in self.trees:
            while len(tree) > 1:
                tree = tree[3] if self.goes_left(doc, *tree[:3]) else tree[4]
            out.append(tree[0])
        return out

    def score(self, doc):
        return self.add(self.leaves(doc))


# ---------------------------------------------------------------- RankLib, QuickRank: XML


def xml_split(element, number):
    output = element.find("output")
    if output is not None:
        return (number(output.text),)
    children = list(element)  # RankLib takes them by position
    assert [c.tag for c in children] == ["feature", "threshold", "split", "split"]
    assert [c.get("pos") for c in children[2:]] == ["left", "right"]
    feature = int(children[0].text)
    assert feature >= 1
    return (feature, f32(float(children[1].text)), None, xml_split(children[2], number),
            xml_split(children[3], number))


def ranklib(text):
    lines = text.splitlines()
    assert lines[0] == "## LambdaMART"
    xml_text = "".join(line.strip() for line in lines if not line.startswith("##"))
    assert "> <" not in xml_text.replace("> ", ">").replace(" <", "<")
    trees = []
    for tree in xml.etree.ElementTree.fromstring(xml_text):
        weight = f32(float(tree.get("weight")))
        trees.append(xml_split(tree.find("split"), lambda t: f32(float(t)) * weight))

    def left(doc, feature, threshold, _):
        value = doc.get(feature, 0.0)
        return (0.0 if math.isnan(value) else value) <= threshold

    return Trees(trees, left, add32)


def quickrank(text):
    root = xml.etree.ElementTree.fromstring(text)
    assert root.tag == "ranker" and root.find("info/type").text == "LAMBDAMART"
    trees = [xml_split(tree.find("split"), lambda t: float(t) * float(tree.get("weight")))
             for tree in root.find("ensemble")]
    return Trees(trees, lambda doc, feature, threshold, _: doc.get(feature, 0.0) <= threshold, sum)


# ---------------------------------------------------------------- XGBoost's model, Elasticsearch's reading of it


def xgboost_left(doc, feature, threshold, default_left):
    value = doc.get(feature, NAN)
    if math.isnan(value):
        return default_left
    return int(value) not in threshold if isinstance(threshold, frozenset) else value < threshold


def raw_tree(arrays, node, leaves):
    left, right = arrays["left_children"][node], arrays["right_children"][node]
    if left == -1 or right == -1:
        return (f32(arrays[leaves][node]),)
    assert right == left + 1
    condition = f32(arrays["split_conditions"][node])
    if arrays["split_type"][node]:
        k = arrays["categories_nodes"].index(node)
        begin, size = arrays["categories_segments"][k], arrays["categories_sizes"][k]
        assert size > 0
        condition = frozenset(arrays["categories"][begin:begin + size])
    return (arrays["split_indices"][node], condition,
            bool(arrays["default_left"][node]), raw_tree(arrays, left, leaves),
            raw_tree(arrays, right, leaves))


def xgboost(text, leaves="split_conditions"):
    learner = json.loads(text)["learner"]
    assert float(learner["learner_model_param"]["base_score"]) == 0
    types = learner["feature_types"]
    for tree in learner["gradient_booster"]["model"]["trees"]:
        for kind, column in zip(tree["split_type"], tree["split_indices"]):
            assert not kind or types[column] == "c"
        assert tree["categories_nodes"] == [i for i, kind in enumerate(tree["split_type"]) if kind]
    arrays = learner["gradient_booster"]["model"]["trees"]
    return Trees([raw_tree(tree, 0, leaves) for tree in arrays], xgboost_left, add32)


def eslr_raw(text):
    """A feature is its place in feature_names; every name must be a feature of the store."""
    learner = json.loads(text)["learner"]
    names = learner["feature_names"]
    assert len(set(names)) == len(names) == len(learner["feature_types"])
    assert set(learner["feature_types"]) <= {"float"}
    assert all(type(x) is int for tree in learner["gradient_booster"]["model"]["trees"]
               for x in tree["default_left"])
    assert learner["objective"]["name"] in ("rank:ndcg", "rank:map", "rank:pairwise", "reg:linear")
    return xgboost(text, "base_weights")


def eslr_raw_earlier(text):
    """OpenSearch's plugin before 3.8: 0 where there is nothing, no missing child."""
    trees = eslr_raw(text)
    trees.goes_left = lambda doc, feature, threshold, _: threshold > doc.get(feature, 0.0)
    return trees


# ---------------------------------------------------------------- XGBoost's dump, Vespa's readings


def made_up(name):
    assert name[0] == "f"  # no names were given
    return int(name[1:])


def dump_tree(node, number, feature=made_up):
    if "leaf" in node:
        return (number(node["leaf"]),)
    by_id = {child["nodeid"]: child for child in node["children"]}
    assert len(by_id) == 2 and node["missing"] in by_id
    assert [c["nodeid"] for c in node["children"]] == [node["yes"], node["no"]]
    return (feature(node["split"]), f32(node["split_condition"]), node["missing"] == node["yes"],
            dump_tree(by_id[node["yes"]], number, feature), dump_tree(by_id[node["no"]], number, feature))


def xgboost_dump(text):
    return Trees([dump_tree(tree, f32) for tree in json.loads(text)], xgboost_left, add32)


def set_feature(name):
    """serving_check.py's feature sets call feature 7 "the 7"."""
    assert name[:4] == "the "
    return int(name[4:])


def createmodel(text):
    """The body of _createmodel: the definition is a text."""
    request = json.loads(text)
    assert list(request) == ["model"] and sorted(request["model"]) == ["model", "name"] and request["model"]["name"]
    model = request["model"]["model"]
    assert sorted(model) == ["definition", "type"] and model["type"] == "model/xgboost+json"
    trees = json.loads(model["definition"])
    return Trees([dump_tree(tree, f32, set_feature) for tree in trees], xgboost_left, add32)


def createmodel_earlier(text):
    """OpenSearch's plugin before 3.8: 0 where there is nothing, no missing child."""
    trees = createmodel(text)
    trees.goes_left = lambda doc, feature, threshold, _: threshold > doc.get(feature, 0.0)
    return trees


# ---------------------------------------------------------------- Elasticsearch's own models


def java_compare(a, b):
    """Double.compare, for which -0 is below 0."""
    if a != b:
        return -1 if a < b else 1
    return math.copysign(1, a) - math.copysign(1, b)


def ml_value(extractor, score, params):
    """The value of a feature. score: of its query; None: it does not match. `default_score` has another use: all
    documents have this score if neither the search nor default_params has a parameter of the template."""
    if set(re.findall(r"{{(\w+)}}", json.dumps(extractor["query"]))) <= set(params):
        return score
    return f32(extractor.get("default_score", 0)) or None


def ml_trees(ensemble, value):
    """The trees of an ensemble, which are arrays of nodes, with features by name and comparisons in double. value: of
    a document and a name; None: missing."""
    def nested(nodes, names, i):
        node = nodes[i]
        assert node["node_index"] == i
        if "left_child" not in node:
            return (float(node["leaf_value"]),)
        assert node["decision_type"] in ("lt", "lte")
        return (names[node["split_feature"]], (node["decision_type"], float(node["threshold"])), node["default_left"],
                nested(nodes, names, node["left_child"]), nested(nodes, names, node["right_child"]))

    def left(doc, name, test, default_left):
        found = value(doc, name)
        if found is None or not math.isfinite(found):
            return default_left
        order = java_compare(found, test[1])
        return order < 0 or (order == 0 and test[0] == "lte")

    assert ensemble["aggregate_output"] == {"weighted_sum": {}}
    trees = [element["tree"] for element in ensemble["trained_models"]]
    assert all(set(tree["feature_names"]) <= set(ensemble["feature_names"]) for tree in trees)
    return Trees([nested(tree["tree_structure"], tree["feature_names"], 0) for tree in trees], left, math.fsum)


def elasticsearch_ml(text, params=("words",)):
    """The body of PUT _ml/trained_models. A feature that a document lacks is a query that does not match it."""
    request = json.loads(text)
    assert list(request) == ["model_id", "inference_config", "definition"]
    assert re.fullmatch(r"[a-z0-9]([a-z0-9_.-]*[a-z0-9])?", request["model_id"]) and len(request["model_id"]) <= 64
    config = request["inference_config"]["learning_to_rank"]
    assert set(config) <= {"feature_extractors", "default_params"}
    extractors = [element["query_extractor"] for element in config["feature_extractors"]]
    by_name = {extractor["feature_name"]: extractor for extractor in extractors}
    assert len(by_name) == len(extractors)
    assert all(one["query"] and one.get("default_score", 0) >= 0 for one in extractors)
    given = {*params, *config.get("default_params", {})}
    ensemble = request["definition"]["trained_model"]["ensemble"]
    assert ensemble["target_type"] == "regression" and set(ensemble["feature_names"]) <= set(by_name)
    return ml_trees(ensemble, lambda doc, name: ml_value(by_name[name], doc.get(set_feature(name)), given))


def vespa_left(doc, feature, threshold, default_left):
    value = doc.get(feature, NAN)
    return not value >= threshold if default_left else value < threshold


def xgboost_dump_vespa(text):
    return Trees([dump_tree(tree, float) for tree in json.loads(text)], vespa_left, sum)


def nested_tree(node):
    if node.get("left_child") is None:
        return (float(node["leaf_value"]),)
    assert node["decision_type"] == "<="
    return (node["split_feature"], float(node["threshold"]), node["default_left"],
            nested_tree(node["left_child"]), nested_tree(node["right_child"]))


def vespa(text):
    model = json.loads(text)
    assert isinstance(model["pandas_categorical"], list) and model["objective"] == "lambdarank"
    return Trees([nested_tree(t["tree_structure"]) for t in model["tree_info"]], vespa_left, sum)


# ---------------------------------------------------------------- LightGBM's text


def lightgbm_left(doc, feature, threshold, decision):
    value = doc.get(feature, 0.0)
    missing = decision >> 2 & 3
    if decision & 1:
        return not math.isnan(value) and value >= 0 and int(value) in threshold
    if abs(value) <= f32(1e-35):
        value = 0.0  # rows are passed without such values
    if math.isnan(value) and missing != 2:
        value = 0.0
    if missing == 1 and abs(value) <= f32(1e-35) or missing == 2 and math.isnan(value):
        return bool(decision & 2)
    return value <= threshold


def lightgbm_tree(block):
    entry = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    lists = {key: [float(x) for x in value.split()] for key, value in entry.items()}
    n = int(entry["num_leaves"])
    assert len(lists["leaf_value"]) == n
    bounds = [int(b) for b in lists.get("cat_boundaries", [0])]
    assert len(bounds) == int(entry["num_cat"]) + 1

    def categories(k):
        words = [int(bits) for bits in lists["cat_threshold"][bounds[k]:bounds[k + 1]]]
        return frozenset(32 * w + b for w, bits in enumerate(words) for b in range(32) if bits >> b & 1)

    def node(i):
        if i < 0:
            return (lists["leaf_value"][~i],)
        decision, threshold = int(lists["decision_type"][i]), lists["threshold"][i]
        return (int(lists["split_feature"][i]), categories(int(threshold)) if decision & 1 else threshold, decision,
                node(int(lists["left_child"][i])), node(int(lists["right_child"][i])))

    return node(0 if n > 1 else -1)


def lightgbm(text):
    header, *blocks = text.split("end of trees")[0].split("Tree=")
    sizes = next(line for line in header.splitlines() if line.startswith("tree_sizes="))
    assert [int(x) for x in sizes[11:].split()] == [len("Tree=" + block) for block in blocks]
    return Trees([lightgbm_tree(block) for block in blocks], lightgbm_left, sum)

# ---------------------------------------------------------------- Solr


def solr(text):
    """MultipleAdditiveTreesModel: a feature that is not listed would end the tree with 0, so all must be listed."""
    model = json.loads(text)
    assert model["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel" and model["name"]
    names = [feature["name"] for feature in model["features"]]
    assert len(set(names)) == len(names) and all(set(f) == {"name"} for f in model["features"])
    null_is_zero = model["params"].get("isNullSameAsZero", "true") == "true"
    trees = []

    def node(at, weight):
        if "feature" not in at:
            assert "left" not in at and "right" not in at
            return (f32(weight * f32(float(at["value"]))),)
        assert at["feature"] in names  # f and its number, since no names were given
        threshold = f32(f32(float(at["threshold"])) + f32(1e-6))
        return (int(at["feature"][1:]), threshold, null_is_zero or at["missing"] == "left",
                node(at["left"], weight), node(at["right"], weight))

    for tree in model["params"]["trees"]:
        trees.append(node(tree["root"], f32(float(tree["weight"]))))

    def left(doc, feature, threshold, missing_left):
        value = doc.get(feature, NAN)
        if math.isnan(value):
            return 0.0 <= threshold if null_is_zero else missing_left
        return value <= threshold

    return Trees(trees, left, add32)


# ---------------------------------------------------------------- CatBoost


def catboost(text):
    """Borders have numbers through all entries; a value goes right when it is greater than the border."""
    model = json.loads(text)
    assert model["scale_and_bias"] == [1, [0]] and "oblivious_trees" not in model
    borders = []
    for entry in model["features_info"]["float_features"]:
        assert entry["borders"] == sorted(set(entry["borders"])) and entry["has_nans"] == (entry["borders"] != [])
        nan = {"AsIs": False, "AsFalse": -math.inf, "AsTrue": math.inf}[entry["nan_value_treatment"]]
        borders += [(entry["flat_feature_index"], f32(border), nan) for border in entry["borders"]]

    def node(at):
        if "value" in at:
            return (float(at["value"]),)
        return (*borders[at["split"]["split_index"]], node(at["left"]), node(at["right"]))

    def left(doc, feature, border, nan):
        value = doc.get(feature, 0.0)
        return not (nan if math.isnan(value) else value) > border

    return Trees([node(tree) for tree in model["trees"]], left, sum)

# ---------------------------------------------------------------- PMML


def pmml(text):
    """A regression MiningModel that sums TreeModels: below a node the first child whose predicate holds, and the
    defaultChild where the field is missing. A float's digits must be those of the double, too."""
    space = {"": "http://www.dmg.org/PMML-4_4"}
    root = xml.etree.ElementTree.fromstring(text)
    types = {f.get("name"): f.get("dataType") for f in root.iterfind("DataDictionary/DataField", space)}
    assert len(types) == len(root.findall("DataDictionary/DataField", space))
    model = root.find("MiningModel", space)
    usage = {f.get("name"): f.get("usageType") for f in model.iterfind("MiningSchema/MiningField", space)}
    assert [types[name] for name in usage if usage[name] == "target"] == ["double"]
    assert model.find("Segmentation", space).get("multipleModelMethod") == "sum"

    def node(at, known):
        children = at.findall("Node", space)
        if not children:
            return (float(at.get("score")),)
        ids = [child.get("id") for child in children]
        missing_left = ids.index(at.get("defaultChild")) == 0
        sets = [child.find("SimpleSetPredicate", space) for child in children]
        if sets[0] is not None:
            assert [s.get("booleanOperator") for s in sets] == ["isIn", "isNotIn"]
            field, arrays = sets[0].get("field"), [s.find("Array", space) for s in sets]
            assert sets[1].get("field") == field and types[field] == "double" and field in known
            assert arrays[0].text == arrays[1].text and arrays[0].get("type") == "int"
            listed = frozenset(int(x) for x in arrays[0].text.split())
            assert len(listed) == int(arrays[0].get("n")) > 0
            return (int(field[1:]), listed, missing_left, *(node(child, known) for child in children))
        tests = [child.find("SimplePredicate", space) for child in children]
        if tests[0].get("operator") == "isMissing":
            assert tests[1].get("operator") == "isNotMissing" and missing_left
            field = tests[0].get("field")
            return (int(field[1:]), frozenset(), True, *(node(child, known) for child in children))
        assert [test.get("operator") for test in tests] == ["lessOrEqual", "greaterThan"]
        (field, value), again = [(test.get("field"), test.get("value")) for test in tests]
        assert (field, value) == again and types[field] == "float" and field in known
        assert field in usage and usage[field] != "target" and f32(float(value)) == float(value)
        return (int(field[1:]), float(value), missing_left,
                *(node(child, known) for child in children))

    trees = []
    for segment in model.iterfind("Segmentation/Segment", space):
        assert segment.find("True", space) is not None
        tree = segment.find("TreeModel", space)
        assert tree.get("missingValueStrategy") == "defaultChild"
        known = {f.get("name") for f in tree.iterfind("MiningSchema/MiningField", space)}
        trees.append(node(tree.find("Node", space), known))

    def left(doc, feature, threshold, missing_left):
        value = doc.get(feature, NAN)
        if math.isnan(value):
            return missing_left
        return value in threshold if isinstance(threshold, frozenset) else value <= threshold

    return Trees(trees, left, sum)


READERS = {
    "ranklib": [ranklib], "quickrank": [quickrank], "lightgbm": [lightgbm], "xgboost": [xgboost],
    "eslr-raw": [eslr_raw, eslr_raw_earlier], "xgboost-dump": [xgboost_dump, xgboost_dump_vespa],
    "opensearch": [createmodel, createmodel_earlier], "elasticsearch": [createmodel],
    "elasticsearch-ml": [elasticsearch_ml],
    "vespa": [vespa], "solr": [solr], "catboost": [catboost], "pmml": [pmml],
}
