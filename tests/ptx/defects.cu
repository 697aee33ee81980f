/* Kernels with one defect each, and beside each a correct one that looks like it. test_ptx_defects.c says what must be
 * found.
 *
 * All have the parameters (a, b, c, n). a: 1024 ints, a[i] = i * 5 % 64; b: 1024 ints that nothing has written; c: 256
 * zeros, or memory that was freed. The line with the defect ends in "defect", in its own comment; the other side of a
 * race in "other". */
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cstdint>

#define KERNEL(name) extern "C" __global__ void name(int *a, int *b, int *c, int n)

/* ---- shared memory: races ---- */

KERNEL(reverse_without_barrier) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];       // other
  b[threadIdx.x] = s[63 - threadIdx.x];  // defect
}
KERNEL(reverse_with_barrier) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = s[63 - threadIdx.x];
}

KERNEL(sum_without_barrier) {
  __shared__ int s[128];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2)
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];  // defect
  if (threadIdx.x == 0) b[0] = s[0];
}
KERNEL(sum_with_barrier) {
  __shared__ int s[128];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) b[0] = s[0];
}

KERNEL(stencil_in_place) {
  __shared__ int s[66];
  s[threadIdx.x + 1] = a[threadIdx.x];
  if (threadIdx.x == 0) s[0] = s[65] = 0;
  __syncthreads();
  int sum = s[threadIdx.x] + s[threadIdx.x + 2];  // other
  s[threadIdx.x + 1] = sum;                       // defect
  __syncthreads();
  b[threadIdx.x] = s[threadIdx.x + 1];
}
KERNEL(stencil_in_two_steps) {
  __shared__ int s[66];
  s[threadIdx.x + 1] = a[threadIdx.x];
  if (threadIdx.x == 0) s[0] = s[65] = 0;
  __syncthreads();
  int sum = s[threadIdx.x] + s[threadIdx.x + 2];
  __syncthreads();
  s[threadIdx.x + 1] = sum;
  __syncthreads();
  b[threadIdx.x] = s[threadIdx.x + 1];
}

KERNEL(warp_exchange_without_sync) {
  __shared__ int s[32];
  s[threadIdx.x] = a[threadIdx.x];      // other
  b[threadIdx.x] = s[threadIdx.x ^ 1];  // defect
}
KERNEL(warp_exchange_with_sync) {
  __shared__ int s[32];
  s[threadIdx.x] = a[threadIdx.x];
  __syncwarp();
  b[threadIdx.x] = s[threadIdx.x ^ 1];
}

KERNEL(half_warps_that_exchange) {
  __shared__ int s[32];
  s[threadIdx.x] = a[threadIdx.x];  // other
  __syncwarp(threadIdx.x < 16 ? 0x0000ffff : 0xffff0000);
  b[threadIdx.x] = s[threadIdx.x ^ 16];  // defect
}
KERNEL(half_warps_on_their_own) {
  __shared__ int s[32];
  s[threadIdx.x] = a[threadIdx.x];
  __syncwarp(threadIdx.x < 16 ? 0x0000ffff : 0xffff0000);
  b[threadIdx.x] = s[threadIdx.x ^ 8];
}

KERNEL(bins_without_atomic) {
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  bins[a[threadIdx.x] % 8] += 1;  // defect
  __syncthreads();
  if (threadIdx.x < 8) b[threadIdx.x] = bins[threadIdx.x];
}
KERNEL(bins_with_atomic) {
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[a[threadIdx.x] % 8], 1);
  __syncthreads();
  if (threadIdx.x < 8) b[threadIdx.x] = bins[threadIdx.x];
}

KERNEL(tile_used_again_too_soon) {
  __shared__ int tile[64];
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    tile[threadIdx.x] = a[64 * i + threadIdx.x];  // defect
    __syncthreads();
    sum += tile[63 - threadIdx.x];  // other
  }
  b[threadIdx.x] = sum;
}
KERNEL(tile_used_again) {
  __shared__ int tile[64];
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    tile[threadIdx.x] = a[64 * i + threadIdx.x];
    __syncthreads();
    sum += tile[63 - threadIdx.x];
    __syncthreads();
  }
  b[threadIdx.x] = sum;
}

