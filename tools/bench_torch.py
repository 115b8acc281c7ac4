#!/usr/bin/env python3
"""Full-graph GCN epochs in plain PyTorch, for tools/bench_torch: 3 layers, hidden 256, dropout 0.5,
LayerNorm, Adam. Aggregation is embedding_bag over CSR with a hand-written backward, the fastest way
found in plain PyTorch on a CPU. Prints one JSON line: median seconds an epoch, peak MiB.

    bench_torch.py FOLDER THREADS EPOCHS        FOLDER in the neutral layout (qhalo data convert)
"""
import json
import resource
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

HIDDEN, LAYERS, DROPOUT = 256, 3, 0.5


def load(folder):
    def array(name):
        return np.load(f"{folder}/{name}.npy")

    meta = json.load(open(f"{folder}/meta.json"))
    return meta, array("feat"), array("label"), array("split"), array("edges").astype(np.int64)


def operator(n, rows, cols, weights):
    """x -> A x for the matrix with these entries."""
    order = np.lexsort((cols, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))[:-1]])
    starts, cols = torch.from_numpy(starts), torch.from_numpy(cols[order])
    weights = torch.from_numpy(weights[order].astype(np.float32))
    return lambda x: F.embedding_bag(cols, x, starts, mode="sum", per_sample_weights=weights)


def aggregation(n, edges):
    """Symmetric normalisation with self loops, forward and backward."""
    loops = np.arange(n)
    src, dst = np.append(edges[:, 0], loops), np.append(edges[:, 1], loops)
    out_degree, in_degree = np.bincount(src, minlength=n), np.bincount(dst, minlength=n)
    weight = 1 / np.sqrt(out_degree[src] * in_degree[dst])
    forward, backward = operator(n, dst, src, weight), operator(n, src, dst, weight)

    class Aggregate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return forward(x.contiguous())

        @staticmethod
        def backward(ctx, gradient):
            return backward(gradient.contiguous())

    return Aggregate.apply


def main():
    folder, threads, epochs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    meta, features, label, split, edges = load(folder)
    features = torch.from_numpy(features)
    label = torch.from_numpy(label.astype(np.int64))
    train = torch.from_numpy(np.flatnonzero(split == 1))
    aggregate = aggregation(meta["nodes"], edges)
    sizes = [meta["features"]] + [HIDDEN] * (LAYERS - 1) + [meta["classes"]]
    linear = [torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
    norm = [torch.nn.LayerNorm(HIDDEN) for _ in range(LAYERS - 1)]
    optimizer = torch.optim.Adam([p for m in linear + norm for p in m.parameters()], lr=0.01)
    seconds = []
    for _ in range(epochs + 1):
        start = time.perf_counter()
        h = features
        for i, layer in enumerate(linear):
            h = layer(aggregate(h))
            if i < LAYERS - 1:
                h = F.relu(norm[i](F.dropout(h, DROPOUT)))
        loss = F.cross_entropy(h[train], label[train])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({
        "torch": torch.__version__,
        "epoch_s_median": sorted(seconds[1:])[(len(seconds) - 1) // 2],
        "loss": loss.item(),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }))


main()
