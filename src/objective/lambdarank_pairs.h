/* lambdarank with other deltas and other pairs than engines compute: made on the host. */
#ifndef RW_OBJECTIVE_LAMBDARANK_PAIRS_H
#define RW_OBJECTIVE_LAMBDARANK_PAIRS_H

#include "objective/delta.h"
#include "objective/objective.h"

/* Which pairs count, a value of the parameter `pairs`, as one number: one of these, or the N of
 * mean:N. */
enum { RW_PAIRS_WRONG = -3, RW_PAIRS_GIVEN, RW_PAIRS_ALL, RW_PAIRS_TOPK };
/* RW_PAIRS_WRONG: the text is none. */
double rw_pairs_number(const char *text);

/* Among the parameters of lambdarank and its variants. */
enum { RW_LAMBDARANK_DELTA = 2, RW_LAMBDARANK_PAIRS = 3 };
/* What takes lambdarank's place for these. */
const struct rw_objective *rw_lambdarank_variant(double delta, double pairs);

#endif
