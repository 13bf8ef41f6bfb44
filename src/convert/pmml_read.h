/* PMML as we write it, read back for --verify. */
#ifndef RW_CONVERT_PMML_READ_H
#define RW_CONVERT_PMML_READ_H

#include "convert/convert.h"

#define RW_PMML_NAMESPACE "http://www.dmg.org/PMML-4_4"

/* A format's `parse`: whatever else PMML can say is refused. */
int rw_pmml_parse(struct rw_source *source, struct rw_ensemble *out);
#endif
