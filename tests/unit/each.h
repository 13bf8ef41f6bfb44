/* Loops over many cases run every nth of them, and all with -DRW_TEST_ALL. A case often depends
 * on its number modulo a small number, with which n has no common factor. */
#pragma once

#ifdef RW_TEST_ALL
#define EACH(n) 1
#else
#define EACH(n) (n)
#endif

/* Long tests run less under AddressSanitizer, or in other builds only. */
#if defined(__SANITIZE_ADDRESS__) && !defined(RW_TEST_ALL)
#define SLOW_HERE 1
#else
#define SLOW_HERE 0
#endif
