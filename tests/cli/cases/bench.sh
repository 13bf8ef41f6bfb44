# room: bench
# Errors of the command line come first; the GPU is hidden. bench_train.sh and bench_load_predict.sh test the
# measurements.
export CUDA_VISIBLE_DEVICES=-1

# wrong EXIT PATTERN ARGUMENTS...: one line on standard error, nothing on standard output. After wrong
# usage comes the hint that points to the help.
wrong() {
    expected=$1 pattern=$2
    shift 2
    "$RANKWOOD" "$@" >out 2>err
    code=$?
    if [ $code = "$expected" ] && [ ! -s out ] && [ "$(wc -l <err)" = 2 ] && grep -q -e "$pattern" err; then
        echo "ok: $*"
    else
        echo "not ok: $*: exit $code"
        cat out err
    fi
}

wrong 2 "unknown bench 'loads'; the nearest is 'load'" bench loads --quick
wrong 2 "unknown bench 'hist'" bench hist --suite lanes
wrong 2 "unknown bench 'everything'; expected train, load or predict" bench everything
wrong 2 "'bench' needs train, load or predict" bench
wrong 2 "'bench' needs train, load or predict" bench --quick
wrong 2 "unknown suite 'everything'; expected one of: trees, grow, text" bench train --suite everything
wrong 2 "unknown suite 'tree'; the nearest is 'trees'" bench train --suite tree
wrong 2 "unknown option '--docs'" bench train --docs 100
wrong 2 "does not take the parameter '--valid'\|unknown option '--valid'" bench train --valid x
wrong 2 "does not take the parameter '--early-stop'" bench train --early-stop 5
wrong 2 "'--queries': expected a whole number, 1 to 10000000, found '0'" bench train --queries 0
wrong 2 "shape: expected mslr30k, yahoo, istella or letor, found 'mslr'" bench train --quick --queries 5 --shape mslr
wrong 2 "parameter 'leaves': expected " bench train --leaves 1
wrong 2 "'hist' has no effect on the CPU" bench train --quick --device cpu --hist lanes --strict
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
