// Shared by the load clients: a clock, percentiles, a request, non-blocking connections to loopback.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MAX_EVENTS = 512, READ_BYTES = 1 << 18, MAX_FILES = 200000 };

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

// Samples in milliseconds, for percentiles; samples beyond `MAX_SAMPLES` are dropped.
enum { MAX_SAMPLES = 8000000 };
typedef struct {
  float *values;
  long count;
} Samples;

static void add_sample(Samples *samples, double value) {
  if (!samples->values) samples->values = malloc(sizeof(float) * MAX_SAMPLES);
  if (samples->count < MAX_SAMPLES) samples->values[samples->count++] = (float)value;
}

static int compare_floats(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return x < y ? -1 : x > y;
}

static void sort_samples(Samples *samples) {
  if (samples->count) qsort(samples->values, samples->count, sizeof(float), compare_floats);
}

// The samples must be sorted; returns -1 if there are none.
static double percentile(const Samples *samples, double share) {
  return samples->count ? samples->values[(long)((samples->count - 1) * share)] : -1;
}

static void print_samples(const char *name, Samples *samples) {
  sort_samples(samples);
  printf("\"%s\":{\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"max\":%.3f}", name,
         percentile(samples, .5), percentile(samples, .9), percentile(samples, .99),
         percentile(samples, 1));
}

static char request[65536];
static size_t request_bytes;

static void build_request(const char *path, const char *connection, const char *body, char **headers, int count) {
  request_bytes = sprintf(request,
                          "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                          "Connection: %s\r\n",
                          path, connection);
  for (int i = 0; i < count; i++) request_bytes += sprintf(request + request_bytes, "%s\r\n", headers[i]);
  request_bytes += sprintf(request + request_bytes, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
}

static void raise_file_limit(void) {
  struct rlimit limit = {MAX_FILES, MAX_FILES};
  setrlimit(RLIMIT_NOFILE, &limit);
}

static int epoll_fd;

static void watch_fd(int operation, int fd, unsigned events, void *data) {
  struct epoll_event event = {.events = events, .data.ptr = data};
  epoll_ctl(epoll_fd, operation, fd, &event);
}

// Starts a connection to loopback; the socket becomes writable once it is connected.
static int open_connection(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  connect(fd, (struct sockaddr *)&address, sizeof address);
  return fd;
}
