import { setTimeout as sleep } from "node:timers/promises";
import { percentile } from "../../percentile.ts";
import { chatBody, openCall } from "../call-gateway.ts";
import type { RawClient } from "../raw-client.ts";

const MODEL = "sim-chat";
const OPEN_AT_ONCE = 50;
const LATE_MS = 60_000;
const END = "data: [DONE]\n\n";

export interface PacedStreamsOptions {
  readonly port: number;
  readonly streams: number;
  /** Events with text in each stream, and the pause between two of them at the engine. */
  readonly events: number;
  readonly intervalMs: number;
}

export interface PacedStreamsReport {
  readonly done: number;
  readonly broken: number;
  /** By how much an event came later than the pace after its stream's first one says. */
  readonly delayP99Ms: number;
}

export interface PacedStreams {
  /** Resolves when every stream has ended. */
  readonly finish: () => Promise<PacedStreamsReport>;
  /** Resolves when every stream has brought its first text. */
  readonly begun: () => Promise<void>;
  /** All clients go away at once. */
  readonly drop: () => void;
}

/** Opens many streams whose engine says a word now and then. */
export async function openPacedStreams(options: PacedStreamsOptions): Promise<PacedStreams> {
  const { port, streams, events, intervalMs } = options;
  const clients: RawClient[] = [];
  const body = chatBody(MODEL, { stream: true });
  for (let open = 0; open < streams; open += OPEN_AT_ONCE) {
    const count = Math.min(OPEN_AT_ONCE, streams - open);
    clients.push(
      ...(await Promise.all(Array.from({ length: count }, () => openCall(port, { body })))),
    );
  }
  const delaysMs: number[] = [];
  const followed = clients.map((client) => follow(client, intervalMs, delaysMs));
  const lastMs = events * intervalMs + LATE_MS;
  return {
    async finish() {
      const counts = await Promise.all(
        clients.map(async (client, index) => {
          await client
            .readUntil((received) => received.includes(END), lastMs)
            .catch(() => undefined);
          const text = client.received().toString("latin1");
          client.close();
          return text.includes(END) ? (followed[index]?.() ?? 0) : 0;
        }),
      );
      const done = counts.filter((count) => count === events).length;
      const delayP99Ms = Math.round(percentile(delaysMs, 0.99));
      return { done, broken: streams - done, delayP99Ms };
    },
    async begun() {
      await Promise.all(
        clients.map((client) => client.readUntil((text) => text.includes('"content":"w'), LATE_MS)),
      );
    },
    drop() {
      for (const client of clients) client.reset();
    },
  };
}

/** Notes when each word of a stream comes; returns how many came so far. */
function follow(client: RawClient, intervalMs: number, delaysMs: number[]): () => number {
  let seen = 0;
  let firstAt = 0;
  const look = (text: string): boolean => {
    const words = text.split('"content":"word').length - 1;
    const at = performance.now();
    if (seen === 0 && words > 0) firstAt = at;
    for (; seen < words; seen += 1) delaysMs.push(Math.max(0, at - firstAt - seen * intervalMs));
    return text.includes(END);
  };
  client.readUntil(look, LATE_MS * 10).catch(() => undefined);
  return () => seen;
}

/** Waits until something counted is at most so much; resolves with the milliseconds that took. */
export async function untilAtMost(
  count: () => number,
  most: number,
  limitMs: number,
): Promise<number> {
  const startedAt = performance.now();
  while (count() > most && performance.now() - startedAt < limitMs) await sleep(20);
  return Math.round(performance.now() - startedAt);
}
