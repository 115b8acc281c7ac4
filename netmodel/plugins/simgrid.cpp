/* SimGrid as a network model: its flow-level model (CM02, network/optim:Full) on the links and
 * routes of the description, which has the keys of `fairshare`. It is a reference, not a fast way:
 * an instance of SimGrid lasts as long as its process, so each model has a process of its own,
 * which is asked through a pair of pipes. */
#include "netmodel/plugin.h"
#include "netmodel/plugins/described.h"

#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>

#include <cmath>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sg = simgrid::s4u;

namespace
{

constexpr double PS = 1e-12;
constexpr int64_t NEVER = INT64_MAX;

/* --- the process with SimGrid --- */

enum class ask : int32_t { start, next, advance };

struct question {
    ask what;
    int32_t src, dst;
    int64_t id, bytes, now, capacity;
};

bool get(int from, void *to, size_t size)
{
    for (char *at = static_cast<char *>(to); size > 0;) {
        ssize_t n = read(from, at, size);

        if (n <= 0)
            return false;
        at += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

bool put(int to, const void *from, size_t size)
{
    return write(to, from, size) == static_cast<ssize_t>(size);
}

struct flight {
    int64_t id;
    sg::CommPtr comm;
};

struct world {
    std::vector<sg::Host *> host;
    std::vector<flight> flying; /* in the order in which they were started */
};

void build(const described_net *net, int n_devices, world &w)
{
    sg::NetZone *zone = sg::create_full_zone("zone");
    std::vector<const sg::Link *> link;
    std::vector<int32_t> route(static_cast<size_t>(described_net_longest(net)));

    for (int d = 0; d < n_devices; d++)
        w.host.push_back(zone->create_host("device " + std::to_string(d), 1e9));
    for (int i = 0; i < described_net_links(net); i++) /* names may be alike; SimGrid's must not */
        link.push_back(
            zone->create_link("link " + std::to_string(i), described_net_bytes_per_s(net, i))
                ->set_latency(PS * static_cast<double>(described_net_latency(net, i)))
                ->seal());
    for (int src = 0; src < n_devices; src++)
        for (int dst = 0; dst < n_devices; dst++) {
            int n = src == dst ? 0 : described_net_route(net, src, dst, route.data());
            std::vector<sg::LinkInRoute> hops;

            for (int i = 0; i < n; i++)
                hops.emplace_back(link[static_cast<size_t>(route[static_cast<size_t>(i)])]);
            if (n > 0)
                zone->add_route(w.host[src]->get_netpoint(), w.host[dst]->get_netpoint(), nullptr,
                                nullptr, hops, false);
        }
    zone->seal();
}

/* The first event of any model, rounded up to a picosecond. */
int64_t next_event(const world &w)
{
    double now = sg::Engine::get_clock(), soonest = -1;

    if (w.flying.empty())
        return NEVER;
    for (auto *model : sg::Engine::get_instance()->get_all_models()) {
        double ahead = model->next_occurring_event(now);

        if (ahead >= 0 && (soonest < 0 || ahead < soonest))
            soonest = ahead;
    }
    return soonest < 0 ? NEVER : static_cast<int64_t>(std::ceil((now + soonest) / PS));
}

/* A little past the picosecond, so that an event there has happened. */
void go_to(int64_t now)
{
    double date = std::nextafter(PS * static_cast<double>(now), 1e12);

    if (date > sg::Engine::get_clock())
        sg::Engine::get_instance()->run_until(date);
}

int64_t finished(world &w, int64_t capacity, std::vector<int64_t> &done)
{
    done.clear();
    for (size_t i = 0; i < w.flying.size() && static_cast<int64_t>(done.size()) < capacity;)
        if (w.flying[i].comm->get_state() == sg::Activity::State::FINISHED) {
            done.push_back(w.flying[i].id);
            w.flying.erase(w.flying.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            i++;
        }
    return static_cast<int64_t>(done.size());
}

[[noreturn]] void serve(const described_net *net, int n_devices, int from, int to)
{
    std::string arguments[] = {"qhalo",
                               "--log=root.thres:critical",
                               "--cfg=network/optim:Full",
                               "--cfg=network/model:CM02",
                               "--cfg=network/crosstraffic:0",
                               "--cfg=network/TCP-gamma:1e30",
                               "--cfg=network/bandwidth-factor:1.0",
                               "--cfg=network/latency-factor:1.0",
                               "--cfg=network/weight-S:0",
                               "--cfg=maxmin/precision:1e-14",
                               "--cfg=surf/precision:1e-14"};
    std::vector<char *> argv;
    std::vector<int64_t> done;
    question q;
    world w;

    for (auto &a : arguments)
        argv.push_back(&a[0]);
    int argc = static_cast<int>(argv.size());
    argv.push_back(nullptr);
    sg::Engine engine(&argc, argv.data());

    build(net, n_devices, w);
    while (get(from, &q, sizeof q)) {
        int64_t answer = 0;

        if (q.what == ask::start) {
            go_to(q.now);
            w.flying.push_back({q.id, sg::Comm::sendto_async(w.host[q.src], w.host[q.dst],
                                                             static_cast<uint64_t>(q.bytes))});
        } else if (q.what == ask::next) {
            answer = next_event(w);
        } else {
            go_to(q.now);
            answer = finished(w, q.capacity, done);
        }
        if (!put(to, &answer, sizeof answer) ||
            (q.what == ask::advance && answer > 0 &&
             !put(to, done.data(), static_cast<size_t>(answer) * sizeof(int64_t))))
            break;
    }
    _exit(0); /* without undoing what the parent shares */
}

/* --- the plug-in --- */

struct model {
    described_net *net;
    int n_devices;
    pid_t child;
    int to, from;
    int64_t now, next; /* next: as last asked, since it is asked often; -1: ask */
};

int64_t demand(model *m, const question &q)
{
    int64_t answer = 0;

    if (!put(m->to, &q, sizeof q) || !get(m->from, &answer, sizeof answer))
        return -1;
    return answer;
}

void destroy(void *p)
{
    auto *m = static_cast<model *>(p);

    if (m->to >= 0)
        close(m->to);
    if (m->from >= 0)
        close(m->from);
    if (m->child > 0)
        waitpid(m->child, nullptr, 0);
    described_net_free(m->net);
    delete m;
}

bool fork_child(model *m)
{
    int there[2], back[2];

    if (pipe(there) != 0)
        return false;
    if (pipe(back) != 0 || (m->child = fork()) < 0)
        return false;
    if (m->child == 0) {
        close(there[1]);
        close(back[0]);
        serve(m->net, m->n_devices, there[0], back[1]);
    }
    close(there[0]);
    close(back[1]);
    m->to = there[1];
    m->from = back[0];
    return true;
}

void *create(const char *text, int n_devices, char *error, size_t error_size)
{
    described_net *net = described_net_new(text, n_devices, error, error_size);

    if (!net)
        return nullptr;
    auto *m = new model{net, n_devices, 0, -1, -1, 0, -1};
    if (!fork_child(m)) {
        snprintf(error, error_size, "no process can be had for SimGrid; end some others");
        destroy(m);
        return nullptr;
    }
    return m;
}

int start(void *p, int64_t now, const qhalo_net_flow *f)
{
    auto *m = static_cast<model *>(p);

    m->next = -1;
    return demand(m, {ask::start, f->src, f->dst, f->id, f->bytes, now, 0}) < 0;
}

int64_t next(void *p)
{
    auto *m = static_cast<model *>(p);

    if (m->next < 0)
        m->next = demand(m, {ask::next, 0, 0, 0, 0, 0, 0});
    /* An event that SimGrid sees a rounding error ahead is of the next picosecond. */
    return m->next < 0 ? NEVER : m->next <= m->now ? m->now + 1 : m->next;
}

int64_t advance(void *p, int64_t now, int64_t *done, int64_t capacity)
{
    auto *m = static_cast<model *>(p);
    int64_t n = demand(m, {ask::advance, 0, 0, 0, 0, now, capacity});

    m->now = now;
    m->next = -1;
    if (n > 0 && !get(m->from, done, static_cast<size_t>(n) * sizeof *done))
        return -1;
    return n;
}

int64_t alone(void *p, int src, int dst, int64_t bytes)
{
    return described_net_alone(static_cast<model *>(p)->net, src, dst, bytes);
}

} // namespace

const qhalo_net_plugin qhalo_net_plugin_table = {
    QHALO_NET_PLUGIN_ABI,
    sizeof(qhalo_net_plugin),
    "simgrid",
    "SimGrid's flow-level model CM02, with the keys of fairshare",
    1,
    create,
    destroy,
    start,
    next,
    advance,
    alone,
    nullptr,
};
