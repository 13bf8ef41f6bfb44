#!/bin/sh
# Checks what CONTRIBUTING.md says about the tree: which folder may include which, unique file names,
# length of files, no paths of somebody's machine. Prints each offender; exit 1 if there is one.
#
#   sh tests/layering.sh [ROOT]
set -u
cd "${1:-$(dirname "$0")/..}" || exit 2
found=$(mktemp) && trap 'rm -f "$found"' EXIT

# The files of the tree: git's where there is a repository, else all but build folders.
tree_files() {
    if [ -e .git ] && git ls-files >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard
    else
        find . -type f ! -path './build*' ! -path './.git/*' ! -name '*.pyc' | sed 's|^\./||'
    fi | while read -r file; do
        [ -f "$file" ] && printf '%s\n' "$file"
    done
}

# Dependencies point one way: base <- {dataset, binning} <- {model, metric} <- objective <- tree <- boost <- {evaluate,
# check} <- report <- cli; gpu and bench stand beside. lab, a program apart, sees everything, tests see all of src,
# and nobody sees lab.
allowed() { # folder of src -> folders it may include from
    case $1 in
    base) echo base ;;
    dataset) echo base dataset binning ;;
    binning) echo base dataset binning ;;
    synth) echo base dataset binning io synth ;;
    model) echo base dataset model ;;
    metric) echo base dataset metric ;;
    objective) echo base dataset metric objective ;;
    io) echo base dataset binning model io ;;
    convert) echo base dataset model io convert ;;
    tree) echo base dataset binning model metric objective tree ;;
    boost) echo base dataset binning model metric objective io tree boost ;;
    evaluate) echo base dataset model metric io boost evaluate ;;
    check) echo base dataset metric io evaluate check ;;
    report) echo base dataset model metric io tree boost evaluate check report ;;
    gpu) echo base dataset binning model metric objective tree gpu ;;
    bench) echo base dataset binning synth model metric objective io tree boost gpu bench ;;
    cli) echo cli ;;
    *) echo ;;
    esac
}

# rankwood.h is everybody's; any other "..." include is looked up in its own folder, then in src/.
check_includes() { # file folder allowed...
    file=$1 folder=$2
    shift 2
    grep -n '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$file" | while IFS= read -r line; do
        target=$(printf '%s\n' "$line" | sed 's/^[^"]*"\([^"]*\)".*/\1/')
        case $target in
        rankwood.h | ../src/rankwood.h) continue ;;
        ..*) to="outside $folder" ;;
        */*) to=${target%%/*} ;;
        *) if [ -f "$(dirname "$file")/$target" ]; then to=$folder; else to="nowhere"; fi ;;
        esac
        case " $* " in
        *" $to "*) ;;
        *) echo "$file:${line%%:*}: '$folder' may not include \"$target\"" >>"$found" ;;
        esac
    done
}

for file in $(tree_files | grep '^src/[a-z]*/.*\.\(c\|h\|cu\|cuh\|def\)$'); do
    folder=${file#src/}
    folder=${folder%%/*}
    check_includes "$file" "$folder" $(allowed "$folder")
done
for file in $(tree_files | grep '^\(examples\|docs\)/.*\.[ch]$'); do
    check_includes "$file" "${file%%/*}"
done
for file in $(tree_files | grep '^tests/.*\.\(c\|h\|cu\)$'); do
    grep -n '^[[:space:]]*#[[:space:]]*include[[:space:]]*"\(\.\./\)*lab/' "$file" | sed "s|^|$file:|; s|\$|: nobody may include lab|" >>"$found"
done
if grep -n '#' src/rankwood.h | grep 'include[[:space:]]*"' >>"$found"; then
    echo "src/rankwood.h: the public header may not include others" >>"$found"
fi

# A file name says one thing in the whole tree (golden and fuzz data may repeat names): run.sh, that
# it runs all that its folder has.
tree_files | grep '\.\(c\|h\|cu\|cuh\|def\|sh\|py\)$' | sed 's|.*/||' | sort | uniq -d |
    grep -vx 'run\.sh' | while read -r name; do
        echo "file name not unique: '$name' in $(tree_files | grep "/$name\$" | tr '\n' ' ')" >>"$found"
    done

# A file over 600 lines needs a reason, given here: FILE:REASON, one a line.
long_files="src/rankwood.h:the whole public interface, with its contracts, stands in one file"
tree_files | grep '\.\(c\|h\|cu\|cuh\|sh\|py\)$' | xargs wc -l |
    awk '$1 > 600 && $2 != "total" { print $2, $1 }' | while read -r file lines; do
    printf '%s\n' "$long_files" | grep -q "^$file:" ||
        echo "$file: $lines lines; more than 600 need a reason in tests/layering.sh" >>"$found"
done

# Folders of the machine that somebody works on mean nothing to anybody else. The pattern is written
# so that this line does not match itself.
tree_files | grep -v '\.\(gz\|rwb\|bin\)$' |
    xargs grep -HnIE '(^|[^A-Za-z0-9_.-])/(wor[k]|hom[e]|roo[t])/[A-Za-z0-9_.]' |
    sed 's/^/path of one machine: /' >>"$found"

if [ -s "$found" ]; then
    sort -u "$found"
    echo "layering: $(sort -u "$found" | wc -l) offenders"
    exit 1
fi
echo "layering: $(tree_files | wc -l) files, none offends"
