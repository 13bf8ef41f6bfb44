# room: bench
# long
# The report about this machine. The GPU is hidden; tests/unit/test_doctor.c tests reports of wrong models.
export CUDA_VISIBLE_DEVICES=-1
unset SLURM_CPUS_PER_TASK RANKWOOD_ISA
"$RANKWOOD" doctor >out
echo "exit $?"
awk 'NF == 1 { print $1 }' out # the tables
say version grep -q "^  version  *[0-9]" out
say 'as many threads as the plan says' eval 'small_data && test "$(sed -n "s/^  threads_auto *//p" out)" = \
    "$("$RANKWOOD" train train.txt --plan --quiet --device cpu | sed -n "s/^threads *//p")"'
grep -E '^  (gpus|CUDA_VISIBLE_DEVICES)' out
say 'why there is no GPU' grep -q '^  why_none  *[a-zA-Z]' out
say 'all give one model' eval 'test "$(grep -c "^cpu .* ok$" out)" = "$(sed -n "s/^  instructions  *//p" out | wc -w)"'
say 'auto takes the processor' eval 'test "$(grep -c "cpu  *no usable GPU$" out)" = 4'
# The instruction set and the number of threads can be lowered; all instruction sets are still checked.
RANKWOOD_ISA=plain SLURM_CPUS_PER_TASK=1 "$RANKWOOD" doctor >lowered
grep -E '^  (instructions_taken|RANKWOOD_ISA|slurm_cpus_per_task|threads_auto) ' lowered
say 'all are checked' test "$(grep -c ' ok$' out)" = "$(grep -c ' ok$' lowered)"
if command -v taskset >/dev/null; then
    taskset -c "$(taskset -pc $$ | sed 's/.*[:,-] *//')" "$RANKWOOD" doctor | sed -n 's/^  threads_auto *//p'
else
    echo 1
fi
# The same for programs: an object a table, a list of those that may have several rows.
"$RANKWOOD" doctor --json >json
echo "exit $?"
names() { grep -o '^ "[a-z]*": *[[{0-9]*' json | tr -d ' ' | LC_ALL=C sort; }
names
say 'the same names' eval 'grep -o "^  \"[A-Za-z_]*\"" json | tr -d "\" " | sort >a && awk "/^  [A-Za-z]/ { print \$1 }" out | sort | cmp - a'
# A reader that has enough.
"$RANKWOOD" doctor | head -n 2
try doctor data.txt
try doctor --jso
try doctor --threads 2
