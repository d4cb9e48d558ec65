import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect } from "vitest";
import type { LedgerEntry } from "../../../simulator/ledger.ts";
import type { Moment, Script } from "../../../simulator/script.ts";
import { createCaseTable, noteLaterRoutes } from "../../support/case-table.ts";
import { callGateway, openCall } from "../../support/clients/call-gateway.ts";
import {
  CLIENT_FAMILIES,
  type ClientFamily,
  isErrorOf,
} from "../../support/clients/client-family.ts";
import type { RawClient } from "../../support/clients/raw-client.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { type StoppableRelay, startStoppableRelay } from "../../support/servers/stoppable-relay.ts";
import {
  CHAT_CALLS,
  ENGINES,
  type Engine,
  errorLines,
  type Stage,
  startStages,
} from "../../support/stages/engine-stage.ts";
import type { StoredUsage } from "../../support/stages/usage/stored-usage.ts";

const IDLE_TIMEOUT_MS = 6_000;
const KEEPALIVE_MS = 500;
const SILENT_AT: readonly Moment[] = ["headers", 0, 4];
const TRIES = trialSize(4, 8);
/** How soon the engine must see that the client left: the plan says half a second, which the report tells. */
const CLOSE_SEEN_MS = 30_000;
/** The gateway's own, after which it gives connecting up. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Time to see that clients have left, and much less than connecting may take. */
const LEFT_MS = 1_000;
const SOON = { timeout: 60_000 };
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

/** The cases, each with a model of its own in each family. */
const MODELS = [
  ...SILENT_AT.map((at) => `s05-${at}`),
  "s05-pause",
  "connecting",
  ...Object.keys(WINDOWS),
];

