// Load without streaming over N keep-alive connections.
// usage: requestload PORT PATH N SECONDS RATE BODY [HEADER...]
// RATE 0: each connection sends its next request as soon as it has its answer. Otherwise RATE requests a second
// leave at fixed times whatever the answers do, and latency counts from the time a request was due.
// Prints one JSON line.
#include "load.h"

enum { GRACE_MS = 10000, WAIT_MS = 100, MAX_DUE = 1 << 20 };

typedef struct Connection {
  int fd, busy, ready;
  double due_ms;
  size_t have, total;  // bytes of the answer so far; its length once the head is read
  int status;
  char head[8192];
  struct Connection *next_idle;
} Connection;

static int port;
static double rate, end_ms;
static long sent, answered, answered_in_time, refused, broken;
static Samples latency_ms;
static Connection *idle;
static double *due;  // due times of requests that wait for a connection
static long due_first, due_last;

static void connect_again(Connection *connection) {
  if (connection->fd > 0) close(connection->fd);
  connection->fd = open_connection(port);
  connection->busy = connection->ready = 0;
  watch_fd(EPOLL_CTL_ADD, connection->fd, EPOLLOUT, connection);
}

static void send_request(Connection *connection, double due_ms) {
  connection->busy = 1;
  connection->due_ms = due_ms;
  connection->have = connection->total = 0;
  sent++;
  if (write(connection->fd, request, request_bytes) != (ssize_t)request_bytes) {
    broken++;
    connect_again(connection);
  }
}

static void become_free(Connection *connection) {
  connection->busy = 0;
  if (rate == 0) {
    double at_ms = now_ms();
    if (at_ms < end_ms) send_request(connection, at_ms);
  } else if (due_first < due_last) {
    send_request(connection, due[due_first++ % MAX_DUE]);
  } else {
    connection->next_idle = idle;
    idle = connection;
  }
}

static void take_answer(Connection *connection) {
  if (connection->status == 200) {
    answered++;
    // Answers after the end do not count towards the sustained rate.
    if (now_ms() <= end_ms) answered_in_time++;
    add_sample(&latency_ms, now_ms() - connection->due_ms);
  } else {
    refused++;
  }
  become_free(connection);
}

// Parses the head once it is complete; of the body only the length counts.
static int parse_head(Connection *connection, const char *text, size_t bytes) {
  size_t room = sizeof connection->head - 1 - connection->have;
  size_t take = bytes < room ? bytes : room;
  memcpy(connection->head + connection->have, text, take);
  connection->head[connection->have + take] = 0;
  char *end = strstr(connection->head, "\r\n\r\n");
  if (!end) return room > bytes;
  char *length = strcasestr(connection->head, "\r\ncontent-length:");
  if (!length || length > end) return 0;
  connection->status = atoi(connection->head + 9);
  connection->total = (end + 4 - connection->head) + strtoul(length + 17, 0, 10);
  return 1;
}

static void read_answer(Connection *connection, char *buffer) {
  for (;;) {
    ssize_t bytes = read(connection->fd, buffer, READ_BYTES);
    if (bytes < 0 && errno == EAGAIN) return;
    if (bytes <= 0 || (!connection->total && !parse_head(connection, buffer, bytes))) {
      if (connection->busy) broken++;
      connect_again(connection);
      return;
    }
    connection->have += bytes;
    if (connection->total && connection->have >= connection->total) {
      take_answer(connection);
      return;
    }
  }
}

static void send_due(int timer_fd, double *next_ms) {
  unsigned long ticks;
  if (read(timer_fd, &ticks, sizeof ticks) < 0) return;
  for (double at_ms = now_ms(); *next_ms <= at_ms && *next_ms < end_ms; *next_ms += 1e3 / rate) {
    Connection *connection = idle;
    if (connection) {
      idle = connection->next_idle;
      send_request(connection, *next_ms);
    } else if (due_last - due_first < MAX_DUE) {
      due[due_last++ % MAX_DUE] = *next_ms;
    }
  }
}

static int start_timer(double first_ms) {
  int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  long interval_ns = (long)(1e9 / rate);
  struct itimerspec times = {
      .it_value = {(long)(first_ms / 1e3), (long)((first_ms - (long)(first_ms / 1e3) * 1e3) * 1e6)},
      .it_interval = {interval_ns / 1000000000, interval_ns % 1000000000}};
  timerfd_settime(fd, TFD_TIMER_ABSTIME, &times, 0);
  watch_fd(EPOLL_CTL_ADD, fd, EPOLLIN, NULL);
  return fd;
}

static int work_is_left(double at_ms, Connection *connections, int count) {
  if (at_ms < end_ms) return 1;
  if (at_ms > end_ms + GRACE_MS) return 0;
  for (int i = 0; i < count; i++)
    if (connections[i].busy) return 1;
  return 0;
}

int main(int count, char **words) {
  if (count < 7) return 2;
  signal(SIGPIPE, SIG_IGN);
  raise_file_limit();
  port = atoi(words[1]);
  rate = atof(words[5]);
  int wanted = atoi(words[3]);
  build_request(words[2], "keep-alive", words[6], words + 7, count - 7);

  epoll_fd = epoll_create1(0);
  due = malloc(sizeof(double) * MAX_DUE);
  Connection *connections = calloc(wanted, sizeof *connections);
  double begin_ms = now_ms(), next_ms = begin_ms + 50;
  end_ms = begin_ms + atof(words[4]) * 1e3;
  for (int i = 0; i < wanted; i++) connect_again(&connections[i]);
  int timer_fd = rate > 0 ? start_timer(next_ms) : -1;

  struct epoll_event events[MAX_EVENTS];
  char *buffer = malloc(READ_BYTES);
  while (work_is_left(now_ms(), connections, wanted)) {
    int ready = epoll_wait(epoll_fd, events, MAX_EVENTS, WAIT_MS);
    for (int i = 0; i < ready; i++) {
      Connection *connection = events[i].data.ptr;
      if (!connection) {
        send_due(timer_fd, &next_ms);
      } else if (!connection->ready && events[i].events & EPOLLOUT && !(events[i].events & EPOLLERR)) {
        connection->ready = 1;
        watch_fd(EPOLL_CTL_MOD, connection->fd, EPOLLIN, connection);
        become_free(connection);
      } else {
        read_answer(connection, buffer);
      }
    }
  }
  long unfinished = 0;
  for (int i = 0; i < wanted; i++) unfinished += connections[i].busy;
  double seconds = (end_ms - begin_ms) / 1e3;
  printf("{\"sent\":%ld,\"answered\":%ld,\"refused\":%ld,\"broken\":%ld,\"unfinished\":%ld,\"seconds\":%.3f,"
         "\"requestsPerS\":%.1f,",
         sent, answered, refused, broken, unfinished, seconds, answered_in_time / seconds);
  print_samples("latencyMs", &latency_ms);
  printf("}\n");
}
