// gpu/objective/lambda_bounded.h on the device against the plain operations there, on every float
// that it takes: the host has not the device's approximation of 1 / x to start from.
#include "gpu/objective/lambda_bounded.h"

struct lambda_bounded_wrong {
    unsigned long long reciprocal, quotient, round, exp;
};

__device__ static void count(unsigned long long *n, bool wrong)
{
    if (wrong)
        atomicAdd(n, 1ull);
}

__global__ void bounded_check_kernel(struct lambda_bounded_wrong *d_wrong)
{
    const uint64_t n = 1ull << 31;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const float v = rw_float_of_bits((uint32_t)i);
        if (v >= 0x1p-100f && v <= 0x1p100f)
            count(&d_wrong->reciprocal, rw_bounded_reciprocal(v) != 1.0f / v);
        if (v >= 0x1p-40f && v <= 0x1p40f) {
            const float a = 1.0f + (float)(i * 2654435761u >> 8 & 0x7fffff) * 0x1p-23f;
            count(&d_wrong->quotient,
                  rw_bounded_quotient(a, v, rw_bounded_reciprocal(v)) != __fdiv_rn(a, v));
        }
        if (v < 0x1p46f) {
            const struct rw_bounded_parts parts = rw_bounded_round(v);
            count(&d_wrong->round,
                  rw_bounded_join(parts.high - RW_BOUNDED_HIGH_BIAS,
                                  parts.low - RW_BOUNDED_LOW_BIAS) != rw_round_float(v));
        }
        for (int sign = -1; sign <= 1 && v <= 40.0f; sign += 2) {
            float shifted;
            const float x = (float)sign * v, p = rw_bounded_exp(x, &shifted), e = rw_expf(x);
            const float power = rw_expf_power(shifted);
            count(&d_wrong->exp, p * power != e || fmaf(p, power, 1.0f) != 1.0f + e);
        }
    }
}

/* d_wrong: 4 counts, cleared by the caller; added to. */
extern "C" int lambda_bounded_check_run(unsigned long long *d_wrong, void *stream)
{
    bounded_check_kernel<<<1056, 256, 0, (cudaStream_t)stream>>>(
        reinterpret_cast<struct lambda_bounded_wrong *>(d_wrong));
    return (int)cudaGetLastError();
}