const table = createCaseTable({
  S05: `${IDLE_TIMEOUT_MS} ms of silence, each family and engine`,
  S06: `${TRIES} calls a moment, family and engine`,
});
const relays = new Map<Engine, StoppableRelay>();
const starting = startStages((engine) => ({
  engine,
  models: CLIENT_FAMILIES.flatMap(({ name }) => MODELS.map((model) => `${model}-${name}`)),
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

for (const engine of ENGINES) {
  describe(`silence and aborts with ${engine}`, () => {
    let stage: Stage;
    let relay: StoppableRelay;
    const silences: (() => void)[] = [];

    beforeAll(async () => {
      stage = await starting[engine];
      relay = relays.get(engine) as StoppableRelay;
      // They take seconds, so those of all families pass at once.
      for (const begin of silences) begin();
    });
    afterAll(async () => {
      relay.thaw();
      await stage.finish();
      await relay.stop();
    });

    for (const family of CLIENT_FAMILIES) {
      casesOf({ engine, family, silences, stageOf: () => stage });
    }
    connectingOf(
      engine,
      () => stage,
      () => relay,
    );
    rowsOf(engine, () => stage);
  });
}

interface Place {
  readonly engine: Engine;
  readonly family: ClientFamily;
  /** What begins when the stage is there. */
  readonly silences: (() => void)[];
  readonly stageOf: () => Stage;
}

function casesOf({ engine, family, silences, stageOf }: Place): void {
  const shows = (id: string, where: string, sentence: string, test: () => Promise<void>) =>
    table.shows(id, `${family.name}, ${engine}${where}`, sentence, test);
  const named = (model: string) => `${model}-${family.name}`;
  const post = (body: object) => callGateway(stageOf().gateway.port, { path: family.path, body });
  const open = (body: object) => openCall(stageOf().gateway.port, { path: family.path, body });
  const match = (model: string): Pick<Script, "match"> => ({
    match: { path: CHAT_CALLS[engine], model: engine === "ollama" ? `${model}:latest` : model },
  });
  const isCallOf = (model: string) => (entry: LedgerEntry) =>
    entry.path === CHAT_CALLS[engine] && entry.model?.replace(/:latest$/, "") === model;

  const staySilent = async (at: Moment): Promise<void> => {
    const { simulator } = stageOf();
    const model = named(`s05-${at}`);
    simulator.script({ ...match(model), ...PIECES, stall: { at } });
    const startedAt = Date.now();
    const response = await post(family.body(model, { stream: true }));
    const tookMs = Date.now() - startedAt;
    const { keepalives, error, isFinished, text } = family.readStream(response);
    expect(keepalives).toBeGreaterThanOrEqual(2);
    expect(keepalives).toBeLessThanOrEqual(Math.ceil(tookMs / KEEPALIVE_MS));
    expect(isErrorOf(family, error, "upstream_timeout")).toBe(true);
    expect(isFinished).toBe(false);
    expect(text === "").toBe(at !== 4);
    expect(tookMs).toBeGreaterThanOrEqual(IDLE_TIMEOUT_MS - 50);
    await simulator.awaitEntry((entry) => isCallOf(model)(entry) && entry.end === "client-left");
  };
  /** Below the limit, which ends no stream. */
  const pause = async (): Promise<void> => {
    const model = named("s05-pause");
    const stall = { at: 4, forMs: 1_200 };
    stageOf().simulator.script({ ...match(model), ...PIECES, stall });
    const stream = family.readStream(await post(family.body(model, { stream: true })));
    expect(stream).toMatchObject({ text: TEXT, isFinished: true, error: undefined });
    expect(stream.keepalives).toBeGreaterThanOrEqual(1);
  };
  let silence: Promise<unknown> | undefined;
  const begin = () => Promise.all([...SILENT_AT.map(staySilent), pause()]);
  silences.push(() => {
    silence = begin();
    // Its test reports it.
    silence.catch(() => undefined);
  });
  shows(
    "S05",
    ": silent from the start, before and amid events, pausing",
    "gets keepalives, then an error, and the engine is let go",
    async () => {
      const begun = silence ?? begin();
      // Another try starts over.
      silence = undefined;
      await begun;
    },
  );

  for (const [window, { script, stream }] of Object.entries(WINDOWS)) {
    shows("S06", `: ${window}`, "stops the engine at once when the client leaves", async () => {
      const { simulator } = stageOf();
      const model = named(window);
      const delays = await Promise.all(
        Array.from({ length: TRIES }, async (_, index) => {
          const mark = `try ${index}.`;
          simulator.script({ ...script, match: { ...match(model).match, body: mark } });
          const client = await open(family.body(model, { stream }, mark));
          const entry = await simulator.awaitEntry(
            (one) => isCallOf(model)(one) && one.body?.includes(mark) === true,
          );
          await untilThere(client, window, family);
          const leftAt = Date.now();
          if (index % 2 === 0) client.close();
          else client.reset();
          await simulator.awaitEntry((one) => one === entry && one.end !== undefined);
          expect(entry.end).toBe("client-left");
          return (entry.endedAt ?? 0) - leftAt;
        }),
      );
      delays.sort((one, other) => one - other);
      // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
      console.info(
        `S06 ${family.name} ${engine} ${window}: close seen after ${delays.join(", ")} ms`,
      );
      expect(delays.at(-1)).toBeLessThanOrEqual(CLOSE_SEEN_MS);
    });
  }
}

function connectingOf(engine: Engine, stageOf: () => Stage, relayOf: () => StoppableRelay): void {
  const where = `all families, ${engine}: connecting`;
  const sentence = "gives a call up that was still connecting to the engine";
  table.shows("S06", where, sentence, async () => {
    const relay = relayOf();
    const { port } = stageOf().gateway;
    await relay.freeze();
    const othersConnecting = relay.connecting();
    const clients: RawClient[] = [];
    for (const family of CLIENT_FAMILIES)
      for (let index = 0; index < 4; index += 1) {
        const body = family.body(`connecting-${family.name}`, { stream: index % 2 === 0 });
        clients.push(await openCall(port, { path: family.path, body }));
      }
    await expect.poll(relay.connecting, SOON).toBeGreaterThan(othersConnecting);
    for (const [index, client] of clients.entries()) {
      if (index % 4 < 2) client.close();
      else client.reset();
    }
    // That they ended then is seen in their rows; the connection itself may come into being for the next call.
    await sleep(LEFT_MS);
    relay.thaw();
    for (const family of CLIENT_FAMILIES) {
      const body = family.body(`connecting-${family.name}`);
      expect((await callGateway(port, { path: family.path, body })).status).toBe(200);
    }
  });
}

function rowsOf(engine: Engine, stageOf: () => Stage): void {
  let rows: readonly StoredUsage[] = [];

  table.shows(
    "S06",
    `all families, ${engine}: usage`,
    "has one row a call, aborted, with the tokens so far, and no error in the log",
    async () => {
      const stage = stageOf();
      rows = await stage.finish();
      for (const model of inEachFamily(Object.keys(WINDOWS))) {
        const found = rows.filter((row) => row.model === model);
        expect([model, found.length]).toEqual([model, TRIES]);
        for (const { outcome, success, status, outputTokens } of found) {
          expect({ model, outcome, success }).toEqual({
            model,
            outcome: "aborted",
            success: false,
          });
          const isBegun = /^(mid-stream|flowing)/.test(model);
          expect({ model, hasTokens: outputTokens > 0 }).toEqual({ model, hasTokens: isBegun });
          expect({ model, isBegun: status === 200 }).toEqual({ model, isBegun });
        }
      }
      for (const model of inEachFamily(["connecting"])) {
        const connecting = rows.filter((row) => row.model === model);
        const outcomes = connecting.map(({ outcome }) => outcome).sort();
        expect(outcomes).toEqual(["aborted", "aborted", "aborted", "aborted", "ok"]);
        const aborted = connecting.filter(({ outcome }) => outcome === "aborted");
        // They ended when the client left, not when connecting was given up.
        for (const { latencyMs } of aborted) expect(latencyMs).toBeLessThan(CONNECT_TIMEOUT_MS);
      }
      expect(errorLines(stage.gateway)).toEqual([]);
      const foreign = stage.gateway
        .output()
        .split("\n")
        .filter((line) => !/^(\{.*\})?$/.test(line));
      expect(foreign).toEqual([]);
    },
  );

  const sentence = "has one row a call, failed by the time-out";
  table.shows("S05", `all families, ${engine}: usage`, sentence, async () => {
    for (const { name } of CLIENT_FAMILIES) {
      const found = rows.filter(({ model }) => model.startsWith("s05") && model.endsWith(name));
      expect(found.map(({ outcome }) => outcome).sort()).toEqual(["error", "error", "error", "ok"]);
    }
  });
}

function inEachFamily(models: readonly string[]): string[] {
  return CLIENT_FAMILIES.flatMap(({ name }) => models.map((model) => `${model}-${name}`));
}

/** Until the client has seen of its answer what the window says it sees. */
async function untilThere(
  client: RawClient,
  window: string,
  { saidMark }: ClientFamily,
): Promise<void> {
  if (window === "mid-stream" || window === "flowing") {
    await client.readUntil((received) => received.includes(saidMark));
  }
  await sleep(100);
}
