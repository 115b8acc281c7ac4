#include "sim/cluster.h"

#include "sim/gather.h"
#include "sim/scenario_parts.h"
#include "src/base/mem.h"
#include "src/transport/collective.h"

#include <string.h>

typedef struct rank_run {
    const qh_cluster *cluster;
    qh_scenario scenario;
    qh_collective *sums; /* owned */
    qh_gather *gather;   /* owned */
    qh_team *team;       /* owned */
    qh_trainer *trainer; /* owned */
} rank_run;

/* --- who has what --- */

/* Rank 0 cuts the graph and tells the others: a partitioner may take long, and is not the same in
 * every version of a library. */
static qh_status share_ids(rank_run *r)
{
    qh_scenario *c = &r->scenario;
    qh_transport *t = r->cluster->transport;
    int rank = r->cluster->rank;
    int64_t bytes = c->dataset->graph->n_nodes * (int64_t)sizeof *c->part;
    qh_transfer x;
    qh_status st;

    if (rank == 0)
        QH_TRY(st, qh_scenario_ids(c));
    else
        QH_TRY(st, QH_NEW_ARRAY(&c->part, c->dataset->graph->n_nodes));
    qh_transport_use_lane(t, rank, QH_LANE_OTHER);
    for (int p = 1; rank == 0 && p < t->n_ranks; p++) {
        QH_TRY(st, t->ops->send_begin(t, 0, p, c->part, bytes, &x));
        QH_TRY(st, t->ops->send_finish(t, 0, &x));
    }
    if (rank > 0) {
        QH_TRY(st, t->ops->recv_begin(t, rank, 0, c->part, bytes, &x));
        QH_TRY(st, t->ops->recv_finish(t, rank, &x));
        t->ops->recv_release(t, rank, &x);
    }
out:
    qh_transport_use_lane(t, rank, QH_LANE_EXCHANGE);
    return st;
}

static qh_status take_part(rank_run *r)
{
    const qh_part *p = r->cluster->part;
    qh_scenario *c = &r->scenario;
    char name[4096];
    qh_status st;

    snprintf(name, sizeof name, "file:%s", c->settings->partition_file);
    QH_TRY(st, qh_mem_strdup(name, &c->result->partition_method));
    c->result->partition = p->figures;
    QH_TRY(st, QH_NEW_ARRAY(&c->result->inner_nodes, p->n_parts));
    memcpy(c->result->inner_nodes, p->inner_nodes, (size_t)p->n_parts * sizeof *p->inner_nodes);
out:
    return st;
}

static qh_status build_partition(rank_run *r)
{
    qh_scenario *c = &r->scenario;
    qh_status st;

    if (r->cluster->part)
        return take_part(r);
    QH_TRY(st, share_ids(r));
    if (r->cluster->rank == 0)
        QH_TRY(st, qh_scenario_measure(c));
    QH_TRY(st, qh_scenario_layout(c));
out:
    return st;
}

/* --- building --- */

/* All ranks of the machine count their CPUs alike, so each knows which are its own. */
static qh_status place(rank_run *r)
{
    qh_scenario *c = &r->scenario;
    int mine = r->cluster->index_here;
    const qh_placement *p;
    qh_status st;

    QH_TRY(st, qh_placement_new(r->cluster->n_here, (int)c->settings->threads, c->settings->pin,
                                &c->placement));
    p = c->placement;
    c->result->cores = p->n_cores;
    c->result->cores_shared = p->shared;
    QH_TRY(st, qh_placement_bind(&p->cpu_sets[mine][0]));
    QH_TRY(st, qh_team_new(p->team_size[mine], p->cpu_sets[mine], &r->team));
    QH_TRY(st, c->train.codec.kernels->prepare(p->team_size[mine]));
out:
    return st;
}

static qh_status build_gather(rank_run *r)
{
    qh_gather_config g = {.transport = r->cluster->transport,
                          .rank = r->cluster->rank,
                          .team = r->team,
                          .stamp = r->scenario.settings->compute == QH_COMPUTE_MEASURED,
                          .widths = r->cluster->widths};
    qh_status st;

    r->scenario.watch = true;
    if (r->cluster->rank == 0)
        QH_TRY(st, qh_scenario_meter(&r->scenario));
    g.meter = r->scenario.meter;
    QH_TRY(st, qh_gather_new(&g, &r->gather));
out:
    return st;
}

