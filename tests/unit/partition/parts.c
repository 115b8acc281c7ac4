/* Parts of a file against those of the whole. */
#include "src/partition/part.h"

#include "src/base/mem.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void name_file(void)
{
    snprintf(path, sizeof path, "parts-%d.qhp", (int)getpid());
}

static void remove_file(void)
{
    unlink(path);
}

static const struct row {
    int64_t nodes;
    int degree, n_parts;
    bool directed, sparse, multilabel;
} rows[] = {
    {1, 0, 1, false, false, false}, {2, 1, 2, false, false, false},
    {97, 5, 3, true, false, false}, {97, 5, 3, true, true, false},
    {101, 6, 7, false, true, true}, {300, 4, 16, false, false, true},
    {64, 0, 4, false, true, false}, /* no edges: no halo */
};

static qh_dataset *data_of(const struct row *r)
{
    return tiny_new((tiny_spec){.nodes = r->nodes,
                                .degree = r->degree,
                                .features = 11,
                                .classes = 3,
                                .directed = r->directed,
                                .sparse = r->sparse,
                                .multilabel = r->multilabel,
                                .seed = 5});
}

static int32_t *parts_of(const qh_dataset *d, int n_parts)
{
    int32_t *part = NULL;

    ck_assert_int_eq(QH_NEW_ARRAY(&part, d->graph->n_nodes), QH_OK);
    ck_assert_int_eq(qh_partition_make(d->graph, "random",
                                       (qh_partition_request){.n_parts = n_parts, .seed = 3}, part),
                     QH_OK);
    return part;
}

#define SAME(a, b, n, what)                                                                        \
    ck_assert_msg(memcmp((a), (b), (size_t)(n) * sizeof *(a)) == 0, "part %d: %s", rank, what)

static void check_plan(const qh_part *p, const qh_layout *l, int rank, bool self_loops)
{
    qh_halo *got = NULL, *want = NULL;

    ck_assert_int_eq(qh_part_plan(p, self_loops, &got), QH_OK);
    ck_assert_int_eq(qh_halo_new(l, rank, self_loops, &want), QH_OK);
    ck_assert(got->rank == rank && got->n_ranks == want->n_ranks &&
              got->n_central == want->n_central && got->n_inner == want->n_inner &&
              got->n_halo == want->n_halo && got->n_local == want->n_local &&
              got->n_edges == want->n_edges);
    SAME(got->node, want->node, want->n_local, "node");
    SAME(got->recv_ptr, want->recv_ptr, want->n_ranks + 1, "recv_ptr");
    SAME(got->send_ptr, want->send_ptr, want->n_ranks + 1, "send_ptr");
    SAME(got->send_row, want->send_row, want->send_ptr[want->n_ranks], "send_row");
    SAME(got->in_ptr, want->in_ptr, want->n_inner + 1, "in_ptr");
    SAME(got->in_col, want->in_col, want->n_edges, "in_col");
    SAME(got->out_ptr, want->out_ptr, want->n_local + 1, "out_ptr");
    SAME(got->out_col, want->out_col, want->n_edges, "out_col");
    SAME(got->in_deg, want->in_deg, want->n_local, "in_deg");
    SAME(got->out_deg, want->out_deg, want->n_local, "out_deg");
    qh_halo_free(got);
    qh_halo_free(want);
}

static void check_features(const qh_part *p, const qh_dataset *d, int64_t row, int32_t node)
{
    qh_csr a = p->sparse_features, b = d->sparse_features;

    if (!d->sparse) {
        ck_assert_mem_eq(qh_mat_row(p->dense, row), qh_mat_row(d->dense, node),
                         (size_t)d->n_features * sizeof(float));
        return;
    }
    ck_assert_int_eq(a.ptr[row + 1] - a.ptr[row], b.ptr[node + 1] - b.ptr[node]);
    for (int64_t i = 0; i < a.ptr[row + 1] - a.ptr[row]; i++) {
        ck_assert_int_eq(a.col[a.ptr[row] + i], b.col[b.ptr[node] + i]);
        ck_assert(a.val[a.ptr[row] + i] == (b.val ? b.val[b.ptr[node] + i] : 1));
    }
}

