/* random: each message's width is drawn from --bits, anew every --assign-every epochs. The draw
 * depends on the seed, the epoch of the assignment, layer, direction and node, so it is the same
 * whoever owns the node and whoever wants it. */
#include "src/policy/members.h"

static bool changes(const qh_bits_config *c, int32_t epoch)
{
    return epoch % c->assign_every == 0;
}

static qh_status assign(const qh_bits_config *c, const qh_bits_state *state,
                        const qh_bits_request *r, uint8_t *width)
{
    int64_t since = r->epoch - r->epoch % c->assign_every;
    qh_key key = qh_rand_key(c->seed, QH_RAND_BITS, (uint32_t)since, (uint32_t)r->layer,
                             (uint32_t)r->direction);

    (void)state;
    for (int64_t i = 0; i < r->n_messages; i++)
        width[i] = c->width[qh_rand_below(key, (uint64_t)r->node[i], (uint64_t)c->n_widths)];
    return QH_OK;
}

const qh_bits_ops qh_bits_random = {
    .name = "random",
    .help = "widths of --bits drawn for each message, anew every --assign-every epochs",
    .changes = changes,
    .assign = assign,
};
