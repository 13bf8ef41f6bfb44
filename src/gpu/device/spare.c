#include "gpu/device/spare.h"

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct rw_device_spare *first;

/* All of these: with the mutex held. */

static void forget(struct rw_device_spare *spare)
{
    struct rw_device_spare **at = &first;
    while (*at != spare)
        at = &(*at)->next;
    *at = spare->next;
    *spare->owner = NULL;
    spare->free(spare);
}

static int drop_unused(int device)
{
    int n = 0;
    for (struct rw_device_spare *spare = first, *next; spare; spare = next) {
        next = spare->next;
        if (spare->device != device || spare->n_users > 0)
            continue;
        forget(spare);
        n++;
    }
    return n > 0;
}

void rw_device_spare_leave(struct rw_device_spare *spare, void **owner)
{
    pthread_mutex_lock(&mutex);
    if (*owner) {
        spare->free(spare);
    } else {
        spare->owner = owner;
        spare->next = first;
        first = spare;
        *owner = spare;
    }
    pthread_mutex_unlock(&mutex);
}

struct rw_device_spare *rw_device_spare_take(void **owner,
                                             int (*serves)(const struct rw_device_spare *spare,
                                                           const void *user),
                                             const void *user)
{
    pthread_mutex_lock(&mutex);
    struct rw_device_spare *spare = *owner;
    if (spare && serves(spare, user)) {
        spare->n_users++;
    } else {
        if (spare && spare->n_users == 0)
            forget(spare);
        spare = NULL;
    }
    pthread_mutex_unlock(&mutex);
    return spare;
}

void rw_device_spare_put(struct rw_device_spare *spare)
{
    pthread_mutex_lock(&mutex);
    spare->n_users--;
    pthread_mutex_unlock(&mutex);
}

void rw_device_spare_drop(void **owner)
{
    pthread_mutex_lock(&mutex);
    if (*owner)
        forget(*owner);
    pthread_mutex_unlock(&mutex);
}

int rw_device_spare_drop_unused(int device)
{
    pthread_mutex_lock(&mutex);
    const int dropped = drop_unused(device);
    pthread_mutex_unlock(&mutex);
    return dropped;
}