KERNEL(two_tiles_in_turn) { /* one barrier a round is enough */
  __shared__ int tile[2][64];
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    tile[i % 2][threadIdx.x] = a[64 * i + threadIdx.x];
    __syncthreads();
    sum += tile[i % 2][63 - threadIdx.x];
  }
  b[threadIdx.x] = sum;
}

KERNEL(bytes_that_overlap) {
  __shared__ unsigned char s[64];
  s[threadIdx.x / 2] = (unsigned char)threadIdx.x;  // defect
  __syncthreads();
  if (threadIdx.x < 32) b[threadIdx.x] = s[threadIdx.x];
}
KERNEL(bytes_side_by_side) {
  __shared__ unsigned char s[64];
  __shared__ __half h[64];
  __shared__ bool yes[64];
  s[threadIdx.x] = (unsigned char)threadIdx.x;
  h[threadIdx.x] = __int2half_rn(threadIdx.x);
  yes[threadIdx.x] = threadIdx.x % 3 == 0;
  __syncthreads();
  b[threadIdx.x] = s[63 - threadIdx.x] + __half2int_rn(h[63 - threadIdx.x]) + yes[63 - threadIdx.x];
}

/* Warp 1 makes what warp 0 uses; the barrier has 64 threads, of which warp 1 does not wait. */
KERNEL(producer_that_is_not_waited_for) {
  __shared__ int s[32];
  if (threadIdx.x >= 32) {
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    s[threadIdx.x - 32] = a[threadIdx.x];
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    b[threadIdx.x] = s[31 - threadIdx.x];
  }
}
KERNEL(producer_that_is_waited_for) {
  __shared__ int s[32];
  if (threadIdx.x >= 32) {
    s[threadIdx.x - 32] = a[threadIdx.x];
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    b[threadIdx.x] = s[31 - threadIdx.x];
  }
}

/* ---- barriers ---- */

KERNEL(barrier_in_two_branches) {
  if (threadIdx.x % 2 == 0) {
    b[threadIdx.x] = 1;
    asm volatile("bar.sync 0;" ::: "memory");
  } else {
    b[threadIdx.x] = 2;
    asm volatile("bar.sync 0;" ::: "memory");
  }
}
KERNEL(barrier_of_whole_warps) {
  if (threadIdx.x < 32) {
    b[threadIdx.x] = 1;
    asm volatile("bar.sync 0;" ::: "memory");
  } else {
    b[threadIdx.x] = 2;
    asm volatile("bar.sync 0;" ::: "memory");
  }
}
KERNEL(barrier_of_too_many) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 96;" ::: "memory");  // defect
  b[threadIdx.x] = 1;
}
KERNEL(barrier_after_some_have_left) {
  if (threadIdx.x >= n) return;
  b[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  b[64 + threadIdx.x] = b[n - 1 - threadIdx.x];
}

/* ---- global memory: races ---- */

KERNEL(blocks_write_one_place) {
  b[threadIdx.x] = blockIdx.x + a[threadIdx.x];  // defect
}
KERNEL(blocks_write_their_own) { b[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x + a[threadIdx.x]; }
KERNEL(blocks_write_one_value) {
  if (a[blockIdx.x * blockDim.x + threadIdx.x] > 8) b[0] = 1;  // defect
}
KERNEL(blocks_write_one_value_by_exchange) {
  if (a[blockIdx.x * blockDim.x + threadIdx.x] > 8) atomicExch(&b[0], 1);
}
KERNEL(counter_without_atomic) {
  if (threadIdx.x == 0) c[0] += 1;  // defect
}
KERNEL(counter_with_atomic) {
  if (threadIdx.x == 0) atomicAdd(&c[0], 1);
}
KERNEL(shift_in_place) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) a[i] = a[i + 1];  // defect
}
KERNEL(shift_to_another) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) b[i] = a[i + 1];
}
KERNEL(neighbours_bytes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  ((unsigned char *)b)[i] = (unsigned char)a[i];
  ((__half *)b)[512 + i] = __int2half_rn(a[i]);
}
KERNEL(neighbours_bytes_overlap) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  ((unsigned char *)b)[i - i % 64 + i % 64 / 2] = (unsigned char)i;  // defect
}

