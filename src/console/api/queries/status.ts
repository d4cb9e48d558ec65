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

async function loadStatus(signal: AbortSignal): Promise<GatewayStatus> {
  const status = await fetch("/api/status", { signal });
  // A gateway without it still tells whether it is ready; a 503 of that is an answer, too.
  const response = status.status === 404 ? await fetch("/api/ready", { signal }) : status;
  if (!response.ok && response.status !== 503) throw new Error(`status ${response.status}`);
  const told = (await response.json()) as Told;
  return {
    ready: told.readiness?.ready ?? told.ready ?? true,
    hints: told.readiness?.hints ?? told.hints ?? {},
    isSimulated: told.engine?.simulated ?? false,
    licenseWarning: told.license?.warning ?? null,
    deadEvents: told.dead_events ?? 0,
  };
}