static qh_status build_trainer(rank_run *r)
{
    const qh_scenario *c = &r->scenario;
    qh_rank_context context = {.settings = &c->train,
                               .dataset = r->cluster->dataset,
                               .layout = c->layout,
                               .part = r->cluster->part,
                               .rank = r->cluster->rank,
                               .transport = r->cluster->transport,
                               .team = r->team,
                               .sink = qh_gather_sink(r->gather)};
    qh_status st;

    QH_TRY(st, qh_trainer_new(&context, &r->trainer));
    for (int l = 0; c->meter && l < c->train.model.n_layers; l++)
        qh_meter_set_columns(c->meter, l, qh_model_message_cols(qh_trainer_model(r->trainer), l));
out:
    return st;
}

static qh_status build(rank_run *r)
{
    qh_status st;

    QH_TRY(st, qh_scenario_models(&r->scenario));
    r->scenario.train.all_moves = true;
    QH_TRY(st, build_partition(r));
    QH_TRY(st, place(r));
    QH_TRY(st, build_gather(r));
    QH_TRY(st, build_trainer(r));
    QH_TRY(st, qh_collective_new(r->cluster->transport, r->cluster->rank, &r->sums));
out:
    return st;
}

static void dismantle(rank_run *r)
{
    qh_collective_free(r->sums);
    qh_trainer_free(r->trainer);
    qh_team_free(r->team);
    qh_gather_free(r->gather);
    qh_scenario_dismantle(&r->scenario);
}

/* --- running --- */

/* Also where all ranks meet before the first epoch. */
static qh_status tell_ready(rank_run *r)
{
    const qh_scenario *c = &r->scenario;
    const qh_observer *o = c->observer;
    qh_volume v;
    double bytes;
    qh_status st;

    QH_TRY(st, qh_trainer_volume(r->trainer, 0, &v));
    bytes = (double)v.bytes; /* below 2^53 */
    QH_TRY(st, qh_allreduce_double(r->sums, &bytes, 1));
    if (r->cluster->rank == 0 && o && o->ready)
        o->ready(o->ctx, c->settings, c->result, (int64_t)bytes);
out:
    return st;
}

/* Memory of the rank that has taken most; CPU time of all. */
static qh_status sum_up_hosts(rank_run *r)
{
    int n = r->cluster->transport->n_ranks;
    qh_result *result = r->scenario.result;
    double *peak = NULL;
    qh_status st;

    qh_scenario_measure_host(&r->scenario);
    QH_TRY(st, QH_NEW_ARRAY(&peak, n));
    peak[r->cluster->rank] = (double)result->peak_rss_bytes;
    QH_TRY(st, qh_allreduce_double(r->sums, peak, n));
    for (int p = 0; p < n; p++)
        if (peak[p] > (double)result->peak_rss_bytes)
            result->peak_rss_bytes = (int64_t)peak[p];
    QH_TRY(st, qh_allreduce_double(r->sums, &result->cpu_seconds, 1));
out:
    qh_mem_free(peak);
    return st;
}

static qh_status train(rank_run *r)
{
    qh_status st;

    QH_TRY(st, tell_ready(r));
    qh_gather_begin(r->gather);
    QH_TRY(st, qh_train(r->trainer, &r->scenario.result->train));
    QH_TRY(st, sum_up_hosts(r));
    if (r->cluster->rank == 0)
        QH_TRY(st, qh_scenario_finish(&r->scenario));
out:
    return st;
}

qh_status qh_cluster_run(const qh_settings *s, const qh_cluster *cluster, const qh_observer *o,
                         qh_result *out)
{
    qh_result result = {0};
    rank_run r = {.cluster = cluster,
                  .scenario = {.settings = s,
                               .dataset = cluster->part ? &cluster->part->facts : cluster->dataset,
                               .observer = o,
                               .result = &result}};
    qh_status st;

    QH_ASSERT(s->devices == cluster->transport->n_ranks);
    qh_scenario_begin_host(&r.scenario);
    QH_TRY(st, build(&r));
    st = train(&r);
    if (st < 0 && st != QH_EINTERRUPT)
        goto out;
    *out = result;
    result = (qh_result){0};
out:
    if (st < 0 && st != QH_EINTERRUPT)
        cluster->transport->ops->abort(cluster->transport, cluster->rank);
    dismantle(&r);
    qh_result_fini(&result);
    return st;
}