static void check_rows(const qh_part *p, const qh_dataset *d)
{
    const qh_halo *h = &p->lists;

    for (int64_t r = 0; r < h->n_local; r++) {
        int32_t node = h->node[r];

        check_features(p, d, r, node);
        if (r >= h->n_inner) {
            ck_assert_int_eq(qh_part_halo_row(p, node), r);
            continue;
        }
        ck_assert_int_eq(p->split[r], d->split[node]);
        if (d->multilabel)
            ck_assert_mem_eq(p->target + r * d->n_classes, d->multi_label + node * d->n_classes,
                             (size_t)d->n_classes);
        else
            ck_assert_int_eq(p->label[r], d->label[node]);
    }
}

START_TEST(a_part_is_that_of_the_whole)
{
    const struct row *r = &rows[_i];
    qh_dataset *d = data_of(r);
    int32_t *part = parts_of(d, r->n_parts), *ids = NULL;
    qh_layout *layout = NULL;
    int n = 0;

    ck_assert_int_eq(qh_parts_write(path, d, QH_NORM_ROW, part, r->n_parts, "random"), QH_OK);
    ck_assert(qh_parts_are_in(path));
    ck_assert_int_eq(qh_layout_new(d->graph, part, r->n_parts, &layout), QH_OK);
    for (int rank = 0; rank < r->n_parts; rank++) {
        qh_part *p = NULL;

        ck_assert_msg(qh_part_open(path, rank, r->n_parts, &p) == QH_OK, "%s", qh_error_text());
        check_plan(p, layout, rank, false);
        check_plan(p, layout, rank, true);
        check_rows(p, d);
        ck_assert(p->norm == QH_NORM_ROW && p->facts.graph->n_edges == d->graph->n_edges);
        ck_assert_str_eq(p->facts.name, d->name);
        ck_assert_int_eq(p->inner_nodes[rank], p->lists.n_inner);
        qh_part_close(p);
    }
    ck_assert_int_eq(qh_partition_read(path, d->graph, &ids, &n), QH_OK); /* as any .qhp file */
    ck_assert_int_eq(n, r->n_parts);
    ck_assert_mem_eq(ids, part, (size_t)d->graph->n_nodes * sizeof *part);
    qh_mem_free(ids);
    qh_layout_free(layout);
    qh_mem_free(part);
    tiny_free(d);
}
END_TEST

static void refused(int rank, int n_parts, qh_status st, const char *says)
{
    qh_part *p = NULL;

    ck_assert_int_eq(qh_part_open(path, rank, n_parts, &p), st);
    ck_assert_ptr_null(p);
    ck_assert_msg(strstr(qh_error_text(), says) != NULL, "%s", qh_error_text());
}

/* Any byte of a part or of the index, and any length. */
START_TEST(damage_is_found)
{
    qh_dataset *d = data_of(&rows[2]);
    int32_t *part = parts_of(d, 3);
    long size, ids_end;
    FILE *f;

    ck_assert_int_eq(qh_partition_write(path, d->graph, part, 3, "random"), QH_OK);
    f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    ids_end = ftell(f);
    fclose(f);
    refused(0, 3, QH_EINPUT, "has no parts");
    ck_assert_int_eq(qh_parts_write(path, d, QH_NORM_NONE, part, 3, "random"), QH_OK);
    refused(0, 4, QH_EUSAGE, "has 3 parts for 4 ranks; 3 ranks go with it");
    f = fopen(path, "rb+");
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    for (long at = ids_end + 64; at < size; at += 101) { /* a part has its own hash */
        int n_refused = 0, byte;

        fseek(f, at, SEEK_SET);
        byte = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(byte ^ 4, f);
        fflush(f);
        for (int rank = 0; rank < 3; rank++) {
            qh_part *p = NULL;

            n_refused += qh_part_open(path, rank, 3, &p) == QH_EINPUT;
            qh_part_close(p);
        }
        ck_assert_msg(n_refused > 0, "byte %ld of %ld", at, size);
        fseek(f, at, SEEK_SET);
        fputc(byte, f);
        fflush(f);
    }
    fclose(f);
    for (long cut = size - 1; cut >= 0; cut -= cut > 97 ? 97 : 1) {
        ck_assert_int_eq(truncate(path, cut), 0);
        refused(0, 3, QH_EINPUT, path);
    }
    unlink(path);
    refused(0, 3, QH_EINPUT, path);
    ck_assert(!qh_parts_are_in(path));
    qh_mem_free(part);
    tiny_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("parts");
    TCase *t = tcase_create("parts");

    tcase_add_checked_fixture(t, name_file, remove_file);
    tcase_add_loop_test(t, a_part_is_that_of_the_whole, 0, (int)QH_COUNT(rows));
    tcase_add_test(t, damage_is_found);
    suite_add_tcase(s, t);
    return s;
}
