/* What the SimGrid plug-in, which is C++, wants to know of a description. */
#ifndef QH_NETMODEL_PLUGINS_DESCRIBED_H
#define QH_NETMODEL_PLUGINS_DESCRIBED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct described_net described_net;

/* NULL, with the text in error: it is no description of a topology. */
described_net *described_net_new(const char *text, int n_devices, char *error, size_t error_size);
void described_net_free(described_net *net); /* NULL is fine */
int described_net_links(const described_net *net);
int described_net_longest(const described_net *net); /* most links of a route */
double described_net_bytes_per_s(const described_net *net, int link);
int64_t described_net_latency(const described_net *net, int link); /* ps */
/* The links of a route into out[longest]; how many, 0: there is none. */
int described_net_route(const described_net *net, int src, int dst, int32_t *out);
/* Duration of a flow that is alone, in ps; INT64_MAX: there is no route. */
int64_t described_net_alone(const described_net *net, int src, int dst, int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
