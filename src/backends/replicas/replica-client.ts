import type { HttpClient, HttpRequest, HttpResponse } from "../../lib/http/http-client.ts";
import type { Log } from "../../lib/log.ts";
import { isUnconnected } from "../upstream/connection-error.ts";
import { startChecks } from "./check-replicas.ts";
import { chooseByKey, chooseByLoad, findCandidates } from "./choose-replica.ts";
import { countResponse } from "./count-response.ts";
import { Replica } from "./replica.ts";
import type { ReplicaCheck } from "./replica-checks.ts";
import { ReplicaState } from "./replica-state.ts";

/**
 * An HTTP client for several servers of the same models. It serves addresses that begin with the first server's
 * address.
 */
export interface ReplicaClient extends HttpClient {
  readonly addresses: readonly string[];
  /** Returns what is known of each server, in the order of their addresses. */
  readonly states: () => readonly ReplicaStatus[];
}

/** What is known of one of the servers. */
export interface ReplicaStatus {
  readonly host: string;
  /** Undefined until it was checked once. */
  readonly isUp: boolean | undefined;
  /** Milliseconds since it is up, or down. */
  readonly forMs: number | undefined;
  readonly openCalls: number;
  /** Undefined until it has listed them. */
  readonly models: ReadonlySet<string> | undefined;
}

export interface ReplicaOptions {
  /** Two or more, without a trailing slash. */
  readonly addresses: readonly [string, string, ...string[]];
  /** The client that calls each of them. The caller closes it. */
  readonly client: HttpClient;
  /** The credential, as headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly check: ReplicaCheck;
  readonly log: Log;
  /** Returns milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** The engine is too busy, or its proxy cannot reach it: another replica may take the call. */
const REFUSALS: ReadonlySet<number> = new Set([429, 502, 503]);
/** The statuses among these that count as a failure of the replica. */
const FAILURES: ReadonlySet<number> = new Set([502, 503]);
/** Limits the tries of a call whose connection breaks before a response: the call itself may crash the engine. */
const MOST_BROKEN_TRIES = 2;

/**
 * Sends each call to its replica, and to another one when that refuses it before its first byte. A failing replica gets
 * no calls until a check finds it well.
 */
export function createReplicaClient(options: ReplicaOptions): ReplicaClient {
  const { addresses, client, check, log, now = () => performance.now() } = options;
  const [first] = addresses;
  const replicas = addresses.map((address, index) => new Replica(address, index + 1));
  const state = new ReplicaState({ count: replicas.length, log, now });
  const stopChecks = startChecks({ ...options, replicas, state, now });
  let turn = 0;

  const choose = (candidates: readonly Replica[], { route, body }: HttpRequest) => {
    if (route !== undefined) return chooseByKey(candidates, route.key, check.spillAbove);
    // Side requests always go to the first working replica, because two replicas may list different models.
    return body === undefined ? candidates[0] : chooseByLoad(candidates, turn++);
  };

  const sendTo = async (replica: Replica, request: HttpRequest): Promise<HttpResponse> => {
    const isTrial = replica.breaker.beginsTrial();
    const ended = () => {
      replica.openCalls -= 1;
      if (isTrial) replica.breaker.endTrial();
    };
    replica.openCalls += 1;
    try {
      const url = replica.address + request.url.slice(first.length);
      const response = await client.send({ ...request, url });
      const hasFailed = FAILURES.has(response.status);
      if (hasFailed) state.failed(replica, false);
      return countResponse(response, {
        // Its headers come also from a server whose engine hangs.
        began: () => hasFailed || state.succeeded(replica),
        ended,
        broke: () => state.broke(replica, request.signal),
      });
    } catch (thrown) {
      ended();
      state.broke(replica, request.signal, isUnconnected(thrown));
      throw thrown;
    }
  };

  return {
    addresses,
    states: () => replicas.map((replica) => statusOf(replica, now())),
    send(request) {
      if (!request.url.startsWith(`${first}/`)) return client.send(request);
      const candidates = findCandidates(replicas, request.route?.model);
      return sendToOne(candidates, request, { choose, sendTo });
    },
    async close() {
      stopChecks();
    },
  };
}

function statusOf(
  { host, breaker, changedAt, openCalls, models }: Replica,
  now: number,
): ReplicaStatus {
  const isUp = changedAt === undefined ? undefined : breaker.isClosed;
  return {
    host,
    isUp,
    forMs: changedAt === undefined ? undefined : now - changedAt,
    openCalls,
    models,
  };
}

interface Sending {
  readonly choose: (candidates: readonly Replica[], request: HttpRequest) => Replica | undefined;
  readonly sendTo: (replica: Replica, request: HttpRequest) => Promise<HttpResponse>;
}

/**
 * Tries each candidate at most once. When all fail, the last refusal is returned: it says more than a failed
 * connection.
 */
async function sendToOne(
  candidates: readonly Replica[],
  request: HttpRequest,
  { choose, sendTo }: Sending,
): Promise<HttpResponse> {
  let triesLeft = candidates.length;
  let brokenTriesLeft = MOST_BROKEN_TRIES;
  let untried = candidates;
  let refusal: HttpResponse | undefined;
  let failure: unknown;
  while (triesLeft-- > 0 && brokenTriesLeft > 0 && !request.signal.aborted) {
    const replica = choose(untried, request);
    if (replica === undefined) break;
    untried = untried.filter((candidate) => candidate !== replica);
    try {
      const response = await sendTo(replica, request);
      refusal?.cancel();
      if (!REFUSALS.has(response.status)) return response;
      refusal = response;
    } catch (thrown) {
      failure = thrown;
      if (!isUnconnected(thrown)) brokenTriesLeft -= 1;
    }
  }
  if (refusal !== undefined && !request.signal.aborted) return refusal;
  refusal?.cancel();
  throw failure ?? request.signal.reason;
}
