#include "base/isa.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"plain", "avx2", "avx512"};
static _Thread_local int forced = -1;

const char *rw_isa_name(enum rw_isa isa)
{
    return names[isa];
}

enum rw_isa rw_isa_most(void)
{
#if RW_HAS_X86
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return RW_ISA_PLAIN;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return RW_ISA_AVX512;
    return RW_ISA_AVX2;
#else
    return RW_ISA_PLAIN;
#endif
}

void rw_isa_force(int isa)
{
    forced = isa;
}

enum rw_isa rw_isa(void)
{
    const enum rw_isa most = rw_isa_most();
    if (forced >= 0)
        return (enum rw_isa)forced;
    const char *asked = getenv("RANKWOOD_ISA");
    for (int isa = RW_ISA_PLAIN; asked && isa < (int)most; isa++) {
        if (strcmp(asked, names[isa]) == 0)
            return (enum rw_isa)isa;
    }
    return most;
}
