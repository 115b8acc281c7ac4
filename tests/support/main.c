#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *test_shared(void)
{
    const char *folder = getenv("QHALO_SHARED");

    return folder && access(folder, R_OK) == 0 ? folder : NULL;
}

const char *test_shared_path(const char *path)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s/%s", test_shared(), path);
    return text;
}

int main(void)
{
    Suite *s = suite();
    SRunner *runner;
    int failed;

    if (!s) {
        printf("skipped: the shared folder is not there (QHALO_SHARED)\n");
        return 77;
    }
    runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
