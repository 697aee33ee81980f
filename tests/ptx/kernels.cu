#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cassert>
#include <cstdint>
#include <cstdio>

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void block_sum(const int *in, long long *out, int n) {
  __shared__ long long part[256];
  long long sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void warp_sum(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, sum = i < n ? in[i] : 0;
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffff, sum, by);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
  unsigned votes = __ballot_sync(0xffffffff, i % 3 == 0);
  if (threadIdx.x % 32 == 0) atomicAdd(out + 1, __popc(votes));
}

extern "C" __global__ void histogram(const unsigned char *in, int *out, int n) {
  extern __shared__ int bins[];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (bins[i]) atomicAdd(&out[i], bins[i]);
}

/* Each lane goes round the loop another number of times. */
extern "C" __global__ void collatz(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = i + 1;
  int steps = 0;
  while (x != 1) {
    x = (x & 1) ? 3 * x + 1 : x / 2;
    steps++;
  }
  out[i] = steps;
}

__device__ unsigned arrived;
extern "C" __global__ void last_block(const int *in, int *partial, int *out, int n) {
  __shared__ int sum;
  __shared__ bool last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&sum, in[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int all = 0;
    for (int b = 0; b < gridDim.x; b++) all += partial[b];
    *out = all;
  }
}

__device__ int lock;
extern "C" __global__ void spin_lock(int *counter) {
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  *(volatile int *)counter += 1;
  __threadfence();
  atomicExch(&lock, 0);
}

__noinline__ __device__ float helper(float x, int *steps) {
  for (int i = 0; i < *steps; i++) x = x * 0.5f + 1.0f;
  *steps += 1;
  return x;
}
extern "C" __global__ void called(float *x, int n) {
  int i = threadIdx.x, steps = i % 4;
  if (i < n) {
    float y = helper(x[i], &steps);
    x[i] = helper(y, &steps) + steps;
  }
}

extern "C" __global__ void selects(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = in[i], y = 0;
  switch (x) {
    case 0:
      y = x * 3 + i;
      break;
    case 1:
      y = x ^ i;
      break;
    case 2:
      for (int k = 0; k < i; k++) y += k % 7;
      break;
    case 3:
      y = i / 3 - 5;
      break;
    case 4:
      y = __brev(i);
      break;
    case 5:
      y = __clz(i) + __ffs(i);
      break;
    case 6:
      y = (int)__byte_perm(i, x, 0x3715);
      break;
    default:
      y = -1;
  }
  out[i] = y;
}

extern "C" __global__ void asserts(const int *in) { assert(in[threadIdx.x] < 10); }

extern "C" __global__ void out_of_bounds(int *out, int n) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

extern "C" __global__ void halves(const __half *a, const __half *b, __half *c, const __nv_bfloat16 *d, __nv_bfloat16 *e,
                                  int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  c[i] = __hfma(a[i], b[i], __hmul(a[i], __float2half(0.25f)));
  e[i] = __hadd(d[i], __float2bfloat16(1.5f));
}

extern "C" __global__ void doubles(const double *a, double *b, float *f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  b[i] = exp(a[i]) + sin(a[i]) / sqrt(fabs(a[i]) + 1);
  f[i] = expf((float)a[i]) + sinf((float)a[i]);
}

extern "C" __global__ void never_ends(volatile int *flag) {
  while (*flag == 0) {
  }
}

extern "C" __global__ void lost_barrier(int *out) {
  if (threadIdx.x < 16) {
    asm volatile("bar.sync 1, 64;");
    out[0] = 1;
  }
}

__constant__ int table[5] = {2, 3, 5, 7, 11};
__device__ int *pointer_to = nullptr;
extern "C" __global__ void constants(int *out) {
  out[threadIdx.x] = table[threadIdx.x % 5];
  printf("%d\n", 1);
}

extern "C" __global__ void grid_barrier(unsigned *arrivals, int *data, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  data[i] = i * 7;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrivals, 1);
    while (*(volatile unsigned *)arrivals < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  out[i] = *(volatile int *)&data[n - 1 - i];
}
