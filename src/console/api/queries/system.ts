import { useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { ApiError, toApiError, unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

export type Setting = components["schemas"]["Setting"];
export type Readiness = components["schemas"]["Readiness"];

const EVERY_MS = 5_000;

/** Each check of the server by name, every five seconds. A server that is not ready says so with 503. */
export function useReadiness() {
  return useQuery({
    queryKey: ["readiness"],
    queryFn: ({ signal }) => readReadiness(signal),
    refetchInterval: ({ state }) => EVERY_MS * 2 ** Math.min(3, state.fetchFailureCount),
    retry: false,
  });
}

async function readReadiness(signal: AbortSignal): Promise<Readiness> {
  const response = await fetch("/api/ready", { signal }).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    const nothing = { param: null, requestId: null, retryAfterSeconds: null };
    throw new ApiError("The gateway does not answer.", { status: 0, code: "network", ...nothing });
  });
  const body: unknown = await response.json().catch(() => undefined);
  if (isReadiness(body)) return body;
  throw toApiError(response, body);
}

function isReadiness(body: unknown): body is Readiness {
  return typeof body === "object" && body !== null && "ready" in body && "checks" in body;
}

/** The settings of this server, for administrators. They change with a restart alone. */
export function useSettings() {
  return useQuery({
    queryKey: ["settings"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/admin/settings", { signal })),
  });
}

/** A package that the console is built from. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** Its license by its short name, such as MIT. */
  readonly identifier: string | null;
  readonly text: string | null;
}

/** What the console is built from, as its build lists it. */
export function useBundledPackages(isWanted: boolean) {
  return useQuery({
    queryKey: ["bundled-packages"],
    queryFn: ({ signal }) => readPackages(signal),
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

async function readPackages(signal: AbortSignal): Promise<readonly BundledPackage[]> {
  const response = await fetch("/console/licenses.json", { signal });
  if (!response.ok) throw toApiError(response, undefined);
  return (await response.json()) as readonly BundledPackage[];
}
