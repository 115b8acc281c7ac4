#include "netmodel/maxmin.h"

#include "src/base/mem.h"

/* A link with nothing to decide. */
static const int64_t NO_KEY = INT64_MAX;
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
    qh_mem_free(m->flow);
    qh_mem_free(m->touched);
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
    QH_TRY(st, QH_RESIZE(&m->route, (int64_t)had * m->longest, (int64_t)n * m->longest));
    QH_TRY(st, QH_RESIZE(&m->place, (int64_t)had * m->longest, (int64_t)n * m->longest));
    QH_TRY(st, QH_RESIZE(&m->final, had, n));
    QH_TRY(st, QH_RESIZE(&m->moved, had, n));
    m->capacity = n;
out:
    return st;
}

static int32_t *route_of(const qh_maxmin *m, int32_t flow)
{
    return m->route + (int64_t)flow * m->longest;
}

/* --- the queue: links by (key, number), four children a node --- */

static bool before(const qh_maxmin *m, int32_t a, int32_t b)
{
    int64_t ka = m->link[a].key, kb = m->link[b].key;

    return ka < kb || (ka == kb && a < b);
}

static void rise(qh_maxmin *m, int32_t i, int32_t link)
{
    while (i > 0 && before(m, link, m->queue[(i - 1) / 4])) {
        m->queue[i] = m->queue[(i - 1) / 4];
        m->link[m->queue[i]].place = i;
        i = (i - 1) / 4;
    }
    m->queue[i] = link;
    m->link[link].place = i;
}

static int32_t pop(qh_maxmin *m)
{
    int32_t first = m->queue[0], last = m->queue[--m->n_queue], i = 0;

    m->link[first].place = -1;
    if (m->n_queue == 0)
        return first;
    for (;;) {
        int32_t child = 4 * i + 1, end = child + 4 < m->n_queue ? child + 4 : m->n_queue,
                best = child;

        if (child >= m->n_queue)
            break;
        for (int32_t c = child + 1; c < end; c++)
            if (before(m, m->queue[c], m->queue[best]))
                best = c;
        if (!before(m, m->queue[best], last))
            break;
        m->queue[i] = m->queue[best];
        m->link[m->queue[i]].place = i;
        i = best;
    }
    m->queue[i] = last;
    m->link[last].place = i;
    return first;
}

static void push(qh_maxmin *m, int32_t link, int64_t key)
{
    qh_maxmin_link *l = &m->link[link];

    if (l->place >= 0 && l->key <= key)
        return;
    l->key = key;
    rise(m, l->place >= 0 ? l->place : m->n_queue++, link);
}

static void touch(qh_maxmin *m, int32_t link)
{
    if (m->solved) { /* the first change after a solve starts a new list */
        m->solved = false;
        m->n_touched = 0;
    }
    if (m->link[link].touched)
        return;
    m->link[link].touched = true;
    m->touched[m->n_touched++] = link;
}

/* --- levels --- */

/* What the link could give to its own and its loose flows if all others kept their rates. Flows
 * faster than that would have to be held back here too, which only leaves more for the rest: so
 * this is never more than the level. Nor is an equal share for all. */
static int64_t bound(const qh_maxmin_link *l)
{
    int64_t left = (int64_t)l->n_own + l->n_loose;
    int64_t rest = l->capacity - l->load + (l->n_own ? l->n_own * l->level : 0);

    if (rest < 0)
        return l->capacity / l->n;
    return left ? rest / left : NO_KEY;
}

/* The link has something to decide. Until its own flows are loosened it must come up no later than
 * at its present level, for above it they would be faster. */
static void consider(qh_maxmin *m, int32_t link)
{
    qh_maxmin_link *l = &m->link[link];
    int64_t key = bound(l);

    touch(m, link);
    if (key != NO_KEY)
        push(m, link, l->n_own && key > l->level ? l->level : key);
}

static bool is_open(const qh_maxmin_flow *f, int32_t link)
{
    return f->state == QH_MAXMIN_LOOSE || (f->state == QH_MAXMIN_FIXED && f->at == link);
}

/* The level of a link, as things are. All other flows are as fast as `top` at most; where the
 * bound is below, those that are faster than the level are found, from below. */
