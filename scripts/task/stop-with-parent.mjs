// Loaded first into a server that a task starts: when the task is killed outright, the server stops too.
const POLL_MS = 250;
const parent = process.ppid;

const timer = setInterval(() => {
  if (process.ppid === parent) return;
  clearInterval(timer);
  process.kill(process.pid, "SIGTERM");
}, POLL_MS);
timer.unref();
