/* Nanoseconds a call of the CUDA runtime, a line a function: run with and without the wrappers preloaded. Functions
 * that do little themselves show the difference best. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <time.h>

enum { CALLS = 200000, COPIES = 2000 };

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

int main(void) {
  void *memory = NULL;
  char host[64] = {0};
  int device;
  cudaStream_t stream;
  if (cudaMalloc(&memory, sizeof host) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess) {
    fprintf(stderr, "wrapper_cost: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 1;
  }
  double began = now();
  for (int i = 0; i < CALLS; i++) (void)cudaGetLastError();
  printf("cudaGetLastError %.1f\n", (now() - began) / CALLS);
  began = now();
  for (int i = 0; i < CALLS; i++) (void)cudaGetDevice(&device);
  printf("cudaGetDevice %.1f\n", (now() - began) / CALLS);
  began = now();
  for (int i = 0; i < CALLS; i++) (void)cudaStreamQuery(stream);
  printf("cudaStreamQuery %.1f\n", (now() - began) / CALLS);
  began = now();
  for (int i = 0; i < COPIES; i++) (void)cudaMemcpyAsync(memory, host, sizeof host, cudaMemcpyHostToDevice, stream);
  printf("cudaMemcpyAsync %.1f\n", (now() - began) / COPIES);
  int code = (int)cudaStreamSynchronize(stream);
  (void)cudaStreamDestroy(stream);
  (void)cudaFree(memory);
  return code == 0 ? 0 : 1;
}
