/* uniform: the one width of --bits for every message. */
#include "src/policy/members.h"

#include <string.h>

static qh_status check(const qh_bits_config *c, qh_bits_state **out)
{
    if (c->n_widths != 1)
        return qh_fail(QH_EUSAGE,
                       "--bits: %d widths, and uniform wants one; as in --bits 4, or take "
                       "--assign random",
                       c->n_widths);
    *out = NULL;
    return QH_OK;
}

static bool changes(const qh_bits_config *c, int32_t epoch)
{
    (void)c;
    return epoch == 0;
}

static qh_status assign(const qh_bits_config *c, const qh_bits_state *state,
                        const qh_bits_request *r, uint8_t *width)
{
    (void)state;
    memset(width, c->width[0], (size_t)r->n_messages);
    return QH_OK;
}

const qh_bits_ops qh_bits_uniform = {
    .name = "uniform",
    .help = "the one width of --bits for every message",
    .open = check,
    .changes = changes,
    .assign = assign,
};
