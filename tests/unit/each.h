/* Loops over many cases of a kind go through all of them; but under AddressSanitizer, where each
 * takes several times as long, through every nth. -DRW_TEST_ALL: through all of them there, too. */
#ifndef RW_TESTS_EACH_H
#define RW_TESTS_EACH_H

#if defined(__SANITIZE_ADDRESS__) && !defined(RW_TEST_ALL)
#define EACH(n) (n)
#else
#define EACH(n) 1
#endif
#endif
