/* QuickRank's XML: <ranker><info>...</info><ensemble>...</ensemble></ranker>. Thresholds are read
 * as floats, outputs as doubles, `value <= threshold` left, absent is 0, ids from 1. */
#include <string.h>

#include "convert/forest_xml.h"

static int write_quickrank(struct rw_ctx *ctx, const struct rw_ensemble *ensemble,
                           struct rw_put *put)
{
    int32_t most = 1;
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        const int32_t n_leaves = (ensemble->tree[t].n_nodes + 1) / 2;
        most = n_leaves > most ? n_leaves : most;
    }
    rw_put_format(put,
                  "<?xml version=\"1.0\"?>\n<ranker>\n\t<info>\n\t\t<type>LAMBDAMART</type>\n"
                  "\t\t<trees>%d</trees>\n\t\t<leaves>%d</leaves>\n\t\t<shrinkage>1</shrinkage>\n"
                  "\t\t<leafsupport>1</leafsupport>\n\t\t<discretization>0</discretization>\n"
                  "\t\t<estop>0</estop>\n\t</info>\n",
                  ensemble->n_trees, most);
    RW_TRY(rw_forest_write(ctx, ensemble, "\t", put));
    rw_put_text(put, "</ranker>\n");
    return put->status;
}

static int parse_parts(struct rw_ctx *ctx, const struct rw_source *source, const struct rw_xml *xml,
                       struct rw_ensemble *out)
{
    if (strcmp(xml->element[0].name, "ranker") != 0)
        return rw_refuse(ctx, source, "<%.40s>; expected <ranker>", xml->element[0].name);
    const int32_t info = rw_xml_child(xml, 0, "info"), forest = rw_xml_child(xml, 0, "ensemble");
    const int32_t type = info < 0 ? -1 : rw_xml_child(xml, info, "type");
    if (type < 0 || !xml->element[type].text)
        return rw_refuse(ctx, source, "no <type> in <info>");
    if (!strstr(xml->element[type].text, "MART"))
        return rw_refuse(ctx, source, "line %llu: <type> '%.40s'; expected LAMBDAMART or MART",
                         (unsigned long long)xml->element[type].line, xml->element[type].text);
    if (strstr(xml->element[type].text, "OBV"))
        return rw_refuse(ctx, source, "line %llu: oblivious trees ('%.40s')",
                         (unsigned long long)xml->element[type].line, xml->element[type].text);
    if (forest < 0)
        return rw_refuse(ctx, source, "no <ensemble> in <ranker>");
    return rw_forest_parse(ctx, source, xml, forest, out);
}

static int parse_quickrank(struct rw_ctx *ctx, const struct rw_source *source,
                           struct rw_ensemble *ensemble)
{
    struct rw_xml xml;
    RW_TRY(rw_xml_parse(ctx, source, source->text, source->n, 1, &xml));
    const int status = parse_parts(ctx, source, &xml, ensemble);
    rw_xml_release(&xml);
    return status;
}

static const struct rw_consumer consumers[] = {
    {.name = "QuickRank",
     .rules = {.value = RW_F32,
               .threshold = RW_F32,
               .sum = RW_F64,
               .nan = RW_NAN_FALSE,
               .absent = RW_ABSENT_ZERO,
               .first_column = 1}},
    {0},
};

const struct rw_model_format rw_to_quickrank = {
    .name = "quickrank",
    .about = "QuickRank's XML",
    .consumer = consumers,
    .names = RW_NAMES_NONE,
    .imports = 1,
    .write = write_quickrank,
    .parse = parse_quickrank,
};