/* The block that comes last adds what the others have left. */
template <int Fence, bool Barrier>
__device__ void last_block(int *a, int *b, int *c) {
  __shared__ bool last;
  b[blockIdx.x * blockDim.x + threadIdx.x] = a[threadIdx.x] + blockIdx.x;
  if (Fence == 1) __threadfence();
  if (Fence == 2) __threadfence_block();
  if (Barrier) __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&c[0], 1) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    int sum = 0;
    for (int i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x) sum += b[i];
    atomicAdd(&c[1], sum);
  }
}
KERNEL(last_block_without_fence) { last_block<0, true>(a, b, c); }
KERNEL(last_block_with_fence_of_block) { last_block<2, true>(a, b, c); }
KERNEL(last_block_without_barrier) { last_block<1, false>(a, b, c); }
KERNEL(last_block_with_fence) { last_block<1, true>(a, b, c); }

template <bool Fence>
__device__ void under_lock(int *b, int *c) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&c[0], 0, 1) != 0) {
  }
  c[1] += blockIdx.x;
  if (Fence) __threadfence();
  atomicExch(&c[0], 0);
}
KERNEL(lock_without_fence) { under_lock<false>(b, c); }
KERNEL(lock_with_fence) { under_lock<true>(b, c); }

template <bool Barrier>
__device__ void all_blocks(int *a, int *b, int *c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  b[i] = a[i];
  if (Barrier) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(&c[0], 1);
      while (*(volatile int *)&c[0] < gridDim.x) {
      }
      __threadfence();
    }
    __syncthreads();
  }
  b[512 + i] = b[all - 1 - i];
}
KERNEL(grid_without_barrier) { all_blocks<false>(a, b, c); }
KERNEL(grid_with_barrier) { all_blocks<true>(a, b, c); }

KERNEL(flag_read_plainly) {
  if (threadIdx.x != 0) return;
  atomicAdd(&c[0], 1);       // other
  b[blockIdx.x] = c[0] > 1;  // defect
}
KERNEL(flag_read_by_atomic) {
  if (threadIdx.x != 0) return;
  atomicAdd(&c[0], 1);
  b[blockIdx.x] = atomicAdd(&c[0], 0) > 1;
}

/* Each block waits for the next one, or for the one before it: no order of blocks suits both. */
template <int Step, bool Fence>
__device__ void chain(int *b, int *c) {
  int other = (int)blockIdx.x + Step;
  if (threadIdx.x != 0) return;
  b[blockIdx.x] = 1;
  if (other >= 0 && other < (int)gridDim.x) {
    while (atomicAdd(&c[other], 0) == 0) {
    }
    b[blockIdx.x] = b[other] + 1;
  }
  if (Fence) __threadfence();
  atomicExch(&c[blockIdx.x], 1);
}
KERNEL(chain_to_the_next) { chain<1, true>(b, c); }
KERNEL(chain_to_the_one_before) { chain<-1, true>(b, c); }
KERNEL(chain_without_fence) { chain<1, false>(b, c); }

/* ---- bounds ---- */

