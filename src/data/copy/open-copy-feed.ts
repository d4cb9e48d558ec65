import { createHash } from "node:crypto";
import type { Part } from "../../core/part.ts";
import type { Database } from "../../db/database.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { DataProcess } from "../process/data-process.ts";
import type { CopyStates, FeedRequest } from "./copy-messages.ts";
import { type CopiedView, copyView, type FeedRound, fedView } from "./copy-view.ts";

const ROUND_PAUSE_MS = 20_000;
/** The copy is followed for so long after somebody read it. */
const USED_MS = 10 * 60_000;
/** One request of a round: the copy may have to wait for a client's turn. */
const REQUEST_MS = 11 * 60_000;

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
  /** Unix milliseconds up to which committed rows of a view are in the copy; undefined before the first time. */
  readonly asOf: (view: string) => number | undefined;
  /** Resolves once the copy is whole in the process that runs; rejects with the reason of a failed round. */
  readonly firstCopy: () => Promise<void>;
}

/** Feeds the embedded copy in the data process from the gateway's own database. */
export function openCopyFeed(parts: CopyFeedParts): CopyFeed {
  const { dataProcess, clock, log } = parts;
  const closing = new AbortController();
  let asOf = new Map<string, number>();
  let usedAt: number | undefined;
  let isWhole = false;
  let current: Promise<void> | undefined;

  const isUsed = (): boolean => usedAt !== undefined && clock.now() - usedAt < USED_MS;
  const round = async (): Promise<void> => {
    asOf = new Map(await runRound(parts, closing.signal, asOf));
    isWhole = true;
  };
  /** One round at a time; a second caller gets the one that runs. */
  const begin = (): Promise<void> => {
    current ??= round().finally(() => {
      current = undefined;
    });
    return current;
  };
  const beginUnwatched = (): void => {
    begin().catch((thrown: unknown) => {
      if (!closing.signal.aborted)
        log.warn({ err: thrown }, "the copy for BI keys was not updated");
    });
  };
  dataProcess.onStarted(() => {
    isWhole = false;
    if (!isUsed()) return;
    // A round that fed the process before fails by itself.
    void Promise.resolve(current)
      .catch(() => undefined)
      .then(beginUnwatched);
  });
  return {
    used() {
      const wasUsed = isUsed();
      usedAt = clock.now();
      if (!wasUsed || !isWhole) beginUnwatched();
    },
    asOf: (view) => asOf.get(view),
    async firstCopy() {
      usedAt = clock.now();
      if (!isWhole || !dataProcess.isRunning()) await begin();
    },
    jobs: [
      {
        name: "bi_copy",
        pauseMs: ROUND_PAUSE_MS,
        async run() {
          if (isUsed()) await begin();
        },
      },
    ],
    async close() {
      closing.abort(new Error("The server stops."));
      await current?.catch(() => undefined);
    },
  };
}

async function runRound(
  { database, listViews, dataProcess, clock, log, identity }: CopyFeedParts,
  closing: AbortSignal,
  before: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const send = async (request: FeedRequest): Promise<unknown> => {
    closing.throwIfAborted();
    const signal = AbortSignal.any([closing, AbortSignal.timeout(REQUEST_MS)]);
    const { status, body } = await dataProcess.request("/copy", request, signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    if (status !== 200) throw new Error(`The data process refused the feed: ${text.slice(0, 500)}`);
    return JSON.parse(text);
  };
  const asOf = clock.now();
  const feed: FeedRound = { database, send, asOf };
  const views = await listViews();
  const mark = createHash("sha256").update(identity).digest("base64url");
  const states = (await send({ type: "begin", mark, views: views.map(fedView) })) as CopyStates;
  const times = new Map<string, number>();
  const unchanged: string[] = [];
  for (const view of views) {
    const known = states[view.name] ?? null;
    try {
      if (!(await copyView(feed, view, known))) unchanged.push(view.name);
      times.set(view.name, asOf);
    } catch (thrown) {
      // A dataset may be replaced or deleted meanwhile; what the copy has of the others is right.
      if (closing.aborted || known === null) throw thrown;
      times.set(view.name, before.get(view.name) ?? known.asOf);
      log.warn({ err: thrown, view: view.name }, "a view of the copy for BI keys was not updated");
    }
  }
  await send({ type: "unchanged", views: unchanged, asOf });
  await send({ type: "whole" });
  return times;
}
