# Simulates a click log with varying rankings from LETOR text, for docs/how-to/judge.md. Prints the log of 40 sessions
# per query, with the columns session, query, document, displayed position and clicked (0 or 1). A session displays the
# first ten documents in the order of the input, and two thirds of the sessions exchange neighbours. The user looks at
# displayed position k in a fraction 1/k of all sessions. A document that the user looks at is clicked with probability
# .05, .4 or .9 for the labels 0, 1 and 2. Writes the features of each document to features.tsv: as LETOR text, or with
# `-v table=1` in columns below a header, for docs/how-to/daily-job.md.
#
#   gzip -dc train.txt.gz | awk -f varied_log.awk >log.tsv
function chance() { # a number in [0, 1); awk's rand() differs between programs
    seed = (seed * 1103 + 12347) % 1000003
    return seed / 1000003
}
BEGIN { OFS = "\t"; seed = 1; split("0.05 0.4 0.9", clicks, " ") }
{
    query = substr($2, 5) # without "qid:"
    rank = query == last ? rank + 1 : 1
    last = query
    names = values = ""
    for (i = 3; i <= NF && $i !~ /^#/; i++) {
        names = names "\tf" (i - 2)
        value = $i
        if (table)
            sub(/.*:/, "", value)
        values = values (i == 3 ? "" : table ? "\t" : " ") value
    }
    if (table && NR == 1)
        print "query\tdocument" names >"features.tsv"
    print query, "d" rank, values >"features.tsv"
    for (session = 1; session <= 40 && rank <= 10; session++) {
        position = rank
        if (session % 3 == 1) # exchanges 1 and 2, 3 and 4, ...
            position = rank % 2 ? rank + 1 : rank - 1
        if (session % 3 == 2 && rank > 1 && rank < 10) # exchanges 2 and 3, 4 and 5, ...
            position = rank % 2 ? rank - 1 : rank + 1
        looks = chance() < 1 / position
        print query "-" session, query, "d" rank, position, (chance() < clicks[$1 + 1] && looks) ? 1 : 0
    }
}
