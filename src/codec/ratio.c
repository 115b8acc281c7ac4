/* Ratios: how many columns of a row are kept at a ratio R, and which. */
#include "src/base/units.h"
#include "src/codec/rows.h"

#include <math.h>

int64_t qh_kept_columns(int64_t n_cols, double ratio)
{
    double kept;

    QH_ASSERT(n_cols >= 0 && ratio >= 1);
    kept = round((double)n_cols / ratio);
    return n_cols == 0 || kept >= 1 ? (int64_t)kept : 1;
}

/* Selection sampling: column c is taken with probability (still wanted) / (still to come), which
 * gives every subset the same chance and its columns in rising order (Fan, Muller, Rezucha, JASA
 * 1962; Knuth, TAOCP 2, 3.4.2, algorithm S). One draw a column, so that any column's draw is a
 * function of its number. */
void qh_mask_draw(qh_key key, int64_t n_cols, int64_t n_kept, int32_t *column)
{
    int64_t taken = 0;

    QH_ASSERT(0 <= n_kept && n_kept <= n_cols && n_cols <= INT32_MAX);
    for (int64_t c = 0; taken < n_kept; c++)
        if (qh_rand_below(key, (uint64_t)c, (uint64_t)(n_cols - c)) < (uint64_t)(n_kept - taken))
            column[taken++] = (int32_t)c;
}

qh_status qh_ratio_configure(qh_codec *c, const char *argument)
{
    if (!argument)
        return QH_OK; /* what the schedule says */
    return qh_parse_real("--codec", argument, 1, QH_MAX_RATIO, &c->ratio);
}
