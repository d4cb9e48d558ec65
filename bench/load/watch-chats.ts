import { setTimeout as sleep } from "node:timers/promises";

const CHATS_PER_SECOND = 5;
const CHAT_TOKENS = 20;
/** More than a stream can take while it is watched. */
const STREAM_TOKENS = 8_000;
/** The longest wait for answers at the end. */
const REST_MS = 5_000;

export interface ChatFigures {
  readonly chats: number;
  readonly failures: number;
  /** Milliseconds until the first token of a chat. */
  readonly firstTokenMs: Readonly<Record<"p50" | "p95" | "max", number>>;
  /** The longest time between two pieces of a stream that the engine sends evenly. */
  readonly longestGapMs: number;
}

interface Gateway {
  readonly url: string;
  readonly key: string;
}

/** Sends five chats a second at fixed times, and reads one long stream beside them. */
export async function watchChats(gateway: Gateway, durationMs: number): Promise<ChatFigures> {
  const end = new AbortController();
  const times: number[] = [];
  let failures = 0;
  let longestGapMs = 0;
  let lastAt: number | undefined;
  const stream = readPieces(gateway, { tokens: STREAM_TOKENS, signal: end.signal }, () => {
    const now = performance.now();
    if (lastAt !== undefined) longestGapMs = Math.max(longestGapMs, now - lastAt);
    lastAt = now;
  }).catch(() => {
    if (!end.signal.aborted) failures += 1;
  });
  const startedMs = performance.now();
  const open: Promise<void>[] = [];
  for (let dueMs = startedMs; dueMs < startedMs + durationMs; dueMs += 1_000 / CHATS_PER_SECOND) {
    await sleep(Math.max(0, dueMs - performance.now()));
    let isFirst = true;
    const chat = readPieces(gateway, { tokens: CHAT_TOKENS, signal: end.signal }, () => {
      if (isFirst) times.push(performance.now() - dueMs);
      isFirst = false;
    });
    open.push(
      chat.catch(() => {
        failures += 1;
      }),
    );
  }
  await Promise.race([Promise.all(open), sleep(REST_MS)]);
  end.abort();
  await Promise.race([stream, sleep(REST_MS)]);
  times.sort((one, other) => one - other);
  const at = (share: number) => times[Math.ceil(share * times.length) - 1] ?? Number.NaN;
  const firstTokenMs = { p50: at(0.5), p95: at(0.95), max: at(1) };
  return { chats: open.length, failures, firstTokenMs, longestGapMs };
}

async function readPieces(
  { url, key }: Gateway,
  { tokens, signal }: { readonly tokens: number; readonly signal: AbortSignal },
  onPiece: () => void,
): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "sim-chat",
      messages: [{ role: "user", content: `count to ${tokens}` }],
      max_tokens: tokens,
      stream: true,
    }),
    signal,
  });
  if (response.status !== 200 || response.body === null)
    throw new Error(`status ${response.status}`);
  for await (const _ of response.body) onPiece();
}
