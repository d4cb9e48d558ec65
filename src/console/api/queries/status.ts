import { useQuery } from "@tanstack/react-query";

/** What the gateway says of itself, as far as the caller may know. */
export interface GatewayStatus {
  readonly ready: boolean;
  /** What to do about each check that fails, by its name. */
  readonly hints: Readonly<Record<string, string>>;
  /** The answers come from the built-in simulator. */
  readonly isSimulated: boolean;
  /** What the license warns of. */
  readonly licenseWarning: string | null;
  readonly deadEvents: number;
}

const EVERY_MS = 5_000;

/** The gateway's status, every five seconds while the tab is seen; errors make it rarer. */
export function useStatus() {
  return useQuery({
    queryKey: ["status"],
    queryFn: ({ signal }) => loadStatus(signal),
    refetchInterval: ({ state }) => EVERY_MS * 2 ** Math.min(3, state.fetchFailureCount),
    retry: false,
  });
}

/** The fields that `/api/status` and `/api/ready` have in common or alone. */
interface Told {
  readonly ready?: boolean;
  readonly readiness?: { readonly ready?: boolean; readonly hints?: Record<string, string> };
  readonly hints?: Record<string, string>;
  readonly engine?: { readonly simulated?: boolean };
  readonly license?: { readonly warning?: string | null };
  readonly dead_events?: number;
}

/** A gateway without `/api/status` still tells whether it is ready and what its license warns of. */
let hasStatus = true;

async function loadStatus(signal: AbortSignal): Promise<GatewayStatus> {
  const told = (hasStatus && (await ask("/api/status", signal))) || (await askProbes(signal));
  return {
    ready: told.readiness?.ready ?? told.ready ?? true,
    hints: told.readiness?.hints ?? told.hints ?? {},
    isSimulated: told.engine?.simulated ?? false,
    licenseWarning: told.license?.warning ?? null,
    deadEvents: told.dead_events ?? 0,
  };
}

async function askProbes(signal: AbortSignal): Promise<Told> {
  hasStatus = false;
  const [ready, health] = await Promise.all([
    ask("/api/ready", signal),
    ask("/api/health", signal),
  ]);
  return { ...health, ...ready };
}

/** Returns what an address tells, undefined where there is none; 503 is an answer, too. */
async function ask(path: string, signal: AbortSignal): Promise<Told | undefined> {
  const response = await fetch(path, { signal });
  // Before the login it may be refused, and the probes are open to all.
  if (response.status === 404 || response.status === 401) return undefined;
  if (!response.ok && response.status !== 503) throw new Error(`${path}: ${response.status}`);
  return (await response.json()) as Told;
}
