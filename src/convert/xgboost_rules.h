/* How the readers of XGBoost's formats score: as consumers' rules. */
#ifndef RW_CONVERT_XGBOOST_RULES_H
#define RW_CONVERT_XGBOOST_RULES_H

/* XGBoost itself, and the plugins that took over its rules. */
#define RW_XGBOOST_RULES .less = 1, .nan_by_node = 1, .listed_right = 1, .absent = RW_ABSENT_NAN
/* A category is a float there, below this one and one more. */
#define RW_XGBOOST_MOST_CATEGORY 16777215
/* peers: a missing child was not looked at by OpenSearch's plugin until July 2026, and what a
 * document does not have was 0. */
#define RW_OPENSEARCH_OLD_NAME  "OpenSearch LTR before July 2026"
#define RW_OPENSEARCH_OLD_RULES .less = 1

#endif
