// For a container's health check: ends with 0 while the server answers.
const WAIT_MS = 4_000;
const url = `http://127.0.0.1:${process.env.PORT || 8080}/api/health`;

try {
  const { ok } = await fetch(url, { signal: AbortSignal.timeout(WAIT_MS) });
  process.exit(ok ? 0 : 1);
} catch {
  process.exit(1);
}