static int64_t evaluate(qh_maxmin *m, int32_t link)
{
    qh_maxmin_link *l = &m->link[link];
    int64_t key = bound(l);

    if (key == NO_KEY || m->whole || (key >= (l->n_own ? l->level : l->top)))
        return key;
    for (;;) {
        int64_t rest = l->capacity, left = 0, top = 0, next;

        for (int32_t i = 0; i < l->n; i++) {
            const qh_maxmin_flow *f = &m->flow[l->item[i].flow];
            bool open = is_open(f, link);

            if (!open && f->rate > top)
                top = f->rate;
            if (open || f->rate > key)
                left++;
            else
                rest -= f->rate;
        }
        m->n_visits += l->n;
        if (l->n_own == 0)
            l->top = top;
        next = left ? rest / left : NO_KEY;
        if (next == key || left == 0)
            return next;
        key = next;
    }
}

/* A flow's rate is open again, on all of its links. */
static void open_flow(qh_maxmin *m, int32_t flow)
{
    qh_maxmin_flow *f = &m->flow[flow];

    f->state = QH_MAXMIN_LOOSE;
    for (int32_t s = 0; s < f->n_links; s++) {
        int32_t link = route_of(m, flow)[s];

        m->link[link].load -= f->rate;
        m->link[link].n_loose++;
        m->link[link].n_own -= f->at == link;
        consider(m, link);
    }
}

/* The link's level will be higher: so will be the rates of its own flows. */
static void loosen(qh_maxmin *m, int32_t link)
{
    qh_maxmin_link *l = &m->link[link];

    for (int32_t i = 0; i < l->n; i++) {
        const qh_maxmin_flow *f = &m->flow[l->item[i].flow];

        if (f->state == QH_MAXMIN_FIXED && f->at == link)
            open_flow(m, l->item[i].flow);
    }
    m->n_visits += l->n;
}

/* The flow is held back by a link, at a rate that is final. */
static void finalise(qh_maxmin *m, int32_t flow, int32_t link, int64_t rate)
{
    qh_maxmin_flow *f = &m->flow[flow];
    const int32_t *route = route_of(m, flow);
    bool was_loose = f->state == QH_MAXMIN_LOOSE;
    int64_t more = was_loose ? rate : rate - f->rate;
    int32_t was_at = f->at;

    f->state = QH_MAXMIN_FINAL;
    f->rate = rate;
    f->next = link;
    m->final[m->n_final++] = flow;
    for (int32_t s = 0; s < f->n_links; s++) {
        int32_t other = route[s];
        qh_maxmin_link *o = &m->link[other];

        o->load += more;
        if (rate > o->top)
            o->top = rate;
        if (was_loose) {
            o->n_loose--;
            continue;
        }
        if (was_at == other) {
            o->n_own--;
            touch(m, other);
        }
        if (o->n_own && !o->done) /* slower than it was: the link has more for its own */
            consider(m, other);
    }
}

/* --- a solve --- */

static void into_batch(qh_maxmin *m, int32_t link)
{
    m->batch[m->n_batch++] = link;
}

static void empty_batch(qh_maxmin *m, int64_t key)
{
    for (int32_t i = 0; i < m->n_batch; i++)
        push(m, m->batch[i], key);
    m->n_batch = 0;
}

/* All links of the lowest level that is still open, into the batch. Together, because a link that
 * is full at the very level of another must not gain the remainder of a division by coming second:
 * the rates would depend on an order. */
static int64_t collect(qh_maxmin *m)
{
    int64_t lowest = NO_KEY;

    m->n_batch = 0;
    while (m->n_queue > 0 && m->link[m->queue[0]].key <= lowest) {
        int32_t link = pop(m);
        qh_maxmin_link *l = &m->link[link];
        int64_t key = l->done ? NO_KEY : evaluate(m, link);

        if (key == NO_KEY)
            continue;
        if (l->n_own && key > l->level) {
            loosen(m, link);
            empty_batch(m, lowest);
            lowest = NO_KEY;
        } else if (key < lowest) {
            empty_batch(m, lowest);
            lowest = key;
            into_batch(m, link);
        } else if (key == lowest) {
            into_batch(m, link);
        } else {
            push(m, link, key);
        }
    }
    return lowest;
}

