# Simulates a click log from LETOR text, for docs/tutorials/click-log.md. Prints the log of three sessions per query,
# with the columns session, query, document, displayed position and clicked (0 or 1), and writes the features of each
# document to features.tsv. A session displays the first ten documents in the order of the input. The user looks at
# displayed position k in a fraction 1/k of all sessions, and clicks the document there if its label is above 0.
#
#   gzip -dc train.txt.gz | awk -f click_log.awk | sort -s -k 1,1 >log.tsv
BEGIN { OFS = "\t" }
{
    query = substr($2, 5) # without "qid:"
    position = query == last ? position + 1 : 1
    last = query
    values = ""
    for (i = 3; i <= NF && $i != "#"; i++)
        values = values (i > 3 ? " " : "") $i
    print query, "d" position, values >"features.tsv"
    for (session = 1; session <= 3 && position <= 10; session++) {
        looks = (NR + session) % position == 0
        print query "-" session, query, "d" position, position, ($1 > 0 && looks) ? 1 : 0
    }
}
