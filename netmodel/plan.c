#include "netmodel/plan.h"

#include "netmodel/fairshare.h"
#include "netmodel/heap.h"
#include "netmodel/topo_links.h"
#include "src/base/file.h"
#include "src/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 30, MAX_DEVICES = 1 << 16, DONE_CAPACITY = 256 };

/* An id and its flow, to look up by text. */
typedef struct id {
    const char *text; /* borrowed from the plan */
    int32_t flow;
} id;

typedef struct reader {
    const qh_yaml *y;
    const qh_yaml_node *map, *flows;
    qh_plan *plan;
    id *ids; /* owned, by text */
    int64_t n_after;
} reader;

void qh_plan_fini(qh_plan *p)
{
    for (int64_t i = 0; p->flow && i < p->n_flows; i++)
        qh_mem_free(p->flow[i].id);
    qh_mem_free(p->after);
    qh_mem_free(p->flow);
    qh_mem_free(p->name);
    *p = (qh_plan){0};
}

static int by_text(const void *a, const void *b)
{
    const id *x = a, *y = b;
    int order = strcmp(x->text, y->text);

    return order ? order : (x->flow > y->flow) - (x->flow < y->flow);
}

/* --- reading --- */

static bool is_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return digits > 0 && digits < 18 && text[digits] == '\0' && (text[0] != '0' || digits == 1);
}

static qh_status read_start(const reader *r, const qh_yaml_node *map, qh_time *out)
{
    const qh_yaml_node *node = qh_yaml_get(map, "earliest_start");
    const char *text = NULL;
    double seconds = 0;
    qh_status st = QH_OK;

    if (!node)
        return QH_OK;
    QH_TRY(st, qh_yaml_text(r->y, node, "earliest_start", &text));
    if (text[0] && strchr("sS", text[strlen(text) - 1]))
        return qh_yaml_duration(r->y, map, "earliest_start", true, out);
    QH_TRY(st, qh_yaml_real(r->y, map, "earliest_start", true, 0, 9e6, &seconds));
    *out = qh_time_of_seconds(seconds);
out:
    return st;
}

static qh_status read_flow(reader *r, const qh_yaml_node *map, qh_plan_flow *f)
{
    /* The last three are answers that a file may carry along. */
    static const char *const keys[] = {
        "id",           "src",           "dst", "bytes", "after", "start", "earliest_start",
        "finish_exact", "finish_simgrid"};
    const qh_yaml_node *name = NULL;
    const char *text = NULL;
    int64_t src = 0, dst = 0, last = (r->plan->n_devices ? r->plan->n_devices : MAX_DEVICES) - 1;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(r->y, map, keys, (int64_t)QH_COUNT(keys)));
    name = qh_yaml_get(map, "id");
    if (!name)
        return qh_yaml_fail(r->y, map, "the key 'id' is missing");
    QH_TRY(st, qh_yaml_text(r->y, name, "id", &text));
    QH_TRY(st, qh_mem_strdup(text, &f->id));
    f->id_is_number = is_number(text);
    QH_TRY(st, qh_yaml_int(r->y, map, "src", true, 0, last, &src));
    QH_TRY(st, qh_yaml_int(r->y, map, "dst", true, 0, last, &dst));
    if (src == dst)
        return qh_yaml_fail(r->y, map,
                            "flow '%s' goes from device %lld to itself; src and dst "
                            "differ",
                            text, (long long)src);
    f->src = (int32_t)src;
    f->dst = (int32_t)dst;
    QH_TRY(st, qh_yaml_int(r->y, map, "bytes", true, 0, INT64_MAX, &f->bytes));
    QH_TRY(st, read_start(r, map, &f->earliest));
out:
    return st;
}

static qh_status sort_ids(reader *r)
{
    const qh_plan *p = r->plan;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&r->ids, p->n_flows));
    for (int64_t i = 0; i < p->n_flows; i++)
        r->ids[i] = (id){p->flow[i].id, (int32_t)i};
    qsort(r->ids, (size_t)p->n_flows, sizeof *r->ids, by_text);
    for (int64_t i = 1; i < p->n_flows; i++)
        if (strcmp(r->ids[i - 1].text, r->ids[i].text) == 0)
            return qh_yaml_fail(
                r->y, qh_yaml_item(r->flows, r->ids[i].flow),
                "flow '%s' is there twice (first at %s); give each an id of its own",
                r->ids[i].text, qh_yaml_where(r->y, qh_yaml_item(r->flows, r->ids[i - 1].flow)));
out:
    return st;
}

