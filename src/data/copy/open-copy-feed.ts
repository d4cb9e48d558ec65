import { createHash } from "node:crypto";
import type { Part } from "../../core/part.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Database } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { within } from "../../lib/time/within.ts";
import type { DataProcess } from "../process/data-process.ts";
import type { CopyStates, FeedRequest } from "./copy-messages.ts";
import { type CopiedView, copyView, type FeedRound, fedView } from "./copy-view.ts";
import { ViewTimes } from "./view-times.ts";

const ROUND_PAUSE_MS = 20_000;
/** The copy is followed for so long after somebody read it. */
const USED_MS = 10 * 60_000;
/** One request of a round: the copy may have to wait for a client's turn. */
const REQUEST_MS = 11 * 60_000;
/** A round is many requests, the first one all rows of all views; each request has its own end. */
const ROUND_LONGEST_MS = 6 * 60 * 60_000;
/** How long a reader waits for a view that is not in the copy yet. */
const FIRST_COPY_MS = 10_000;
const MADE_WITHIN_SECONDS = 5;
/** How long the first readers after a pause wait for newer rows. A login on the port must not take 10 seconds. */
const RESUMED_MS = 5_000;
/** Changes of datasets within this time share a round. */
const CHANGED_PAUSE_MS = 1_000;

export interface CopyFeedParts {
  readonly database: Pick<Database, "askOwn" | "figures">;
  /** The views that there are now, built in and of datasets. */
  readonly listViews: () => Promise<readonly CopiedView[]>;
  readonly dataProcess: Pick<DataProcess, "request" | "isRunning" | "onStarted">;
  readonly clock: Clock;
  readonly log: Log;
  /** Whose copy it is: the installation, and a fingerprint of its secret. Another one finds nothing in it. */
  readonly identity: string;
}

export interface CopyFeed extends Part {
  /** Somebody reads, or logs in to read: the copy is made, or followed again. */
  readonly used: () => void;
  /** Call it when datasets changed: the copy drops deleted ones within seconds, even while nobody reads. */
  readonly changed: () => void;
  /**
   * Unix milliseconds up to which committed rows of all these views are in the copy. Waits for views that are not in it
   * yet, and rejects with `storage_unavailable` when that takes long. After a pause of all readers it waits for newer
   * rows, and for a few seconds only.
   * @param also views whose time counts too, where the copy has them.
   */
  readonly asOf: (views: readonly string[], also?: readonly string[]) => Promise<number>;
  /** Resolves when the copy is up to date again after a pause of all readers, or could not be for a few seconds. */
  readonly resumed: () => Promise<void>;
  /** True while this view is not in the copy. */
  readonly lacks: (view: string) => boolean;
  /** The same as `asOf`, of a round that begins after the call: what the copy has of these views is known to be old. */
  readonly renewed: (views: readonly string[]) => Promise<number>;
  /** Resolves once the copy is whole in the process that runs; rejects with the reason of a failed round. */
  readonly firstCopy: () => Promise<void>;
}

