# With standard input, output or error closed, no file takes its number: messages never end up in a model.
small_model
"$RANKWOOD" report model.txt --valid train.txt --quiet -o report.html 2>/dev/null
for fd in 0 1 2; do
    for made in model report; do
        case $made in
        model) set -- train train.txt --rounds 5 --leaves 7 -o made ;;
        report) set -- report model.txt --valid train.txt --quiet -o made ;;
        esac
        case $fd in
        0) "$RANKWOOD" "$@" <&- 2>talk ;;
        1) "$RANKWOOD" "$@" >&- 2>talk ;;
        2) "$RANKWOOD" "$@" 2>&- ;;
        esac
        echo "$fd $made: exit $?"
        cmp made $made.*
        rm made
    done
done
"$RANKWOOD" train train.txt --rounds 5 --leaves 7 -o made <&- >&- 2>&-
echo "all: exit $?"
cmp made model.txt
# Reading or writing a closed descriptor fails.
"$RANKWOOD" predict model.txt train.txt 2>&1 >&- | cut -d: -f1-3
"$RANKWOOD" predict model.txt - 2>&1 <&- | cut -d: -f1-3
