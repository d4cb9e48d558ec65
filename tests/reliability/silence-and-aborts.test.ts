import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect } from "vitest";
import type { LedgerEntry } from "../../scripts/simulator/ledger.ts";
import type { Moment, Script } from "../../scripts/simulator/script.ts";
import { callGateway, chatBody, openCall } from "../support/call-gateway.ts";
import { createCaseTable, noteLaterRoutes } from "../support/case-table.ts";
import { readChatStream } from "../support/chat-stream.ts";
import {
  CHAT_CALLS,
  ENGINES,
  type Engine,
  errorLines,
  type Stage,
  startStages,
} from "../support/engine-stage.ts";
import type { RawClient } from "../support/raw-client.ts";
import { type StoppableRelay, startStoppableRelay } from "../support/stoppable-relay.ts";
import type { StoredUsage } from "../support/stored-usage.ts";

const IDLE_TIMEOUT_MS = 2_000;
const KEEPALIVE_MS = 500;
const SILENT_AT: readonly Moment[] = ["headers", 0, 4];
const TRIES = 8;
/** How soon the engine must see that the client left, for the middle of the tries; the slowest may take longer. */
const CLOSE_SEEN_MS = 500;
const CLOSE_SEEN_AT_LAST_MS = 3_000;
const TEXT = "One two three four five six seven eight nine ten.";
const PIECES = { text: TEXT, fragmentCharacters: 5 };

/** When the client leaves, by what the engine does until then. */
const WINDOWS: Readonly<Record<string, { readonly script: Script; readonly stream: boolean }>> = {
  "first-byte": { script: { ...PIECES, stall: { at: "headers" } }, stream: true },
  "first-event": { script: { ...PIECES, stall: { at: 0 } }, stream: true },
  "mid-stream": { script: { ...PIECES, stall: { at: 6 } }, stream: true },
  flowing: { script: { text: "word ", repeat: 5_000, tokensPerSecond: 200 }, stream: true },
  "not-streaming": { script: { ...PIECES, stall: { at: "headers" } }, stream: false },
  "not-streaming-in-body": { script: { ...PIECES, stall: { at: 1 } }, stream: false },
};

const table = createCaseTable();
const relays = new Map<Engine, StoppableRelay>();
const starting = startStages((engine) => ({
  engine,
  models: [
    ...SILENT_AT.map((at) => `s05-${at}`),
    "s05-pause",
    "connecting",
    ...Object.keys(WINDOWS),
  ],
  environment: {
    STREAM_IDLE_TIMEOUT_MS: String(IDLE_TIMEOUT_MS),
    STREAM_KEEPALIVE_MS: String(KEEPALIVE_MS),
  },
  addressOf: async ({ port }) => {
    const relay = await startStoppableRelay(port);
    relays.set(engine, relay);
    return relay.url;
  },
}));
noteLaterRoutes(table, ["S05", "S06"]);

for (const engine of ENGINES) describe(`silence and aborts with ${engine}`, () => casesOf(engine));

