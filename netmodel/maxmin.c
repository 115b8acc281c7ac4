#include "netmodel/maxmin_parts.h"
#include "src/base/mem.h"

enum { FIRST_WHOLE_RUN = 16, MOST_WHOLE_RUN = 256 };

qh_status qh_maxmin_new(int32_t n_links, const int64_t *capacity, int32_t longest, qh_maxmin **out)
{
    qh_maxmin *m = NULL;
    qh_status st;

    QH_ASSERT(n_links >= 0 && longest >= 1 && longest <= INT16_MAX);
    QH_TRY(st, QH_NEW(&m));
    m->n_links = n_links;
    m->longest = longest;
    m->whole_run = FIRST_WHOLE_RUN;
    QH_TRY(st, QH_NEW_ARRAY(&m->link, n_links));
    QH_TRY(st, QH_NEW_ARRAY(&m->queue, n_links));
    QH_TRY(st, QH_NEW_ARRAY(&m->batch, n_links));
    QH_TRY(st, QH_NEW_ARRAY(&m->left, n_links));
    QH_TRY(st, QH_NEW_ARRAY(&m->heap, n_links));
    QH_TRY(st, QH_NEW_ARRAY(&m->touched, n_links));
    for (int32_t i = 0; i < n_links; i++) {
        QH_ASSERT(capacity[i] >= 0);
        m->link[i].capacity = capacity[i];
        m->link[i].place = -1;
    }
    *out = m;
    m = NULL;
out:
    qh_maxmin_free(m);
    return st;
}

void qh_maxmin_free(qh_maxmin *m)
{
    if (!m)
        return;
    for (int32_t i = 0; m->link && i < m->n_links; i++)
        qh_mem_free(m->link[i].item);
    qh_mem_free(m->moved);
    qh_mem_free(m->final);
    qh_mem_free(m->place);
    qh_mem_free(m->route);
    qh_mem_free(m->mark);
    qh_mem_free(m->flow);
    qh_mem_free(m->touched);
    qh_mem_free(m->heap);
    qh_mem_free(m->left);
    qh_mem_free(m->batch);
    qh_mem_free(m->queue);
    qh_mem_free(m->link);
    qh_mem_free(m);
}

qh_status qh_maxmin_reserve(qh_maxmin *m, int32_t n)
{
    int32_t had = m->capacity;
    qh_status st = QH_OK;

    if (n <= had)
        return QH_OK;
    QH_TRY(st, QH_RESIZE(&m->flow, had, n));
    QH_TRY(st, QH_RESIZE(&m->mark, had, n));
    QH_TRY(st, QH_RESIZE(&m->route, (int64_t)had * m->longest, (int64_t)n * m->longest));
    QH_TRY(st, QH_RESIZE(&m->place, (int64_t)had * m->longest, (int64_t)n * m->longest));
    QH_TRY(st, QH_RESIZE(&m->final, had, n));
    QH_TRY(st, QH_RESIZE(&m->moved, had, n));
    m->capacity = n;
out:
    return st;
}

/* Looking only where something changes pays as long as that is a part; where each change goes
 * through everything, everything is solved anew for a while, which is the cheaper walk. */
static void choose_way(qh_maxmin *m)
{
    bool many = m->n_changes > m->n_items / 4;

    if (m->way != QH_MAXMIN_ADAPT) {
        m->whole = m->way == QH_MAXMIN_WHOLE;
    } else if (m->n_whole > 0) {
        m->n_whole--;
        m->whole = true;
    } else if (many) {
        m->whole = true;
    } else if (!m->whole && m->n_visits > m->n_items + 16) {
        m->n_whole = m->whole_run;
        m->whole_run = 2 * m->whole_run < MOST_WHOLE_RUN ? 2 * m->whole_run : MOST_WHOLE_RUN;
        m->whole = true;
    } else {
        if (!m->whole)
            m->whole_run = FIRST_WHOLE_RUN;
        m->whole = false;
    }
    m->n_visits = 0;
    m->n_changes = 0;
}

void qh_maxmin_solve(qh_maxmin *m)
{
    if (m->solved)
        m->n_touched = 0;
    m->n_moved = 0;
    choose_way(m);
    if (m->whole)
        qh_maxmin_solve_whole(m);
    else
        qh_maxmin_solve_part(m);
    for (int32_t i = 0; i < m->n_touched; i++)
        m->link[m->touched[i]].touched = m->link[m->touched[i]].done = false;
    m->solved = true;
}

/* --- what there is --- */

qh_status qh_maxmin_promise(qh_maxmin *m, int32_t flow, const int32_t *links, int32_t n)
{
    qh_status st = QH_OK;

    QH_ASSERT(flow < m->capacity && n >= 1 && n <= m->longest && !m->flow[flow].active);
    for (int32_t s = 0; s < n; s++) {
        qh_maxmin_link *l = &m->link[links[s]];

        if (l->n_promised == l->n_room) {
            int32_t more = l->n_room ? 2 * l->n_room : 8;

            QH_TRY(st, QH_RESIZE(&l->item, l->n_room, more));
            l->n_room = more;
        }
    }
    for (int32_t s = 0; s < n; s++) {
        qh_maxmin_route(m, flow)[s] = links[s];
        m->link[links[s]].n_promised++;
    }
    if (n < m->longest)
        qh_maxmin_route(m, flow)[n] = -1;
    m->flow[flow] = (qh_maxmin_flow){.from = -1, .n_links = n};
    m->mark[flow].at = -1;
out:
    return st;
}

void qh_maxmin_add(qh_maxmin *m, int32_t flow)
{
    qh_maxmin_flow *f = &m->flow[flow];

    f->active = true;
    f->state = QH_MAXMIN_LOOSE;
    for (int32_t s = 0; s < f->n_links; s++) {
        int32_t link = qh_maxmin_route(m, flow)[s];
        qh_maxmin_link *l = &m->link[link];

        m->place[(int64_t)flow * m->longest + s] = l->n;
        l->item[l->n++] = (qh_maxmin_item){flow, s};
        l->n_loose++;
        qh_maxmin_consider(m, link);
    }
    m->n_items += f->n_links;
    m->n_changes += f->n_links;
}

void qh_maxmin_remove(qh_maxmin *m, int32_t flow)
{
    qh_maxmin_flow *f = &m->flow[flow];
    bool loose = f->state == QH_MAXMIN_LOOSE;
    int64_t rate = loose ? 0 : qh_maxmin_rate(m, flow);

    for (int32_t s = 0; s < f->n_links; s++) {
        int32_t link = qh_maxmin_route(m, flow)[s];
        int32_t hole = m->place[(int64_t)flow * m->longest + s];
        qh_maxmin_link *l = &m->link[link];
        qh_maxmin_item last = l->item[--l->n];

        l->item[hole] = last;
        m->place[(int64_t)last.flow * m->longest + last.slot] = hole;
        l->n_promised--;
        l->load -= rate;
        l->n_loose -= loose;
        l->n_own -= !loose && m->mark[flow].at == link;
        qh_maxmin_consider(m, link);
    }
    m->n_items -= f->n_links;
    m->n_changes += f->n_links;
    f->active = false;
}

void qh_maxmin_set_capacity(qh_maxmin *m, int32_t link, int64_t capacity)
{
    qh_maxmin_link *l = &m->link[link];

    QH_ASSERT(capacity >= 0);
    l->capacity = capacity;
    for (int32_t i = 0; i < l->n; i++)
        if (m->flow[l->item[i].flow].state == QH_MAXMIN_FIXED)
            qh_maxmin_open_flow(m, l->item[i].flow);
    qh_maxmin_consider(m, link);
}
