/* The instruction sets that src/kernel/fast was compiled for, best first. */
#ifndef QH_KERNEL_FAST_ISA_H
#define QH_KERNEL_FAST_ISA_H

#include "src/kernel/backend.h"

typedef struct qh_isa {
    const char *name;
    const qh_kernels *kernels; /* NULL ends the table */
    bool (*runs_here)(void);
} qh_isa;

extern const qh_isa qh_isa_table[];

#endif
