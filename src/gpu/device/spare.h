/* Device memory that stays in case that it is of use again. What nobody uses goes as soon as an
 * allocation finds too little (rw_device_alloc). Any thread may call these. */
#ifndef RW_GPU_SPARE_H
#define RW_GPU_SPARE_H

/* Extended by embedding it first. Its contents never change while it is known here. */
struct rw_device_spare {
    struct rw_device_spare *next;
    void **owner; /* holds the only pointer to it; NULL is written there when it goes */
    int device, n_users;
    void (*free)(struct rw_device_spare *spare);
};

/* Hands it over to the owner, who must live longer; it goes if the owner has another. */
void rw_device_spare_leave(struct rw_device_spare *spare, void **owner);
/* The owner's, if it serves, which then stays until it is put back; else NULL, and if nobody uses
 * it, it goes. */
struct rw_device_spare *rw_device_spare_take(void **owner,
                                             int (*serves)(const struct rw_device_spare *spare,
                                                           const void *user),
                                             const void *user);
void rw_device_spare_put(struct rw_device_spare *spare);
void rw_device_spare_drop(void **owner);
/* What nobody uses on this device goes. Returns 1 if anything did. */
int rw_device_spare_drop_unused(int device);
#endif
