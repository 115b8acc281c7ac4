#include "tools/version.h"

#include "src/base/status.h"
#include "src/kernel/backend.h"

#include <string.h>

const char qh_version[] = QH_VERSION;

typedef struct fact {
    const char *name, *value;
} fact;

/* QH_LIBRARIES is a list of {"NAME", "VERSION"}, made by the build. */
static const fact libraries[] = {QH_LIBRARIES};

/* What a build may leave out. */
static const struct {
    const char *name, *what;
    int built_in;
} optional[] = {
    {"cuda", "the GPU backend", QH_WITH_CUDA},
    {"mpi", "qhalo-mpi", QH_WITH_MPI},
    {"simgrid", "SimGrid as a network model", QH_WITH_SIMGRID},
    {"glpk", "qhalo assign --solver glpk", QH_WITH_GLPK},
    {"protobuf", "traces in Chakra's format", QH_WITH_PROTOBUF},
};

static const char *compiler(void)
{
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

void qh_version_print(FILE *out)
{
    fprintf(out, "qhalo %s\n", qh_version);
    fprintf(out, "kernels: ref, fast (%s)\n", qh_kernels_isa());
    fprintf(out, "products: %s\n", qh_kernels_blas());
    for (size_t i = 0; i < QH_COUNT(optional); i++)
        fprintf(out, "%s: %s (%s)\n", optional[i].name, optional[i].built_in ? "yes" : "no",
                optional[i].what);
    fprintf(out, "compiler: %s\n", compiler());
    for (size_t i = 0; i < QH_COUNT(libraries); i++)
        fprintf(out, "%s: %s\n", libraries[i].name, libraries[i].value);
}

json_t *qh_version_json(void)
{
    json_t *o = json_pack("{s:s,s:s,s:s,s:s}", "qhalo", qh_version, "compiler", compiler(), "isa",
                          qh_kernels_isa(), "blas", qh_kernels_blas());
    int bad = !o;

    for (size_t i = 0; i < QH_COUNT(libraries) && !bad; i++)
        bad = json_object_set_new(o, libraries[i].name, json_string(libraries[i].value)) != 0;
    for (size_t i = 0; i < QH_COUNT(optional) && !bad; i++)
        bad = json_object_set_new(o, optional[i].name, json_boolean(optional[i].built_in)) != 0;
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}
