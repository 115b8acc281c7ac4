/* glpk: each round as a mixed integer program, for checking the others on small problems. GLPK (GNU
 * Linear Programming Kit) has a minute for all rounds. */
#include "src/base/mem.h"
#include "src/policy/tradeoff_parts.h"

#include <glpk.h>
#include <math.h>

enum { LIMIT_MS = 60000 };

/* GLPK's tolerances are absolute: the objective is scaled up to be seen by them. */
static const double scale = 1e6;

/* Binary columns: step k of group i of the channel's groups with v > 0, the last group after them.
 * A step comes after the one below it. */
static int add_group(glp_prob *lp, const qh_trade_round *r, const qh_trade_channel *c, double v)
{
    int first = glp_add_cols(lp, c->n_steps);

    for (int k = 0; k < c->n_steps; k++) {
        int row, column[3] = {0, first + k, first + k - 1};
        double value[3] = {0, 1, -1};

        glp_set_col_kind(lp, first + k, GLP_BV);
        glp_set_obj_coef(lp, first + k, -scale * r->weight.variance * c->step_gain[k] * v);
        if (k == 0)
            continue;
        row = glp_add_rows(lp, 1);
        glp_set_row_bnds(lp, row, GLP_UP, 0, 0);
        glp_set_mat_row(lp, row, 2, column, value);
    }
    return first;
}

static int64_t groups_of(const qh_trade_channel *c)
{
    return c->n_pos + c->has_last;
}

/* theta * (base + steps) + gamma <= Z, over Z's own size so that its numbers are near 1. */
static void add_channel(glp_prob *lp, const qh_trade_round *r, const qh_trade_channel *c,
                        double z_unit, int *column, double *value)
{
    int n = 1, row = glp_add_rows(lp, 1);

    column[1] = 1;
    value[1] = -1;
    for (int64_t i = 0; i < groups_of(c) && c->n_steps; i++) {
        bool last = i == c->n_pos;
        int first = add_group(lp, r, c, (double)(last ? c->last : c->stream[0].v[i]));
        int64_t size = last ? c->of->last_size : c->of->group_size;

        for (int k = 0; k < c->n_steps; k++) {
            column[++n] = first + k;
            value[n] = c->of->theta * (double)(c->step_bytes[k] * size) / z_unit;
        }
    }
    glp_set_mat_row(lp, row, n, column, value);
    glp_set_row_bnds(lp, row, GLP_UP, 0, -qh_trade_time(c, c->base_bytes) / z_unit);
}

/* The level of each group from its columns, in the order in which they were added. */
static void emit_columns(glp_prob *lp, const qh_trade_round *r)
{
    int column = 2;

    for (int i = 0; i < r->n_channels; i++) {
        const qh_trade_channel *c = &r->channel[i];
        qh_trade_plan none = {0};

        qh_trade_emit(c, &none);
        for (int64_t g = 0; g < groups_of(c); g++) {
            int level = 0;

            for (int k = 0; k < c->n_steps; k++)
                level += glp_mip_col_val(lp, column++) > 0.5;
            c->width[g < c->n_pos ? c->order[g] : c->n_full] = c->level_width[level];
        }
    }
}

/* Room for the largest row, 1-based. */
static int64_t longest_row(const qh_trade_round *r)
{
    int64_t n = 0;

    for (int i = 0; i < r->n_channels; i++)
        if (groups_of(&r->channel[i]) * r->channel[i].n_steps > n)
            n = groups_of(&r->channel[i]) * r->channel[i].n_steps;
    return n + 2;
}

static qh_status solve_round(qh_trade_round *r, double below, double above)
{
    glp_prob *lp = glp_create_prob();
    double *value = NULL, z_unit = fmax(qh_trade_first_deadline(r), above);
    int *column = NULL, failed;
    glp_iocp how;
    qh_status st;

    (void)below;
    QH_TRY(st, QH_NEW_ARRAY(&column, longest_row(r)));
    QH_TRY(st, QH_NEW_ARRAY(&value, longest_row(r)));
    z_unit = z_unit > 0 ? z_unit : 1;
    glp_term_out(GLP_OFF);
    glp_add_cols(lp, 1);
    glp_set_col_bnds(lp, 1, GLP_LO, 0, 0);
    glp_set_obj_coef(lp, 1, scale * r->weight.time * z_unit);
    for (int i = 0; i < r->n_channels; i++)
        add_channel(lp, r, &r->channel[i], z_unit, column, value);
    glp_init_iocp(&how);
    how.presolve = GLP_ON;
    how.msg_lev = GLP_MSG_OFF;
    how.tm_lim = LIMIT_MS / r->n_rounds;
    failed = glp_intopt(lp, &how);
    if (glp_mip_status(lp) == GLP_OPT || glp_mip_status(lp) == GLP_FEAS)
        emit_columns(lp, r);
    else
        for (int i = 0; i < r->n_channels; i++)
            qh_trade_emit(&r->channel[i], &(qh_trade_plan){0});
    r->truncated = r->truncated || failed || glp_mip_status(lp) != GLP_OPT;
    r->candidates++;
out:
    qh_mem_free(value);
    qh_mem_free(column);
    glp_delete_prob(lp);
    return st;
}

static qh_status solve(const qh_tradeoff *p, qh_tradeoff_work *w, uint8_t *width, double *z,
                       qh_tradeoff_answer *out)
{
    return qh_trade_run(p, w, solve_round, true, width, z, out);
}

const qh_tradeoff_solver qh_tradeoff_glpk = {
    .name = "glpk",
    .help = "a general integer program, a minute at most: for checking small problems",
    .solve = solve,
};
