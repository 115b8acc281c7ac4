#include "src/kernel/fast/isa.h"

extern const qh_kernels qh_fast_generic_table;

static bool always(void)
{
    return true;
}

#ifdef QH_X86
extern const qh_kernels qh_fast_v3_table, qh_fast_v4_table;

/* The parts of the levels that the code uses and that every compiler can ask for; no processor has
 * these without the rest (F16C, LZCNT, MOVBE). */
static bool has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static bool has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

const qh_isa qh_isa_table[] = {
#ifdef QH_X86
    {"x86-64-v4", &qh_fast_v4_table, has_v4},
    {"x86-64-v3", &qh_fast_v3_table, has_v3},
#endif
    {"generic", &qh_fast_generic_table, always},
    {0},
};
