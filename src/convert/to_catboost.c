/* The format catboost: CatBoost's model, JSON. */
#include "convert/catboost_model.h"

/* Its trees read floats and add doubles; who calls it hands over every column. */
static const struct rw_consumer consumers[] = {
    {.name = "CatBoost",
     .rules = {.value = RW_F32,
               .threshold = RW_F32,
               .sum = RW_F64,
               .nan_by_node = 1,
               .absent = RW_ABSENT_AS_MODEL}},
    {0},
};

const struct rw_model_format rw_to_catboost = {
    .name = "catboost",
    .about = "CatBoost's saved model, JSON",
    .consumer = consumers,
    .names = RW_NAMES_GIVEN,
    .name_prefix = "", /* a feature without a name is called by its number there */
    .name_forbids = "",
    .imports = 1,
    .write = rw_catboost_write,
    .parse = rw_catboost_parse,
};
