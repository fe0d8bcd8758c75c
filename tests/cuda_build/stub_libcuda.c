/* A CUDA driver without devices, in which only cuInit has an effect.

   Before cuInit every call answers CUDA_ERROR_NOT_INITIALIZED, after it CUDA_ERROR_NO_DEVICE, as the real driver
   does on a machine without a GPU. Into the file STUB_LIBCUDA_LOG it writes a line for every process that calls
   cuInit, and one for every fork(2) of such a process: the child of that fork could never use CUDA. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_INITIALIZED = 3, NO_DEVICE = 100 };
static int initialized;

static void note(const char *what) {
  char line[64];
  const char *path = getenv("STUB_LIBCUDA_LOG");
  int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (file < 0) return;
  if (write(file, line, snprintf(line, sizeof line, "%s %d\n", what, (int)getpid())) < 0) abort();
  close(file);
}
static void note_fork(void) { note("fork"); }

int cuInit(unsigned flags) {
  (void)flags;
  note("cuInit");
  if (!initialized) pthread_atfork(note_fork, NULL, NULL);
  initialized = 1;
  return NO_DEVICE;
}
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuCtxGetCurrent(void **context) { *context = NULL; return initialized ? 0 : NOT_INITIALIZED; }
static int any_other(void) { return initialized ? NO_DEVICE : NOT_INITIALIZED; }

int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags, void *status) {
  (void)version, (void)flags;
  if (!strcmp(name, "cuInit")) *function = cuInit;
  else if (!strcmp(name, "cuDriverGetVersion")) *function = cuDriverGetVersion;
  else if (!strcmp(name, "cuCtxGetCurrent")) *function = cuCtxGetCurrent;
  else if (!strncmp(name, "cuGetProcAddress", 16)) *function = cuGetProcAddress_v2;
  else *function = any_other;
  if (status) *(int *)status = 0;
  return 0;
}
int cuGetProcAddress(const char *name, void **function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, 0);
}
