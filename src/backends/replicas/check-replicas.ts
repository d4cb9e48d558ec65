import type { HttpClient, HttpResponse } from "../../lib/http/http-client.ts";
import { limitSignal } from "../../lib/http/limit-signal.ts";
import { isUnconnected } from "../upstream/connection-error.ts";
import type { Replica } from "./replica.ts";
import type { ReplicaCheck } from "./replica-checks.ts";
import type { ReplicaState } from "./replica-state.ts";

export interface CheckOptions {
  readonly replicas: readonly Replica[];
  readonly client: HttpClient;
  /** The credential, as headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly check: ReplicaCheck;
  readonly state: ReplicaState;
  readonly now: () => number;
}

/** The check interval of a replica, before jitter. */
const CHECK_EVERY_MS = 5_000;
/** The interval after a failed check. */
const RECHECK_AFTER_MS = 1_000;
const JITTER = 0.2;
/** How often due checks are looked for. */
const TICK_MS = 250;
const CHECK_TIMEOUT_MS = 2_000;
const MAX_REPLY_BYTES = 16 * 1024 * 1024;

/** Checks every replica periodically until the returned function is called. */
export function startChecks(options: CheckOptions): () => void {
  const { replicas, now } = options;
  const stopping = new AbortController();
  const dueAt = new Map<Replica, number>();
  const running = new Set<Replica>();

  const checkOne = async (replica: Replica): Promise<void> => {
    running.add(replica);
    const isWell = await checkReplica(options, replica, stopping.signal);
    running.delete(replica);
    dueAt.set(replica, now() + jittered(isWell ? CHECK_EVERY_MS : RECHECK_AFTER_MS));
  };
  const isDue = (replica: Replica) => {
    const { breaker } = replica;
    if (!breaker.isClosed && !breaker.isOnTrial) return breaker.takesProbe(now());
    return now() >= (dueAt.get(replica) ?? 0);
  };
  const tick = () => {
    for (const replica of replicas) {
      if (!running.has(replica) && isDue(replica)) void checkOne(replica);
    }
  };
  const timer = setInterval(tick, TICK_MS).unref();
  tick();
  return () => {
    clearInterval(timer);
    stopping.abort();
  };
}

/** Adds jitter, so that neither replicas nor gateways check in step. */
function jittered(milliseconds: number): number {
  return milliseconds * (1 + JITTER * (2 * Math.random() - 1));
}

/** Returns true when the replica works. Never throws. */
async function checkReplica(
  options: CheckOptions,
  replica: Replica,
  stopping: AbortSignal,
): Promise<boolean> {
  const { check, state } = options;
  const signal = limitSignal(stopping, CHECK_TIMEOUT_MS);
  const ask = (path: string) => askReplica(options, replica.address + path, signal);
  try {
    if (check.healthPath !== undefined) (await ask(check.healthPath)).cancel();
    const response = await ask(check.modelsPath);
    if (response.status === 200) {
      replica.models = check.readModels(parseJson(await response.text(MAX_REPLY_BYTES)));
    } else response.cancel();
    // While it gets calls, only they count: a successful call shows more than a health check.
    const isKnown = replica.breaker.isClosed && replica.changedAt !== undefined;
    if (isKnown) replica.breaker.passedCheck();
    else state.foundWell(replica);
    return true;
  } catch (thrown) {
    if (!stopping.aborted) {
      state.failedCheck(replica, thrown instanceof EngineFailure || isUnconnected(thrown));
    }
    return false;
  }
}

/** The engine itself reports that it does not work. */
class EngineFailure extends Error {}

async function askReplica(
  { client, headers }: CheckOptions,
  url: string,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const response = await client.send({ url, method: "GET", headers, signal });
  if (response.status < 500) return response;
  response.cancel();
  throw new EngineFailure(`status ${response.status}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
