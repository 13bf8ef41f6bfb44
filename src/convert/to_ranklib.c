/* RankLib's ensembles, which Elasticsearch and OpenSearch LTR take as "model/ranklib". Lines that
 * begin with ## come first, of which only "## LambdaMART" must be there; then XML. Read by RankLib
 * as floats, `value <= threshold` left, whatever is absent or unknown being 0, ids from 1. */
#include <string.h>

#include "convert/forest_xml.h"

static int write_ranklib(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put)
{
    int32_t most = 1;
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        const int32_t n_leaves = (ensemble->tree[t].n_nodes + 1) / 2;
        most = n_leaves > most ? n_leaves : most;
    }
    rw_put_format(put, "## LambdaMART\n## No. of trees = %d\n## No. of leaves = %d\n\n",
                  ensemble->n_trees, most);
    return rw_forest_write(ctx, ensemble, "", put);
}

static int parse_ranklib(struct rw_ctx *ctx, const struct rw_source *source,
                         struct rw_ensemble *ensemble)
{
    static const char *const kinds[] = {"## LambdaMART", "## MART"};
    const char *at = source->text, *const end = source->text + source->n;
    uint64_t line = 1;
    int known = 0;
    const char *stop = memchr(at, '\n', source->n);
    size_t first = (size_t)((stop ? stop : end) - at);
    while (first > 0 && (at[first - 1] == '\r' || at[first - 1] == ' '))
        first--;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        known |= first == strlen(kinds[i]) && memcmp(at, kinds[i], first) == 0;
    if (!known)
        return rw_refuse(ctx, source, "line 1: expected '## LambdaMART' or '## MART', found '%.*s'",
                         (int)(first < 40 ? first : 40), at);
    /* Comments and empty lines. */
    while (at < end && (*at == '#' || *at == '\n' || *at == '\r')) {
        stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
        line++;
    }
    struct rw_xml xml;
    RW_TRY(rw_xml_parse(ctx, source, at, (size_t)(end - at), line, &xml));
    const int is_ensemble = strcmp(xml.element[0].name, "ensemble") == 0;
    const int status =
        is_ensemble ? rw_forest_parse(ctx, source, &xml, 0, ensemble)
                    : rw_refuse(ctx, source, "<%.40s>; expected <ensemble>", xml.element[0].name);
    rw_xml_release(&xml);
    return status;
}

static const struct rw_consumer consumers[] = {
    {.name = "RankLib, Elasticsearch and OpenSearch LTR",
     .rules = {.value = RW_F32,
               .threshold = RW_F32,
               .sum = RW_F32,
               .nan = RW_NAN_ZERO,
               .absent = RW_ABSENT_ZERO,
               .first_column = 1}},
    {0},
};

const struct rw_model_format rw_to_ranklib = {
    .name = "ranklib",
    .about = "RankLib's LambdaMART; also Elasticsearch and OpenSearch LTR",
    .consumer = consumers,
    .names = RW_NAMES_NONE,
    .imports = 1,
    .write = write_ranklib,
    .parse = parse_ranklib,
};
