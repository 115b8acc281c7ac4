/* Hyper-parameters of papers. */
#include "sim/scenario.h"

#include <string.h>

typedef struct recipe {
    const char *name;
    struct {
        const char *option, *value;
    } set[16];
} recipe;

static const recipe recipes[] = {
    /* Kipf and Welling, Semi-supervised classification with graph convolutional networks, ICLR
     * 2017, section 5.2: two layers, 16 hidden units, dropout 0.5 (input and hidden), L2 of 5e-4 on
     * the first layer, Adam 0.01, 200 epochs, row-normalised features. */
    {"kipf",
     {{"model", "gcn"},
      {"layers", "2"},
      {"hidden", "16"},
      {"dropout", "0.5"},
      {"input-dropout", "0.5"},
      {"norm", "none"},
      {"lr", "0.01"},
      {"weight-decay", "5e-4"},
      {"decay-layers", "first"},
      {"feature-norm", "row"},
      {"epochs", "200"}}},
    /* Wan, Zhao and Wu, Adaptive message quantization and parallelization for distributed
     * full-graph GNN training, MLSys 2023 (arXiv 2306.01381), section 5: three layers, 256 hidden
     * units, LayerNorm, dropout 0.5, Adam 0.01. */
    {"adaqp",
     {{"layers", "3"},
      {"hidden", "256"},
      {"dropout", "0.5"},
      {"input-dropout", "0"},
      {"norm", "layer"},
      {"lr", "0.01"},
      {"weight-decay", "0"},
      {"epochs", "200"}}},
    /* Cervino et al., Distributed training of large graph neural networks with variable
     * communication rates (arXiv 2406.17611), section 5: GraphSAGE of three layers, 256 hidden
     * units, 300 epochs. The step size is the one that they and AdaQP give. */
    {"varco",
     {{"model", "sage"}, {"layers", "3"}, {"hidden", "256"}, {"lr", "0.01"}, {"epochs", "300"}}},
};

static qh_status unknown(const char *where, const char *text)
{
    const char *known[QH_COUNT(recipes)], *near;

    for (size_t i = 0; i < QH_COUNT(recipes); i++)
        known[i] = recipes[i].name;
    near = qh_did_you_mean(text, known, QH_COUNT(recipes));
    if (near)
        return qh_fail(QH_EUSAGE, "%s: there is no recipe '%s'; did you mean %s?", where, text,
                       near);
    return qh_fail(QH_EUSAGE, "%s: there is no recipe '%s'; it has to be kipf, adaqp or varco",
                   where, text);
}

qh_status qh_settings_recipe(qh_settings *s, const char *where, const char *name)
{
    const recipe *r = NULL;
    qh_status st = QH_OK;

    for (size_t i = 0; i < QH_COUNT(recipes); i++)
        if (strcmp(recipes[i].name, name) == 0)
            r = &recipes[i];
    if (!r)
        return unknown(where, name);
    for (size_t i = 0; i < QH_COUNT(r->set) && r->set[i].option; i++)
        QH_TRY(st,
               qh_options_set(qh_scenario_options, s, where, r->set[i].option, r->set[i].value));
out:
    return st;
}
