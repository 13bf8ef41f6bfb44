/* Loops over many cases of a kind go through all of them; but under AddressSanitizer, where each
 * takes several times as long, through every nth. */
#ifndef RW_TESTS_EACH_H
#define RW_TESTS_EACH_H

#if defined(__SANITIZE_ADDRESS__)
#define EACH(n) (n)
#else
#define EACH(n) 1
#endif
#endif
