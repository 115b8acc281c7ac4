"""The transport over MPI: blocks arrive whole, nothing waits for buffers, failures end the job.

usage: transport.py RANKS [MPIRUN]
"""

import sys

from job import Job, TOP, check, main, mpirun_or_skip

RANKS, MPIRUN = sys.argv[1], mpirun_or_skip(sys.argv[2] if len(sys.argv) > 2 else '')


def patterns_arrive_whole(_):
    for n in [1, 2, 7]:
        Job(MPIRUN, n, [RANKS, 'patterns'])


def blocks_are_cut(_):
    for cut in [1, 499]:
        Job(MPIRUN, 3, [RANKS, 'patterns', cut])


def nothing_relies_on_buffering(_):
    Job(MPIRUN, 3, [RANKS, 'patterns', 100, 'synchronous'])
    Job(MPIRUN, 4, [RANKS, 'patterns', 1 << 30, 'synchronous'])


def nothing_is_allocated_where_room_was_made(_):
    for n in [2, 4]:
        Job(MPIRUN, n, [RANKS, 'steady'])


def another_size_is_an_error(_):
    Job(MPIRUN, 2, [RANKS, 'too-few'], rc=1, top=TOP,
        says='cause 1: device 1: a block from device 0 has 407 bytes; 408 were expected')
    Job(MPIRUN, 2, [RANKS, 'too-many'], rc=1, top=TOP,
        says='cause 1: device 1: a block from device 0 has at least 409 bytes; 408 were expected')
    Job(MPIRUN, 2, [RANKS, 'pieces-too-many', 400], rc=1, top=TOP,
        says='cause 1: device 1: a block from device 0 has .*400 bytes; 400 were expected')


def a_failure_ends_all(_):
    for n in [2, 4]:
        Job(MPIRUN, n, [RANKS, 'last-fails'], rc=3, top=TOP,
            says="cause 3: part: the last rank's is missing")


def failures_of_all_are_one(_):
    Job(MPIRUN, 4, [RANKS, 'all-fail'], rc=4, top=TOP, says='cause 4: memory: short everywhere')


def a_busy_rank_is_ended_too(_):
    Job(MPIRUN, 3, [RANKS, 'deaf'], rc=3, top=TOP, says="cause 3: part: rank 1's is missing")


def a_dead_rank_ends_all(_):
    job = Job(MPIRUN, 3, [RANKS, 'killed'], rc=None, top=TOP)
    check('signal 9' in job.err.lower() or 'signal: 9' in job.err.lower(), job.err)


if __name__ == '__main__':
    sys.exit(main([patterns_arrive_whole, blocks_are_cut, nothing_relies_on_buffering,
                   nothing_is_allocated_where_room_was_made, another_size_is_an_error,
                   a_failure_ends_all, failures_of_all_are_one, a_busy_rank_is_ended_too,
                   a_dead_rank_ends_all]))
