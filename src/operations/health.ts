import type { JsonObject } from "../lib/json.ts";

/** What readiness asks. Each answer is bounded in time and never throws. */
export interface ReadinessProbes {
  readonly db: () => Promise<boolean>;
  readonly migrations: () => boolean;
  readonly llm: () => Promise<boolean>;
  /** A stopping server is not ready, whatever its parts say. */
  readonly stopping: () => boolean;
}

/** `{ready, checks}`, with `failed` when a check failed. */
export async function readiness(
  probes: ReadinessProbes,
): Promise<{ ready: boolean; report: JsonObject }> {
  const [db, llm] = await Promise.all([probes.db(), probes.llm()]);
  const checks = { db, migrations: probes.migrations(), llm };
  const failed = Object.entries(checks).flatMap(([name, passed]) => (passed ? [] : [name]));
  if (probes.stopping()) failed.push("stopping");
  const ready = failed.length === 0;
  return { ready, report: ready ? { ready, checks } : { ready, failed, checks } };
}