static qh_status read_after(reader *r, const qh_yaml_node *node, int32_t *out)
{
    id key = {.flow = -1};
    const char *text = NULL;
    int64_t low = 0, high = r->plan->n_flows;
    qh_status st;

    QH_TRY(st, qh_yaml_text(r->y, node, "a flow of after", &text));
    key.text = text;
    while (low < high) { /* flow -1 comes before all of the same text */
        int64_t middle = low + (high - low) / 2;

        if (by_text(&r->ids[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == r->plan->n_flows || strcmp(r->ids[low].text, text) != 0)
        return qh_yaml_fail(r->y, node, "after names flow '%s', and there is none", text);
    *out = r->ids[low].flow;
out:
    return st;
}

static qh_status read_afters(reader *r)
{
    qh_plan *p = r->plan;
    int64_t n = 0;
    qh_status st;

    for (int64_t i = 0; i < p->n_flows; i++) {
        const qh_yaml_node *list = qh_yaml_get(qh_yaml_item(r->flows, i), "after");

        if (list && !qh_yaml_is_sequence(list))
            return qh_yaml_fail(r->y, list, "'after' is to be a list of flows; after: [0, 1]");
        p->flow[i].first_after = n;
        p->flow[i].n_after = list ? qh_yaml_size(list) : 0;
        n += p->flow[i].n_after;
    }
    QH_TRY(st, QH_NEW_ARRAY(&p->after, n));
    for (int64_t i = 0; i < p->n_flows; i++)
        for (int64_t k = 0; k < p->flow[i].n_after; k++)
            QH_TRY(st,
                   read_after(r, qh_yaml_item(qh_yaml_get(qh_yaml_item(r->flows, i), "after"), k),
                              &p->after[p->flow[i].first_after + k]));
out:
    return st;
}

static qh_status read_flows(reader *r)
{
    qh_plan *p = r->plan;
    int named = 0;
    qh_status st;

    r->flows = qh_yaml_get(r->map, "flows");
    if (!r->flows || !qh_yaml_is_sequence(r->flows))
        return qh_yaml_fail(r->y, r->flows ? r->flows : r->map,
                            "'flows' is to be a list; flows: [{id: 0, src: 0, dst: 1, bytes: "
                            "1000}, ...]");
    QH_TRY(st, QH_NEW_ARRAY(&p->flow, qh_yaml_size(r->flows)));
    p->n_flows = qh_yaml_size(r->flows);
    for (int64_t i = 0; i < p->n_flows; i++) {
        qh_plan_flow *f = &p->flow[i];

        QH_TRY(st, read_flow(r, qh_yaml_item(r->flows, i), f));
        named = f->src >= named ? f->src + 1 : named;
        named = f->dst >= named ? f->dst + 1 : named;
    }
    if (p->n_devices == 0)
        p->n_devices = named > 1 ? named : 2;
    QH_TRY(st, sort_ids(r));
    QH_TRY(st, read_afters(r));
out:
    return st;
}

static qh_status read_document(reader *r, qh_netmodel **links)
{
    static const char *const keys[] = {
        "flows",       "links",       "routes",           "devices",       "name",
        "description", "max_rel_dev", "makespan_simgrid", "makespan_exact"};
    int64_t devices = 0;
    qh_topo *t = NULL;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(r->y, r->map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, qh_yaml_int(r->y, r->map, "devices", false, 1, MAX_DEVICES, &devices));
    r->plan->n_devices = (int)devices;
    r->plan->has_links = qh_yaml_get(r->map, "links") || qh_yaml_get(r->map, "routes");
    if (r->plan->has_links && links) {
        QH_TRY(st, qh_topo_links_read(r->y, r->map, (int)devices, false, &t));
        r->plan->n_devices = t->n_devices;
        QH_TRY(st, qh_fairshare_new(t, links));
    }
    QH_TRY(st, read_flows(r));
out:
    return st;
}

qh_status qh_plan_read(const char *path, qh_plan *out, qh_netmodel **links)
{
    qh_plan p = {0};
    reader r = {.plan = &p};
    qh_netmodel *net = NULL;
    qh_yaml *y = NULL;
    char *text = NULL;
    qh_status st;

    QH_TRY(st, qh_file_read_text(path, MAX_FILE_BYTES, &text));
    QH_TRY(st, qh_yaml_parse(path, text, (int64_t)strlen(text), QH_EINPUT, &y));
    QH_TRY(st, qh_mem_strdup(path, &p.name));
    r.y = y;
    r.map = qh_yaml_root(y);
    QH_TRY(st, read_document(&r, links ? &net : NULL));
    if (links)
        *links = net;
    net = NULL;
    *out = p;
    p = (qh_plan){0};
out:
    qh_netmodel_close(net);
    qh_plan_fini(&p);
    qh_mem_free(r.ids);
    qh_yaml_free(y);
    qh_mem_free(text);
    return st;
}

/* --- running --- */

typedef struct runner {
    qh_plan *plan;
    qh_netmodel *net;
    int64_t *first_next; /* owned, [n_flows + 1]: of a flow's followers in follower */
    int32_t *follower;   /* owned */
    int64_t *open;       /* owned, [n_flows]: flows to be waited for */
    qh_heap ready;       /* id: flow */
} runner;

static void runner_fini(runner *r)
{
    qh_heap_fini(&r->ready);
    qh_mem_free(r->open);
    qh_mem_free(r->follower);
    qh_mem_free(r->first_next);
}

/* after, turned round: who waits for a flow. */
static qh_status find_followers(runner *r)
{
    const qh_plan *p = r->plan;
    int64_t n = p->n_flows, n_after = n ? p->flow[n - 1].first_after + p->flow[n - 1].n_after : 0;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&r->first_next, n + 2));
    QH_TRY(st, QH_NEW_ARRAY(&r->follower, n_after));
    QH_TRY(st, QH_NEW_ARRAY(&r->open, n));
    for (int64_t k = 0; k < n_after; k++)
        r->first_next[p->after[k] + 2]++;
    for (int64_t i = 2; i < n + 2; i++)
        r->first_next[i] += r->first_next[i - 1];
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < p->flow[i].n_after; k++)
            r->follower[r->first_next[p->after[p->flow[i].first_after + k] + 1]++] = (int32_t)i;
out:
    return st;
}

