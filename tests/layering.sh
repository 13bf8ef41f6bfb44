#!/bin/sh
# Checks CONTRIBUTING.md's rules for the tree: which folder may include which, unique file names, length of files, no
# paths of one developer's machine, no data at the root. Prints each violation; exit 1 if there is one.
#
#   sh tests/layering.sh [ROOT]
set -u
cd "${1:-$(dirname "$0")/..}" || exit 2
found=$(mktemp) && trap 'rm -f "$found" "$found.files"' EXIT

# The files of the tree: those of git, or without a repository all except build folders.
tree_files() {
    if [ -e .git ] && git ls-files >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard
    else
        find . -type f ! -path './build*' ! -path './.git/*' ! -name '*.pyc' | sed 's|^\./||'
    fi | while read -r file; do
        [ -f "$file" ] && printf '%s\n' "$file"
    done
}

tree_files >"$found.files"

# Dependencies point one way: base <- comm <- {dataset, binning} <- {model, metric} <- objective <- {params, tree} <- train <-
# {evaluate, check} <- report <- cli; gpu and bench are outside this order. lab, a separate program, may include
# everything, and tests may include all of src. No file outside lab may include lab. Every file may include rankwood.h;
# any other "..." include is resolved in the file's folder, then in src/.
grep '^\(src/[a-z]*/.*\|examples/.*\|docs/.*\|tests/.*\)\.\(c\|h\|cu\|cuh\|def\)$' "$found.files" |
    xargs grep -Hn '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' | awk -F : -v files="$found.files" '
    BEGIN {
        n = split("base: base" \
            "/comm: base comm" \
            "/dataset: base comm dataset binning" \
            "/binning: base comm dataset binning" \
            "/synth: base dataset binning io synth" \
            "/model: base dataset model" \
            "/metric: base comm dataset metric" \
            "/objective: base comm dataset metric objective" \
            "/io: base comm dataset binning model io" \
            "/convert: base dataset binning model io params train convert" \
            "/tree: base comm dataset binning model metric objective tree" \
            "/params: base comm dataset binning metric objective params" \
            "/train: base comm dataset binning model metric objective io params tree train" \
            "/evaluate: base dataset model metric io params train evaluate" \
            "/check: base dataset metric io evaluate check" \
            "/report: base dataset model metric io tree params train evaluate check report" \
            "/gpu: base comm dataset binning model metric objective tree gpu" \
            "/bench: base comm dataset binning synth model metric objective io params tree train gpu bench" \
            "/cli: cli", row, "/")
        for (i = 1; i <= n; i++)
            allowed[substr(row[i], 1, index(row[i], ":") - 1)] = substr(row[i], index(row[i], ":") + 1) " "
        while ((getline file < files) > 0)
            exists[file] = 1
    }
    {
        split($3, quoted, "\"")
        target = quoted[2]
        here = $1
        sub(/[^\/]*$/, "", here)
        split($1, part, "/")
        folder = part[1] == "src" ? part[2] : part[1]
        if (folder == "tests") {
            if (target ~ /^(\.\.\/)*lab\//)
                print $1 ":" $2 ": nobody may include lab: " target
            next
        }
        if (target == "rankwood.h" || target == "../src/rankwood.h")
            next
        if (target ~ /^\.\./)
            to = "outside"
        else if (target ~ /\//)
            to = substr(target, 1, index(target, "/") - 1)
        else
            to = (here target) in exists ? folder : "nowhere"
        if (index(allowed[folder], " " to " ") == 0)
            printf "%s:%s: \047%s\047 may not include \"%s\"\n", $1, $2, folder, target
    }' >>"$found"
if grep -n '#.*include[[:space:]]*"' src/rankwood.h src/rankwood_score.h |
    grep -v '^src/rankwood\.h:[0-9]*:#include "rankwood_score\.h"' >>"$found"; then
    echo "src/rankwood.h, src/rankwood_score.h: the public headers may not include others" >>"$found"
fi

# A file name says one thing in the whole tree (golden and fuzz data may repeat names): run.sh, that
# it runs all that its folder has; __init__.py, that the folder is a Python package.
grep '\.\(c\|h\|cu\|cuh\|def\|sh\|py\)$' "$found.files" | sed 's|.*/||' | sort | uniq -d |
    grep -vx -e 'run\.sh' -e '__init__\.py' | while read -r name; do
        echo "file name not unique: '$name' in $(grep "/$name\$" "$found.files" | tr '\n' ' ')" >>"$found"
    done

# A file over 1,000 lines needs a reason, given here: FILE:REASON, one a line.
long_files="src/rankwood.h:the whole public interface, with its contracts, is one file
python/rankwood/_model.py:one class, whose methods have numpydoc sections with examples
python/rankwood/_evaluate.py:docstrings with numpydoc sections and examples are most of it"
grep '\.\(c\|h\|cu\|cuh\|sh\|py\)$' "$found.files" | xargs wc -l |
    awk '$1 > 1000 && $2 != "total" { print $2, $1 }' | while read -r file lines; do
    printf '%s\n' "$long_files" | grep -q "^$file:" ||
        echo "$file: $lines lines; more than 1,000 need a reason in tests/layering.sh" >>"$found"
done

# Data that a test or an example left at the root is easily committed with everything else.
grep -v / "$found.files" | grep -vx 'meson_options\.txt' | grep '\.\(txt\|csv\|json\|rwb\|model\)$' | sed 's/^/data file at the root: /' >>"$found"

# Folders of the machine that somebody works on mean nothing to anybody else. The pattern is written
# so that this line does not match itself.
grep -v '\.\(gz\|rwb\|bin\)$' "$found.files" |
    xargs grep -HnIE '(^|[^A-Za-z0-9_.-])/(wor[k]|hom[e]|roo[t])/[A-Za-z0-9_.]' |
    sed 's/^/path of one machine: /' >>"$found"

if [ -s "$found" ]; then
    sort -u "$found"
    echo "layering: $(sort -u "$found" | wc -l) offenders"
    exit 1
fi
echo "layering: $(wc -l <"$found.files") files, none offends"