/** Feeds the embedded copy in the data process from the gateway's own database. */
export function openCopyFeed(parts: CopyFeedParts): CopyFeed {
  const { dataProcess, clock, log } = parts;
  const closing = new AbortController();
  const times = new ViewTimes();
  let soon: NodeJS.Timeout | undefined;
  let usedAt: number | undefined;
  /** When reading began again after a pause, and the end of the wait for the round of then. */
  let resumed = { at: Number.NEGATIVE_INFINITY, over: Promise.resolve() };
  let isWhole = false;

  const isUsed = (): boolean => usedAt !== undefined && clock.now() - usedAt < USED_MS;
  const { begin, beginLogged, beginNext, current } = createRounds(
    async () => {
      await runRound(parts, closing.signal, times);
      isWhole = true;
    },
    { log, closing: closing.signal },
  );
  dataProcess.onStarted(() => {
    isWhole = false;
    // A round that fed the process before fails by itself.
    if (isUsed()) void beginNext();
  });
  return {
    used() {
      const wasUsed = isUsed();
      usedAt = clock.now();
      if (wasUsed && isWhole) return;
      const round = beginLogged();
      if (wasUsed) return;
      const over = within(round, RESUMED_MS, beingMade).catch(() => undefined);
      resumed = { at: usedAt, over };
    },
    changed() {
      // A change alone does not create the copy: only readers need one.
      if (!isWhole || !dataProcess.isRunning()) return;
      soon ??= setTimeout(() => {
        soon = undefined;
        void beginNext();
      }, CHANGED_PAUSE_MS).unref();
    },
    async asOf(views, also) {
      const { at, over } = resumed;
      const isThere = () => times.oldest(views) !== undefined;
      const isRecent = () => (times.oldest(views, also) ?? at) >= at;
      if (isThere()) await times.until(isRecent, over);
      else await within(times.until(isThere, beginNext()), FIRST_COPY_MS, beingMade);
      const time = times.oldest(views, also);
      if (time === undefined) throw beingMade();
      return time;
    },
    async resumed() {
      // Before the first copy is whole its process lets nobody in.
      if (isWhole) await resumed.over;
    },
    lacks: (view) => times.get(view) === undefined,
    async renewed(views) {
      const since = clock.now();
      const isNew = () => (times.oldest(views) ?? Number.NEGATIVE_INFINITY) >= since;
      await within(times.until(isNew, beginNext()), FIRST_COPY_MS, beingMade);
      const time = times.oldest(views);
      if (time === undefined || time < since) throw beingMade();
      return time;
    },
    async firstCopy() {
      usedAt = clock.now();
      if (!isWhole || !dataProcess.isRunning()) await begin();
    },
    jobs: [
      {
        name: "bi_copy",
        pauseMs: ROUND_PAUSE_MS,
        longestMs: ROUND_LONGEST_MS,
        async run() {
          if (isUsed()) await begin();
        },
      },
    ],
    async close() {
      closing.abort(new Error("The server stops."));
      clearTimeout(soon);
      await current()?.catch(() => undefined);
    },
  };
}

/** Begins rounds, one at a time. */
function createRounds(
  round: () => Promise<void>,
  { log, closing }: { readonly log: Log; readonly closing: AbortSignal },
) {
  let current: Promise<void> | undefined;
  /** A second caller gets the round that runs. */
  const begin = (): Promise<void> => {
    current ??= round().finally(() => {
      current = undefined;
    });
    return current;
  };
  const beginLogged = (): Promise<void> =>
    begin().catch((thrown: unknown) => {
      if (!closing.aborted) log.warn({ err: thrown }, "the copy for BI keys was not updated");
    });
  return {
    begin,
    beginLogged,
    current: () => current,
    /** Begins a round that knows what there is now; one in progress may not. */
    beginNext: (): Promise<void> =>
      Promise.resolve(current)
        .catch(() => undefined)
        .then(() => (closing.aborted ? undefined : beginLogged())),
  };
}

/** The error for a reader of a view that is not in the copy yet. */
export function beingMade(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "The copy of this table for BI keys is being made. Try again in some seconds.",
    { retryAfterSeconds: MADE_WITHIN_SECONDS },
  );
}

function sendTo({ dataProcess }: CopyFeedParts, closing: AbortSignal): FeedRound["send"] {
  return async (request: FeedRequest) => {
    closing.throwIfAborted();
    const signal = AbortSignal.any([closing, AbortSignal.timeout(REQUEST_MS)]);
    const { status, body } = await dataProcess.request("/copy", request, signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    if (status !== 200) throw new Error(`The data process refused the feed: ${text.slice(0, 500)}`);
    return JSON.parse(text);
  };
}

/** @param times by view, brought up to date. */
async function runRound(
  parts: CopyFeedParts,
  closing: AbortSignal,
  times: ViewTimes,
): Promise<void> {
  const { database, listViews, clock, log, identity } = parts;
  const send = sendTo(parts, closing);
  const asOf = clock.now();
  const feed: FeedRound = { database, send, asOf };
  const views = await listViews();
  const mark = createHash("sha256").update(identity).digest("base64url");
  const states = (await send({ type: "begin", mark, views: views.map(fedView) })) as CopyStates;
  times.keepOnly(states);
  const unchanged: string[] = [];
  for (const view of views) {
    const known = states[view.name] ?? null;
    try {
      if (!(await copyView(feed, view, known))) unchanged.push(view.name);
      times.set(view.name, asOf);
    } catch (thrown) {
      // A dataset may be replaced or deleted meanwhile; what the copy has of the others is right.
      if (closing.aborted || known === null) throw thrown;
      if (times.get(view.name) === undefined) times.set(view.name, known.asOf);
      log.warn({ err: thrown, view: view.name }, "a view of the copy for BI keys was not updated");
    }
  }
  await send({ type: "unchanged", views: unchanged, asOf });
  await send({ type: "whole" });
}
