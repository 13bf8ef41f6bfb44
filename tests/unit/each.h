/* Loops over many cases of a kind go through every nth of them, and with -DRW_TEST_ALL through all.
 * What a case is made of often depends on its number modulo something small: n has no factor in
 * common with that. */
#pragma once

#ifdef RW_TEST_ALL
#define EACH(n) 1
#else
#define EACH(n) (n)
#endif

/* What takes minutes under AddressSanitizer is left to other builds. */
#if defined(__SANITIZE_ADDRESS__) && !defined(RW_TEST_ALL)
#define SLOW_HERE 1
#else
#define SLOW_HERE 0
#endif
