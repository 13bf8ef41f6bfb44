# Measuring histograms needs a GPU; here there is none to be seen. What is wrong with the line is said
# first. bench_train.sh is about trainings.
export CUDA_VISIBLE_DEVICES=-1

# Without CUDA there are no suites and no methods whose names could be mistaken.
built=yes
"$RANKWOOD" bench hist --suite lanes 2>&1 | grep -q 'built without CUDA' && built=no

# wrong EXIT PATTERN ARGUMENTS...: one line on standard error, nothing on standard output. After wrong
# usage comes the hint that points to the help.
wrong() {
    expected=$1 pattern=$2
    shift 2
    "$RANKWOOD" "$@" >out 2>err
    code=$?
    if [ "$expected" = name ]; then
        expected=2
        [ $built = yes ] || expected=1 pattern='built without CUDA'
    fi
    lines=1
    [ "$expected" = 1 ] || lines=2
    if [ $code = "$expected" ] && [ ! -s out ] && [ "$(wc -l <err)" = $lines ] && grep -q -e "$pattern" err; then
        echo "ok: $*"
    else
        echo "not ok: $*: exit $code"
        cat out err
    fi
}

no_gpu='error: no GPU can be used: '
[ $built = yes ] || no_gpu='built without CUDA'
wrong 1 "$no_gpu" bench hist --suite lanes
wrong 1 "$no_gpu" bench hist --suite contention --quick --json
wrong name "unknown suite 'lanse'; the nearest is 'lanes'" bench hist --suite lanse
wrong name "unknown suite 'everything'; expected one of: " bench hist --suite everything
wrong name "unknown method 'colision'; the nearest is 'collision'" bench hist --suite contention --method colision
wrong 2 "needs --suite" bench hist
wrong 2 "unknown bench 'hits'; the nearest is 'hist'" bench hits --suite lanes
wrong 2 "unknown bench 'everything'; there are hist, train, load and predict" bench everything
wrong 2 "'bench' needs hist, train, load or predict" bench
wrong 2 "'bench' needs hist, train, load or predict" bench --quick
wrong 2 "'--runs': expected a whole number, 1 to 1000, found '0'" bench hist --suite lanes --runs 0
wrong 2 "'--docs': expected a whole number, 1 to 2147483647, found '1e6'" bench hist --suite lanes --docs 1e6
wrong 2 "unknown option '--shape'" bench hist --suite lanes --shape letor
wrong 2 "'bench hist' does not take 'lanes'" bench hist lanes
wrong 2 "unknown suite 'everything'; expected one of: trees, grow, text" bench train --suite everything
wrong 2 "unknown suite 'tree'; the nearest is 'trees'" bench train --suite tree
wrong 2 "unknown option '--docs'" bench train --docs 100
wrong 2 "does not take the parameter '--valid'\|unknown option '--valid'" bench train --valid x
wrong 2 "does not take the parameter '--early-stop'" bench train --early-stop 5
wrong 2 "'--queries': expected a whole number, 1 to 10000000, found '0'" bench train --queries 0
wrong 2 "shape: expected mslr30k, yahoo, istella or letor, found 'mslr'" bench train --quick --queries 5 --shape mslr
wrong 2 "parameter 'leaves': expected " bench train --leaves 1
wrong 2 "parameter 'hist' has no effect without device cuda" bench train --quick --device cpu --hist lanes
wrong 2 "unknown option '--num-leaves'; the nearest is '--leaves'" bench train --num-leaves 31
wrong 2 "unknown option '--suite'" bench load --suite text
wrong 2 "unknown option '--runs'" bench predict --runs 3
wrong 2 "'bench load' does not take the parameter '--leaves'" bench load --quick --leaves 7
wrong 2 "'bench predict' does not take the parameter '--bins'" bench predict --quick --bins 15
wrong 2 "'bench predict' does not take the parameter '--device'" bench predict --quick --device cuda
wrong 2 "'bench load' does not take 'train.txt'" bench load train.txt
wrong 2 "'--queries': expected a whole number, 1 to 10000000, found 'ten'" bench predict --queries ten
wrong 2 "shape: expected mslr30k, yahoo, istella or letor, found 'mslr'" bench load --quick --shape mslr
wrong 2 "shape: expected mslr30k, yahoo, istella or letor, found 'mslr'" bench predict --quick --shape mslr
