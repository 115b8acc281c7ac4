/* The text inside a .npy header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. */
#ifndef QH_GRAPH_NPY_HEADER_H
#define QH_GRAPH_NPY_HEADER_H

#include "src/graph/npy.h"

/* Reads size bytes of text (NUL-ended) into the type, order and shape of a; a->path is for errors
 * (QH_EINPUT). Keys may come in any order; each must be there once, and no other. */
qh_status qh_npy_parse_header(const char *text, int64_t size, qh_npy *a);

/* "float32 (<f4)" style name of a type, and its descr. */
const char *qh_npy_type_text(qh_npy_type type);
const char *qh_npy_type_descr(qh_npy_type type);

#endif
