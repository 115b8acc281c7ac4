#include "src/train/strategy.h"

#include <string.h>

extern const qh_strategy_ops qh_strategy_sync, qh_strategy_overlap;

static const qh_strategy_ops *const strategies[] = {&qh_strategy_sync, &qh_strategy_overlap};

const qh_strategy_ops *qh_strategy_find(const char *name)
{
    for (size_t i = 0; i < QH_COUNT(strategies); i++)
        if (strcmp(strategies[i]->name, name) == 0)
            return strategies[i];
    return NULL;
}
