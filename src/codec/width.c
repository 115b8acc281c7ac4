/* Widths: bytes of a row, where rows of mixed widths stand, and the table that tells the receiver.
 */
#include "src/base/mem.h"
#include "src/codec/codec.h"

#include <string.h>

/* The code of a width in a table is its place here; 0 and 11..15 stand for none. */
static const uint8_t width_of_code[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32};

static int code_of_width(int width)
{
    return width <= 8 ? width : width == 16 ? 9 : 10;
}

bool qh_width_is_valid(int width)
{
    return (1 <= width && width <= 8) || width == 16 || width == 32;
}

static int64_t params_bytes(int width, qh_params_format params)
{
    return width == 32 ? 0 : params == QH_PARAMS_BF16 ? 4 : 8;
}

static int64_t payload_bytes(int64_t n_cols, int width)
{
    return (n_cols * width + 7) / 8;
}

int64_t qh_row_bytes(int64_t n_cols, int width, qh_params_format params)
{
    QH_ASSERT(n_cols >= 0 && qh_width_is_valid(width));
    return payload_bytes(n_cols, width) + params_bytes(width, params);
}

qh_status qh_block_index_init(int64_t n_rows, qh_block_index *out)
{
    qh_block_index x = {.n_rows = n_rows};
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&x.payload, n_rows));
    QH_TRY(st, QH_NEW_ARRAY(&x.params, n_rows));
    *out = x;
    x = (qh_block_index){0};
out:
    qh_block_index_fini(&x);
    return st;
}

void qh_block_index_fini(qh_block_index *x)
{
    qh_mem_free(x->params);
    qh_mem_free(x->payload);
    *x = (qh_block_index){0};
}

void qh_block_index_set(qh_block_index *x, int64_t n_cols, const uint8_t *width,
                        qh_params_format params)
{
    int64_t count[33] = {0}, payload[33], place[33], end = 0;

    for (int64_t i = 0; i < x->n_rows; i++) {
        QH_ASSERT(qh_width_is_valid(width[i]));
        count[width[i]]++;
    }
    for (int w = 1; w <= 32; w++) {
        payload[w] = end;
        end += count[w] * payload_bytes(n_cols, w);
    }
    for (int w = 1; w <= 32; w++) {
        place[w] = end;
        end += count[w] * params_bytes(w, params);
    }
    for (int64_t i = 0; i < x->n_rows; i++) {
        int w = width[i];

        x->payload[i] = payload[w];
        x->params[i] = place[w];
        payload[w] += payload_bytes(n_cols, w);
        place[w] += params_bytes(w, params);
    }
    x->n_cols = n_cols;
    x->bytes = end;
}

int64_t qh_width_table_bytes(int64_t n_rows)
{
    return (n_rows + 1) / 2;
}

void qh_width_table_pack(const uint8_t *width, int64_t n_rows, uint8_t *out)
{
    memset(out, 0, (size_t)qh_width_table_bytes(n_rows));
    for (int64_t i = 0; i < n_rows; i++) {
        QH_ASSERT(qh_width_is_valid(width[i]));
        out[i / 2] |= (uint8_t)(code_of_width(width[i]) << i % 2 * 4);
    }
}

qh_status qh_width_table_unpack(const uint8_t *in, int64_t n_rows, uint8_t *width)
{
    for (int64_t i = 0; i < n_rows; i++) {
        unsigned code = in[i / 2] >> i % 2 * 4 & 15;

        if (code == 0 || code >= QH_COUNT(width_of_code))
            return qh_fail(QH_EINTERNAL, "width table: message %lld has code %u; 1 to 10 are known",
                           (long long)i, code);
    }
    for (int64_t i = 0; i < n_rows; i++)
        width[i] = width_of_code[in[i / 2] >> i % 2 * 4 & 15];
    return QH_OK;
}
