/* Writes a .qht trace while a run goes on. Its memory is that of one epoch, whatever the number of
 * epochs.
 *
 * The file is PATH.part until it is closed: then it gets its index and its name. After a crash (or
 * a full disk) PATH.part holds every epoch that was whole, and readers take it as far as it goes.
 * What exists and is no regular file is written in place. */
#ifndef QH_TRACES_WRITER_H
#define QH_TRACES_WRITER_H

#include "src/base/units.h"
#include "src/record/record.h"

typedef struct qh_trace_writer qh_trace_writer;

/* Makes PATH.part, over one that is there unless somebody is writing it. QH_ERESOURCE, naming the
 * path. */
qh_status qh_trace_writer_open(const char *path, int n_devices, qh_trace_writer **out);

/* The head: json is one JSON object of at most 16 MiB. Once, before all that follows. */
qh_status qh_trace_writer_begin(qh_trace_writer *w, const char *json);

/* The widths of the messages of a SEND record, in the order of its block; copied. From the device's
 * own thread, before its records of the epoch. */
qh_status qh_trace_writer_widths(qh_trace_writer *w, int device, const qh_record *send,
                                 const uint8_t *width, int64_t n);

/* All records of a device in an epoch, in program order. From the device's own thread: devices may
 * call at once. The records of an epoch are not called for before the epoch before is ended. */
qh_status qh_trace_writer_records(qh_trace_writer *w, int device, int32_t epoch, const qh_record *r,
                                  int64_t n);

/* The epoch is whole: its records go to the file, device by device, and are out of this process
 * when the call returns. One thread, as in all that follows. */
qh_status qh_trace_writer_epoch(qh_trace_writer *w, const qh_epoch_metrics *m);

/* Virtual time that each device took for an epoch, from its EPOCH_END before; epochs in order, each
 * as soon as it is known. */
qh_status qh_trace_writer_times(qh_trace_writer *w, int32_t epoch, const qh_time *span_of_device);

/* Index, sync, and the final name. *w is NULL afterwards, done or failed. */
qh_status qh_trace_writer_close(qh_trace_writer **w);

/* Without the index and the name: PATH.part stays if it has a whole epoch. NULL is fine. */
void qh_trace_writer_abandon(qh_trace_writer **w);

#endif