KERNEL(one_too_many) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) b[i] = a[i & 63];  // defect
}
KERNEL(none_too_many) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i & 63];
}
KERNEL(tail_without_guard) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 3;
  for (int k = 0; k < 3; k++) b[i + k] = k;  // defect
}
KERNEL(tail_with_guard) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 3;
  for (int k = 0; k < 3 && i + k < n; k++) b[i + k] = k;
}
KERNEL(half_read_as_float) { ((float *)c)[threadIdx.x] = ((float *)a)[968 + threadIdx.x]; }  // defect
KERNEL(half_read_as_half) { ((__half *)c)[threadIdx.x] = ((__half *)a)[968 + threadIdx.x]; }
KERNEL(index_that_overflows) {
  int row = threadIdx.x * 67108865;
  b[threadIdx.x] = a[row / 67108865 + (row < 0 ? -1024 : 0)];  // defect
}
KERNEL(index_of_64_bits) {
  long long row = threadIdx.x * 67108865ll;
  b[threadIdx.x] = a[row / 67108865 + (row < 0 ? -1024 : 0)];
}
KERNEL(strides_mixed_up) { b[threadIdx.x] = a[threadIdx.x % 8 * 8 + threadIdx.x / 8 * n]; }  // defect
KERNEL(strides_in_order) { b[threadIdx.x] = a[threadIdx.x % 8 * n + threadIdx.x / 8 * 8]; }
KERNEL(vectors_off_by_one) { ((int4 *)b)[threadIdx.x] = *(int4 *)(a + 1 + 4 * threadIdx.x); }  // defect
KERNEL(vectors_aligned) { ((int4 *)b)[threadIdx.x] = *(int4 *)(a + 4 + 4 * threadIdx.x); }
KERNEL(freed_memory) { b[threadIdx.x] = c[threadIdx.x]; }  // defect
KERNEL(live_memory) { b[threadIdx.x] = c[threadIdx.x]; }

/* ---- what nothing has written ---- */

