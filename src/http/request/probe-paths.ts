/** What watches the service asks, again and again. Served also while the server stops. */
const PROBE_PATHS: ReadonlySet<string> = new Set([
  "/api/health",
  "/api/ready",
  "/v1/health",
  "/metrics",
]);

export function isProbe(path: string | undefined): boolean {
  return path !== undefined && PROBE_PATHS.has(path);
}
