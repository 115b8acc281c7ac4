/* qhalo: the command table and the way out. */
#include "tools/console.h"
#include "tools/program.h"

static const qh_command *const commands[] = {
    &qh_cmd_train,  &qh_cmd_compare, &qh_cmd_data,   &qh_cmd_partition, &qh_cmd_net,
    &qh_cmd_replay, &qh_cmd_trace,   &qh_cmd_assign, &qh_cmd_bench,
};

int main(int argc, char **argv)
{
    static const qh_program program = {
        .name = "qhalo",
        .about = "distributed full-graph GNN training on simulated devices and networks",
        .before = "",
        .commands = commands,
        .n_commands = QH_COUNT(commands),
    };
    bool quiet = false;
    qh_status st;

    qh_program_begin();
    st = qh_program_run(&program, argc, argv);
    qh_console_clear();
    st = qh_program_close_stdout(st, &quiet);
    if (st < 0 && !quiet)
        qh_console_error(*qh_error_text() ? qh_error_text() : "failed without a reason given");
    return -st;
}