KERNEL(shared_without_zeros) {
  __shared__ int s[64];
  if (threadIdx.x < n) s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 64; i++) sum += s[i];
  b[threadIdx.x] = sum;  // defect
}
KERNEL(shared_with_zeros) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x < n ? a[threadIdx.x] : 0;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 64; i++) sum += s[i];
  b[threadIdx.x] = sum;
}
KERNEL(shared_left_from_before) { /* a block may find what another one has left */
  __shared__ int s[64];
  b[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];  // defect
  s[threadIdx.x] = 1;
}
KERNEL(sum_of_nothing) { a[threadIdx.x] = b[threadIdx.x] + 1; }  // defect
KERNEL(sum_of_something) {
  b[threadIdx.x] = 1;
  a[threadIdx.x] = b[threadIdx.x] + 1;
}
KERNEL(branch_on_nothing) {
  if (b[threadIdx.x] > 0) atomicAdd(&c[0], 1);
}
KERNEL(branch_on_something) {
  b[threadIdx.x] = a[threadIdx.x];
  if (b[threadIdx.x] > 0) atomicAdd(&c[0], 1);
}
KERNEL(index_of_nothing) { c[threadIdx.x] = a[b[threadIdx.x] & 63]; }  // defect
KERNEL(index_of_something) { c[threadIdx.x] = a[a[threadIdx.x] & 63]; }
KERNEL(atomic_on_nothing) { atomicAdd(&b[a[threadIdx.x] % 8], 1); }  // defect
KERNEL(atomic_on_zeros) { atomicAdd(&c[a[threadIdx.x] % 8], 1); }
KERNEL(padding_that_is_dropped) { /* three of four are written, four are loaded */
  if (threadIdx.x % 4 != 3) b[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  int4 all = ((int4 *)b)[threadIdx.x / 4];
  c[threadIdx.x] = threadIdx.x % 4 == 0 ? all.x : threadIdx.x % 4 == 1 ? all.y : all.z;
}
KERNEL(padding_that_is_added) {
  if (threadIdx.x % 4 != 3) b[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  int4 all = ((int4 *)b)[threadIdx.x / 4];
  c[threadIdx.x] = all.x + all.y + all.z + all.w;  // defect
}
KERNEL(padding_that_is_copied) { /* nobody has looked at it yet */
  if (threadIdx.x % 4 != 3) b[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  ((int4 *)b)[128 + threadIdx.x] = ((int4 *)b)[threadIdx.x / 4];
}
KERNEL(low_half_of_nothing) { /* two numbers are loaded as one, and the written one is used */
  if (threadIdx.x % 2 == 0) b[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  long long two = ((volatile long long *)b)[threadIdx.x / 2];
  c[threadIdx.x] = (int)two + 1;
}
KERNEL(high_half_of_nothing) {
  if (threadIdx.x % 2 == 0) b[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  long long two = ((volatile long long *)b)[threadIdx.x / 2];
  c[threadIdx.x] = (int)(two >> 32) + 1;  // defect
}

KERNEL(half_of_a_pair_that_is_dropped) { /* two halves are added at once, and the written one is stored */
  __half *h = (__half *)b;
  h[2 * threadIdx.x] = __int2half_rn(a[threadIdx.x]);
  __syncthreads();
  __half2 sum = __hadd2(((__half2 *)b)[threadIdx.x], __floats2half2_rn(1, 1));
  ((__half *)c)[threadIdx.x] = __low2half(sum);
}
KERNEL(half_of_a_pair_that_is_stored) {
  __half *h = (__half *)b;
  h[2 * threadIdx.x] = __int2half_rn(a[threadIdx.x]);
  __syncthreads();
  __half2 sum = __hadd2(((__half2 *)b)[threadIdx.x], __floats2half2_rn(1, 1));
  ((__half *)c)[threadIdx.x] = __high2half(sum);  // defect
}
KERNEL(nothing_through_shared) { /* what is loaded here is calculated with, and stored much later */
  __shared__ int s[64];
  s[threadIdx.x] = b[threadIdx.x] + 1;  // other
  __syncthreads();
  c[threadIdx.x] = s[63 - threadIdx.x] * 2;  // defect
}

/* ---- asynchronous copies ---- */

KERNEL(copy_without_wait) {
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x], 4);
  __pipeline_commit();
  b[threadIdx.x] = s[threadIdx.x];  // defect
}
KERNEL(copy_with_wait) {
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  b[threadIdx.x] = s[threadIdx.x];
}
KERNEL(copy_that_waits_for_too_few) {
  __shared__ int s[2][64];
  __pipeline_memcpy_async(&s[0][threadIdx.x], &a[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&s[1][threadIdx.x], &a[64 + threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  b[threadIdx.x] = s[1][threadIdx.x];  // defect
}
KERNEL(copy_that_waits_for_enough) {
  __shared__ int s[2][64];
  __pipeline_memcpy_async(&s[0][threadIdx.x], &a[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&s[1][threadIdx.x], &a[64 + threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  b[threadIdx.x] = s[0][threadIdx.x];
  __pipeline_wait_prior(0);
  b[64 + threadIdx.x] = s[1][threadIdx.x];
}
KERNEL(copy_of_another_thread) {
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  b[threadIdx.x] = s[threadIdx.x ^ 1];  // defect
}
KERNEL(copy_of_another_thread_after_a_barrier) {
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  b[threadIdx.x] = s[threadIdx.x ^ 1];
}
KERNEL(copy_over_what_is_read) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = s[63 - threadIdx.x];  // other
  __pipeline_memcpy_async(&s[threadIdx.x], &a[64 + threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  b[64 + threadIdx.x] = s[63 - threadIdx.x];
}
KERNEL(copy_over_what_was_read) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = s[63 - threadIdx.x];
  __syncthreads();
  __pipeline_memcpy_async(&s[threadIdx.x], &a[64 + threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  b[64 + threadIdx.x] = s[63 - threadIdx.x];
}
KERNEL(copy_of_nothing) { /* of b nothing is written */
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &b[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  c[threadIdx.x] = s[threadIdx.x] + 1;  // defect
}

/* ---- the order of blocks and warps ---- */

KERNEL(order_of_warps) {
  if (threadIdx.x % 32 != 0) return;
  int place = atomicAdd(&c[0], 1);
  b[place] = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
}
