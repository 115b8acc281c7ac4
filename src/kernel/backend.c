#include "src/kernel/backend.h"

#include "src/kernel/ref/ref.h"

#include <string.h>

const qh_kernels *qh_kernels_list(int index)
{
    return index == 0 ? &qh_kernels_ref : NULL;
}

const char *qh_kernels_isa(void)
{
    return "generic";
}

const qh_kernels *qh_kernels_find(const char *name)
{
    return strcmp(name, "ref") == 0 || strcmp(name, "fast") == 0 ? &qh_kernels_ref : NULL;
}
