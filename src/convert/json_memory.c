/* What jansson could not get. It takes its memory through two functions for the whole process: ours
 * ask whatever was there before, and note what failed, for each thread. */
#include <pthread.h>

#include "convert/json_in.h"

static json_malloc_t asked;
static _Thread_local int has_failed;

static void *ask(size_t n)
{
    void *made = asked(n);
    has_failed |= !made;
    return made;
}

static void stand_before(void)
{
    json_free_t given_back;
    json_get_alloc_funcs(&asked, &given_back);
    json_set_alloc_funcs(ask, given_back);
}

void rw_json_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, stand_before);
    has_failed = 0;
}

int rw_json_lacked_memory(void)
{
    return has_failed;
}
