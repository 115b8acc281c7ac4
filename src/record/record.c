#include "src/record/record.h"

#include "src/base/mem.h"

const uint8_t qh_width_of_index[QH_N_WIDTHS] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32};

int qh_width_index(int width)
{
    for (int i = 0; i < QH_N_WIDTHS; i++)
        if (qh_width_of_index[i] == width)
            return i;
    return -1;
}

const char *qh_op_name(int op)
{
    static const char *const names[QH_OP_COUNT] = {
        [QH_OP_SPMM] = "spmm",
        [QH_OP_GEMM] = "gemm",
        [QH_OP_ELEMENTWISE] = "elementwise",
        [QH_OP_LOSS] = "loss",
        [QH_OP_OPTIMIZER] = "optimizer",
        [QH_OP_QUANTIZE] = "quantize",
        [QH_OP_DEQUANTIZE] = "dequantize",
        [QH_OP_ASSIGN] = "assign",
        [QH_OP_SEND] = "send",
        [QH_OP_RECV] = "recv",
        [QH_OP_WAIT] = "wait",
        [QH_OP_ALLREDUCE] = "allreduce",
        [QH_OP_EPOCH_END] = "epoch_end",
    };

    return op > 0 && op < QH_OP_COUNT ? names[op] : "unknown";
}

const char *qh_direction_name(int direction)
{
    static const char *const names[] = {"forward", "backward", "assignment", "request"};

    return 0 <= direction && direction < (int)QH_COUNT(names) ? names[direction] : "unknown";
}

static void drop_record(qh_sink *sink, int rank, const qh_record *r)
{
    (void)sink;
    (void)rank;
    (void)r;
}

static qh_status drop_epoch(qh_sink *sink, int rank, const qh_epoch_metrics *m, int *stop)
{
    (void)sink;
    (void)rank;
    (void)m;
    (void)stop;
    return QH_OK;
}

qh_sink qh_sink_null = {.emit = drop_record, .end_epoch = drop_epoch};

qh_status qh_record_list_add(qh_record_list *list, const qh_record *r)
{
    qh_status st = QH_OK;

    if (list->n == list->capacity) {
        int64_t bigger = list->capacity ? 2 * list->capacity : 256;

        QH_TRY(st, QH_RESIZE(&list->item, list->n, bigger));
        list->capacity = bigger;
    }
    list->item[list->n++] = *r;
out:
    return st;
}

void qh_record_list_fini(qh_record_list *list)
{
    qh_mem_free(list->item);
    *list = (qh_record_list){0};
}
