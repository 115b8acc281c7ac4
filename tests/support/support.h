/* What every test program shares. A test file defines suite() and links support/main.c. */
#ifndef QH_TESTS_SUPPORT_SUPPORT_H
#define QH_TESTS_SUPPORT_SUPPORT_H

#include <check.h>
#include <stddef.h>

Suite *suite(void);

/* The folder of real graphs and golden answers beside the checkout, or NULL: then tests that want
 * it end with exit status 77 (main.c does so when suite() gives NULL). Set by QHALO_SHARED, else
 * ../shared of the source folder. */
const char *test_shared(void);

/* PATH under the shared folder, in a static buffer. */
const char *test_shared_path(const char *path);

#endif
