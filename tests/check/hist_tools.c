#include "hist_tools.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *hist_need(uint64_t n, size_t size)
{
    void *p = n < SIZE_MAX / 2 / size ? calloc(n ? n : 1, size) : NULL;
    if (!p) {
        fprintf(stderr, "out of memory: %llu x %zu bytes\n", (unsigned long long)n, size);
        exit(1);
    }
    return p;
}

int hist_failed(const struct hist_run *run, struct hist_tally *tally)
{
    if (tally->failed++ >= HIST_MOST_LISTED)
        return 0;
    printf("not ok %s/%s: ", run->stage, tally->method->name);
    return 1;
}

void hist_failed_why(const struct hist_tally *tally, const char *format, va_list list)
{
    printf(": ");
    vprintf(format, list);
    printf("\n");
    if (tally->failed == HIST_MOST_LISTED)
        printf("       %s: further failures are counted only\n", tally->method->name);
    fflush(stdout);
}

int hist_captured(const struct hist_run *run, int (*call)(void *user), void *user)
{
    cudaStream_t stream = run->device->stream;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int status = call(user); /* once outside: loading a kernel is no part of a call */
    if (status < 0)
        return status;
    cudaError_t error = cudaStreamSynchronize(stream);
    if (error == cudaSuccess)
        error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (error == cudaSuccess) {
        status = call(user);
        error = cudaStreamEndCapture(stream, &graph);
    }
    if (status >= 0 && error == cudaSuccess)
        error = cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 2 && status >= 0 && error == cudaSuccess; i++)
        error = cudaGraphLaunch(exec, stream);
    if (status >= 0 && error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    if (exec)
        (void)cudaGraphExecDestroy(exec);
    if (graph)
        (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    if (status >= 0 && error != cudaSuccess)
        return rw_fail(run->ctx, RW_ERR_UNSUPPORTED, "captured: %s", cudaGetErrorString(error));
    return status;
}

void hist_widen(int64_t *sum, uint64_t n)
{
    const int32_t *narrow = (const int32_t *)sum;
    for (uint64_t i = n; i-- > 0;) {
        const int64_t wide = narrow[i];
        memcpy(&sum[i], &wide, sizeof(wide));
    }
}
