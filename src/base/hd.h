/* RW_HD marks an inline function that gcc, clang and nvcc all compile, so that the arithmetic of a
 * training bit exists once. Such functions use + - * / sqrt and conversions only. */
#ifndef RW_BASE_HD_H
#define RW_BASE_HD_H

#ifdef __CUDACC__
#define RW_HD __host__ __device__ static inline
#else
#define RW_HD static inline
#endif

#endif