static void fill(qh_maxmin *m, int32_t link, int64_t level)
{
    qh_maxmin_link *l = &m->link[link];
    bool same = l->n_own && l->level == level;

    for (int32_t i = 0; i < l->n; i++) {
        int32_t flow = l->item[i].flow;
        const qh_maxmin_flow *f = &m->flow[flow];

        if (f->state == QH_MAXMIN_LOOSE ||
            (f->state == QH_MAXMIN_FIXED && (f->at == link ? !same : f->rate > level)))
            finalise(m, flow, link, level);
    }
    l->level = level;
    m->n_visits += l->n;
}

/* Forgets all rates. */
static void open_all(qh_maxmin *m)
{
    for (int32_t flow = 0; flow < m->capacity; flow++)
        if (m->flow[flow].active)
            m->flow[flow].state = QH_MAXMIN_LOOSE;
    for (int32_t link = 0; link < m->n_links; link++) {
        qh_maxmin_link *l = &m->link[link];

        l->load = 0;
        l->n_own = 0;
        l->n_loose = l->n;
        if (l->n)
            consider(m, link);
    }
}

/* Flows stay with their old bottleneck where it still holds them back as well. */
static void settle_flows(qh_maxmin *m)
{
    m->n_moved = 0;
    for (int32_t i = 0; i < m->n_final; i++) {
        int32_t flow = m->final[i];
        qh_maxmin_flow *f = &m->flow[flow];

        f->state = QH_MAXMIN_FIXED;
        if (f->at < 0 || !m->link[f->at].done || m->link[f->at].level != f->rate) {
            if (f->at != f->next) {
                f->from = f->at;
                m->moved[m->n_moved++] = flow;
            }
            f->at = f->next;
        }
        m->link[f->at].n_own++;
    }
    m->n_final = 0;
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
    int64_t level;

    if (m->solved)
        m->n_touched = 0;
    choose_way(m);
    if (m->whole)
        open_all(m);
    while ((level = collect(m)) != NO_KEY) {
        for (int32_t i = 0; i < m->n_batch; i++)
            m->link[m->batch[i]].done = true;
        for (int32_t i = 0; i < m->n_batch; i++)
            fill(m, m->batch[i], level);
    }
    settle_flows(m);
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
        route_of(m, flow)[s] = links[s];
        m->link[links[s]].n_promised++;
    }
    m->flow[flow] = (qh_maxmin_flow){.at = -1, .from = -1, .n_links = (int16_t)n};
out:
    return st;
}

void qh_maxmin_add(qh_maxmin *m, int32_t flow)
{
    qh_maxmin_flow *f = &m->flow[flow];

    f->active = true;
    f->state = QH_MAXMIN_LOOSE;
    for (int32_t s = 0; s < f->n_links; s++) {
        int32_t link = route_of(m, flow)[s];
        qh_maxmin_link *l = &m->link[link];

        m->place[(int64_t)flow * m->longest + s] = l->n;
        l->item[l->n++] = (qh_maxmin_item){flow, s};
        l->n_loose++;
        consider(m, link);
    }
    m->n_items += f->n_links;
    m->n_changes += f->n_links;
}

void qh_maxmin_remove(qh_maxmin *m, int32_t flow)
{
    qh_maxmin_flow *f = &m->flow[flow];

    for (int32_t s = 0; s < f->n_links; s++) {
        int32_t link = route_of(m, flow)[s];
        int32_t hole = m->place[(int64_t)flow * m->longest + s];
        qh_maxmin_link *l = &m->link[link];
        qh_maxmin_item last = l->item[--l->n];

        l->item[hole] = last;
        m->place[(int64_t)last.flow * m->longest + last.slot] = hole;
        l->n_promised--;
        if (f->state == QH_MAXMIN_LOOSE)
            l->n_loose--;
        else
            l->load -= f->rate;
        l->n_own -= f->at == link && f->state != QH_MAXMIN_LOOSE;
        consider(m, link);
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
            open_flow(m, l->item[i].flow);
    consider(m, link);
}