function casesOf(engine: Engine): void {
  let stage: Stage;
  let relay: StoppableRelay;
  let rows: readonly StoredUsage[] | undefined;

  beforeAll(async () => {
    stage = await starting[engine];
    relay = relays.get(engine) as StoppableRelay;
  });
  afterAll(async () => {
    relay.thaw();
    await stage.finish();
    await relay.stop();
  });

  const shows = (id: string, where: string, sentence: string, test: () => Promise<void>) =>
    table.shows(id, `chat, ${engine}${where}`, sentence, test);
  const match = (model: string): Pick<Script, "match"> => ({
    match: { path: CHAT_CALLS[engine], model: engine === "ollama" ? `${model}:latest` : model },
  });
  const isCallOf = (model: string) => (entry: LedgerEntry) =>
    entry.path === CHAT_CALLS[engine] && entry.model?.replace(/:latest$/, "") === model;

  const staySilent = async (at: Moment): Promise<void> => {
    const model = `s05-${at}`;
    stage.simulator.script({ ...match(model), ...PIECES, stall: { at } });
    const startedAt = Date.now();
    const body = chatBody(model, { stream: true });
    const response = await callGateway(stage.gateway.port, { body });
    const tookMs = Date.now() - startedAt;
    const { keepalives, error, isDone, text } = readChatStream(response);
    expect(keepalives).toBeGreaterThanOrEqual(2);
    expect(keepalives).toBeLessThanOrEqual(Math.ceil(tookMs / KEEPALIVE_MS));
    expect(error).toMatchObject({ type: "api_error", code: "upstream_timeout" });
    expect(isDone).toBe(true);
    expect(text === "").toBe(at !== 4);
    expect(tookMs).toBeGreaterThanOrEqual(IDLE_TIMEOUT_MS - 50);
    expect(tookMs).toBeLessThan(3 * IDLE_TIMEOUT_MS);
    await stage.simulator.awaitEntry(
      (entry) => isCallOf(model)(entry) && entry.end === "client-left",
    );
  };
  /** Below the limit, which ends no stream. */
  const pause = async (): Promise<void> => {
    stage.simulator.script({ ...match("s05-pause"), ...PIECES, stall: { at: 4, forMs: 1_200 } });
    const body = chatBody("s05-pause", { stream: true });
    const stream = readChatStream(await callGateway(stage.gateway.port, { body }));
    expect(stream).toMatchObject({ text: TEXT, finishReason: "stop", error: undefined });
    expect(stream.keepalives).toBeGreaterThanOrEqual(1);
  };
  shows(
    "S05",
    ": silent from the start, before and amid events, pausing",
    "gets keepalives, then an error, and the engine is let go",
    async () => {
      await Promise.all([...SILENT_AT.map(staySilent), pause()]);
    },
  );

  for (const [model, { script, stream }] of Object.entries(WINDOWS)) {
    shows("S06", `: ${model}`, "stops the engine at once when the client leaves", async () => {
      const delays = await Promise.all(
        Array.from({ length: TRIES }, async (_, index) => {
          const mark = `try ${index}.`;
          const ask = [{ role: "user", content: mark }];
          stage.simulator.script({ ...script, match: { ...match(model).match, body: mark } });
          const client = await openCall(stage.gateway.port, {
            body: { model, stream, messages: ask },
          });
          const entry = await stage.simulator.awaitEntry(
            (one) => isCallOf(model)(one) && one.body?.includes(mark) === true,
          );
          await untilThere(client, model);
          const leftAt = Date.now();
          if (index % 2 === 0) client.close();
          else client.reset();
          await stage.simulator.awaitEntry((one) => one === entry && one.end !== undefined);
          expect(entry.end).toBe("client-left");
          return (entry.endedAt ?? 0) - leftAt;
        }),
      );
      delays.sort((one, other) => one - other);
      // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
      console.info(`S06 ${engine} ${model}: close seen after ${delays.join(", ")} ms`);
      expect(delays[TRIES / 2]).toBeLessThanOrEqual(CLOSE_SEEN_MS);
      expect(delays.at(-1)).toBeLessThanOrEqual(CLOSE_SEEN_AT_LAST_MS);
    });
  }

  shows(
    "S06",
    ": connecting",
    "gives a call up that was still connecting to the engine",
    async () => {
      await relay.freeze();
      const othersConnecting = relay.connecting();
      const clients: RawClient[] = [];
      for (let index = 0; index < 4; index += 1) {
        const body = chatBody("connecting", { stream: index % 2 === 0 });
        clients.push(await openCall(stage.gateway.port, { body }));
      }
      await sleep(200);
      expect(relay.connecting()).toBeGreaterThan(othersConnecting);
      for (const [index, client] of clients.entries()) {
        if (index < 2) client.close();
        else client.reset();
      }
      await sleep(CLOSE_SEEN_MS);
      relay.thaw();
      const body = chatBody("connecting");
      expect((await callGateway(stage.gateway.port, { body })).status).toBe(200);
    },
  );

  shows(
    "S06",
    ": usage",
    "has one row a call, aborted, with the tokens so far, and no error in the log",
    async () => {
      rows = await stage.finish();
      for (const model of Object.keys(WINDOWS)) {
        const found = rows.filter((row) => row.model === model);
        expect([model, found.length]).toEqual([model, TRIES]);
        for (const { outcome, success, status, outputTokens } of found) {
          expect({ model, outcome, success }).toEqual({
            model,
            outcome: "aborted",
            success: false,
          });
          const isBegun = ["mid-stream", "flowing"].includes(model);
          expect({ model, hasTokens: outputTokens > 0 }).toEqual({ model, hasTokens: isBegun });
          expect({ model, isBegun: status === 200 }).toEqual({ model, isBegun });
        }
      }
      const connecting = rows.filter((row) => row.model === "connecting");
      const outcomes = connecting.map(({ outcome }) => outcome).sort();
      expect(outcomes).toEqual(["aborted", "aborted", "aborted", "aborted", "ok"]);
      const aborted = connecting.filter(({ outcome }) => outcome === "aborted");
      // They ended when the client left, not when connecting was given up.
      for (const { latencyMs } of aborted) expect(latencyMs).toBeLessThan(CLOSE_SEEN_AT_LAST_MS);
      expect(errorLines(stage.gateway)).toEqual([]);
      const foreign = stage.gateway
        .output()
        .split("\n")
        .filter((line) => !/^(\{.*\})?$/.test(line));
      expect(foreign).toEqual([]);
    },
  );

  shows("S05", ": usage", "has one row a call, failed by the time-out", async () => {
    const found = (rows ?? []).filter(({ model }) => model.startsWith("s05"));
    expect(found.map(({ outcome }) => outcome).sort()).toEqual(["error", "error", "error", "ok"]);
  });
}

/** Until the client has seen of its answer what the window says it sees. */
async function untilThere(client: RawClient, window: string): Promise<void> {
  if (window === "mid-stream" || window === "flowing") {
    await client.readUntil((received) => received.includes('"content"'));
  }
  await sleep(100);
}
