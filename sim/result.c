#include "sim/scenario.h"

#include "src/base/mem.h"

void qh_result_fini(qh_result *r)
{
    qh_mem_free(r->partition_method);
    qh_mem_free(r->inner_nodes);
    qh_mem_free(r->traffic);
    *r = (qh_result){0};
}
