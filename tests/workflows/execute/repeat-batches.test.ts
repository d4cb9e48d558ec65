import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { EmbeddingRequest } from "../../../src/core/embedding.ts";
import { apiKeys } from "../../../src/db/tables/api-keys.ts";
import { createEgress } from "../../../src/lib/egress/egress.ts";
import { StepFailure } from "../../../src/workflows/runs/run.ts";
import { embedStep } from "../../../src/workflows/steps/embed.ts";
import { httpRequestStep } from "../../../src/workflows/steps/http-request.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import {
  type ExecutionStage,
  openExecutionStage,
  type StepText,
} from "../../support/workflows/execution-stage.ts";
import { simpleTexts } from "../../support/workflows/simple-texts.ts";

const rowsTo = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ n: index + 1, text: `t${index + 1}` }));
const numbersOf = (from: number, to: number) => rowsTo(to).slice(from - 1);

describe("a batch is repeated whole", () => {
  let stage: ExecutionStage;
  let url: string;
  let received: { readonly key: string; readonly rows: unknown }[];
  let embedded: (readonly unknown[])[];
  let paused: number[];
  let answer: (response: ServerResponse) => void;
  let embed: () => void;

  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    received.push({ key: String(request.headers["idempotency-key"]), rows: JSON.parse(body) });
    answer(response);
  });
  const services = {
    settings: { MAX_JSON_DEPTH: 128 },
    egress: createEgress({ allow: ["127.0.0.1"] }),
    chainHeaders: () => ({}),
    rowProcess: simpleTexts,
    secrets: { read: async () => undefined },
    models: {
      async embed(_call: unknown, { inputs }: EmbeddingRequest) {
        embedded.push(inputs);
        embed();
        return { vectors: inputs.map(() => [1]) };
      },
      fault: async () => undefined,
    },
  } as unknown as StepServices;

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    let turn = 0;
    stage = await openExecutionStage({
      kinds: [httpRequestStep(services), embedStep(services)],
      pauses: {
        // Each pause has another length, as in life: what waits for itself comes back at another time.
        random: () => (turn++ % 5) / 5,
        async pause(durationMs, signal) {
          paused.push(durationMs);
          await sleep(Math.min(durationMs, 4_000) / 20, undefined, { signal });
        },
      },
    });
  });
  beforeEach(() => {
    received = [];
    embedded = [];
    paused = [];
    answer = (response) => response.end();
    embed = () => undefined;
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await stage.close();
  });

  const fail = (status: number, headers = {}) => {
    return (response: ServerResponse) => response.writeHead(status, headers).end();
  };
  /** The first requests are answered by a failure. */
  const failing = (times: number, status: number, headers = {}) => {
    return (response: ServerResponse) =>
      received.length <= times ? fail(status, headers)(response) : response.end();
  };
  const accept = (count: number, more: Partial<StepText> = {}) =>
    stage.accept([{ id: "send", kind: "http_request", settings: settings(), ...more }], {
      rows: rowsTo(count),
    });
  const settings = () => ({
    ...{ url, method: "POST", headers: {}, batch: 10, concurrency: 4 },
    request_timeout_seconds: 60,
  });
  async function insertKey(): Promise<string> {
    const id = "key_1";
    const key = { id, ownerId: stage.owner, name: "k", keyHash: "h", lastFour: "1234" };
    await stage.database.db
      .insert(apiKeys)
      .values({ ...key, changeSeq: 1, toolScope: { tools: [], sql_connections: [] } } as never);
    return id;
  }
  const outcome = async (run: Awaited<ReturnType<typeof accept>>) => {
    const worked = await stage.work(run);
    const { send } = await stage.steps(run);
    return { worked, send, retries: (await stage.record(run)).retries };
  };

  test("after a failure the same rows go out once more under the same key", async () => {
    answer = failing(1, 503);
    const run = await accept(10);
    const { worked, retries } = await outcome(run);
    expect(worked).toMatchObject({ end: { status: "completed" } });
    const request = { key: `${run.id}:send:1-10`, rows: rowsTo(10) };
    expect(received).toEqual([request, request]);
    expect(paused).toHaveLength(1);
    expect(retries).toBe(1);
    expect(await stage.rows(run, "send")).toEqual(rowsTo(10));
  });

  test("the other side's Retry-After is kept, once for the batch", async () => {
    answer = failing(1, 429, { "retry-after": "30" });
    await outcome(await accept(10));
    expect(paused).toEqual([30_000]);
    expect(received).toHaveLength(2);
  });

  test("of several batches only the one that failed is repeated", async () => {
    let failures = 0;
    answer = (response) => {
      const { key } = received.at(-1) ?? { key: "" };
      if (key.endsWith(":11-20") && failures++ < 2) fail(502)(response);
      else response.end();
    };
    const run = await accept(40);
    await outcome(run);
    const ranges = received.map(({ key }) => key.split(":").at(-1)).sort();
    expect(ranges).toEqual(["1-10", "11-20", "11-20", "11-20", "21-30", "31-40"]);
    const repeated = received.filter(({ key }) => key.endsWith(":11-20"));
    expect(repeated.map(({ rows }) => rows)).toEqual(Array(3).fill(numbersOf(11, 20)));
  });

  test("what no repetition helps is asked once, and is the error of each row", async () => {
    answer = fail(422);
    const { send, retries } = await outcome(await accept(10, { on_row_error: "skip" }));
    expect(received).toHaveLength(1);
    expect(send).toMatchObject({ status: "completed", rowErrors: 10, rowsOut: 0 });
    expect(retries).toBe(0);
  });

  test("when the retries are used up each row has the receiver's error", async () => {
    answer = fail(503);
    const run = await accept(10, { on_row_error: "route", retries: 3 });
    const { retries } = await outcome(run);
    expect(received).toHaveLength(4);
    expect(new Set(received.map(({ key }) => key)).size).toBe(1);
    expect(retries).toBe(3);
    const errors = await stage.rows(run, "send", "errors");
    expect(errors.map(({ _error }) => _error)).toEqual(
      rowsTo(10).map(({ n }) => ({ row: n, code: "http_503", message: expect.any(String) })),
    );
    const failed = await accept(10, { retries: 0 });
    expect((await outcome(failed)).worked).toMatchObject({
      end: { status: "failed", error: { step: "send", code: "http_503" } },
    });
    expect(received).toHaveLength(5);
  });

  test("a run that was resumed sends the batches that are not stored under the keys they had", async () => {
    const server = new AbortController();
    answer = (response) => {
      const { key } = received.at(-1) ?? { key: "" };
      if (key.endsWith(":1-10")) response.end();
      else server.abort(new Error("the server stops"));
    };
    const run = await accept(20, { settings: { ...settings(), concurrency: 1 } });
    await expect(stage.work(run, { server: server.signal })).rejects.toThrow("the server stops");
    answer = (response) => response.end();
    await outcome(run);
    const keys = received.map(({ key }) => key.split(":").at(-1));
    expect(keys).toEqual(["1-10", "11-20", "11-20"]);
    expect(received[1]).toEqual(received[2]);
  });

  test("as many large batches are under way at once as `concurrency` says", async () => {
    const held: ServerResponse[] = [];
    answer = (response) => {
      held.push(response);
      // The last two batches come when the first four have been answered.
      if (held.length === 4 || received.length === 6) for (const one of held.splice(0)) one.end();
    };
    const run = await accept(6_000, { settings: { ...settings(), batch: 1_000 } });
    const { worked } = await outcome(run);
    expect(worked).toMatchObject({ end: { status: "completed" } });
    expect(received.map(({ rows }) => rows).map((rows) => (rows as unknown[]).length)).toEqual(
      Array(6).fill(1_000),
    );
  });

  test("texts are embedded again in the same request", async () => {
    embed = () => {
      if (embedded.length === 1) throw new StepFailure("busy", "Busy.", { isRetryable: true });
    };
    const step = {
      ...{ id: "send", kind: "embed" },
      settings: { text: "{{ row.text }}", output: "vector", concurrency: 1 },
    };
    const run = await stage.accept([step], { rows: rowsTo(20), keyId: await insertKey() });
    expect((await outcome(run)).worked).toMatchObject({ end: { status: "completed" } });
    expect(embedded).toHaveLength(2);
    expect(embedded[1]).toEqual(rowsTo(20).map(({ text }) => text));
    expect(embedded[1]).toEqual(embedded[0]);
    expect((await stage.rows(run, "send"))[4]).toEqual({ n: 5, text: "t5", vector: [1] });
  });
});