static qh_status make_ready(runner *r, int64_t flow)
{
    const qh_plan_flow *f = &r->plan->flow[flow];

    return qh_heap_push(&r->ready, (qh_event){f->start, (uint64_t)flow, flow});
}

static qh_status deliver(runner *r, qh_time now)
{
    qh_plan *p = r->plan;
    int64_t done[DONE_CAPACITY], n;
    qh_status st = QH_OK;

    while ((n = r->net->ops->advance(r->net, now, done, DONE_CAPACITY)) > 0)
        for (int64_t i = 0; i < n; i++) {
            p->flow[done[i]].finish = p->makespan = now;
            for (int64_t k = r->first_next[done[i]]; k < r->first_next[done[i] + 1]; k++) {
                int32_t next = r->follower[k];

                if (p->flow[next].start < now)
                    p->flow[next].start = now;
                if (--r->open[next] == 0)
                    QH_TRY(st, make_ready(r, next));
            }
        }
    st = n < 0 ? (qh_status)n : QH_OK;
out:
    return st;
}

static qh_status start(runner *r)
{
    qh_event e = qh_heap_pop(&r->ready);
    const qh_plan_flow *f = &r->plan->flow[e.id];
    qh_flow flow = {.id = e.id, .src = f->src, .dst = f->dst, .bytes = f->bytes};

    return r->net->ops->start(r->net, e.at, &flow);
}

static qh_status check_all(const qh_plan *p)
{
    for (int64_t i = 0; i < p->n_flows; i++)
        for (int64_t k = 0; p->flow[i].finish < 0 && k < p->flow[i].n_after; k++)
            if (p->flow[p->after[p->flow[i].first_after + k]].finish < 0)
                return qh_fail(QH_EINPUT,
                               "%s: flow '%s' waits for flow '%s', which waits in a circle; let "
                               "one of them start by itself",
                               p->name, p->flow[i].id,
                               p->flow[p->after[p->flow[i].first_after + k]].id);
    return QH_OK;
}

qh_status qh_plan_run(qh_plan *p, qh_netmodel *net)
{
    runner r = {.plan = p, .net = net};
    qh_status st;

    QH_ASSERT(net->n_devices >= p->n_devices);
    p->makespan = 0;
    QH_TRY(st, find_followers(&r));
    for (int64_t i = 0; i < p->n_flows; i++) {
        p->flow[i].start = p->flow[i].earliest;
        p->flow[i].finish = -1;
        r.open[i] = p->flow[i].n_after;
        if (r.open[i] == 0)
            QH_TRY(st, make_ready(&r, i));
    }
    for (;;) {
        qh_time end = net->ops->next(net), begin = qh_heap_next(&r.ready);

        if (end == QH_TIME_NEVER && r.ready.n == 0)
            break;
        QH_TRY(st, end <= begin ? deliver(&r, end) : start(&r));
    }
    QH_TRY(st, check_all(p));
out:
    runner_fini(&r);
    return st;
}
