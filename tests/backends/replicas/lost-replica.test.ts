import { afterEach, describe, expect, it } from "vitest";
import type { LedgerEntry } from "../../../simulator/ledger.ts";
import { type ChatStream, readChatStream } from "../../support/clients/chat-stream.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { ENGINES } from "../../support/stages/engine-stage.ts";
import {
  type ChatMessage,
  logged,
  type ReplicaGateway,
  startReplicaGateway,
} from "./replica-gateway.ts";
import { until } from "./stage.ts";

const REPLICAS = 4;
const CONVERSATIONS = 16;
const PATIENCE_MS = 120_000;

let stage: ReplicaGateway | undefined;
let returned: TestSimulator | undefined;
afterEach(async () => {
  await returned?.stop();
  await stage?.stop();
  returned = undefined;
  stage = undefined;
});

/** The opening of a conversation, whose calls are known by its number. */
function opening(number: number): ChatMessage[] {
  return [
    { role: "system", content: "You count." },
    { role: "user", content: `count to 60, for caller no. ${number};` },
  ];
}

function later(number: number): ChatMessage[] {
  return [
    ...opening(number),
    { role: "assistant", content: "1, 2" },
    { role: "user", content: "Go on." },
  ];
}

/** The numbers of the conversations that were called for. */
function callersOf(entries: readonly LedgerEntry[]): number[] {
  const numberOf = (body = "") => Number(/caller no\. (\d+);/.exec(body)?.[1]);
  return [...new Set(entries.map(({ body }) => numberOf(body)))];
}

/** The conversations of each replica since its last reset. */
function shares({ calls }: ReplicaGateway): number[][] {
  return calls().map(callersOf);
}

/** The stream ended well or, on the replica that was lost, with an explicit error. */
function expectEnd({ error, finishReason, isDone }: ChatStream, isLost: boolean): void {
  expect({ isDone, finishReason, code: error?.code }).toEqual({
    isDone: true,
    finishReason: isLost ? undefined : "stop",
    code: isLost ? "upstream_error" : undefined,
  });
}

function countStreaming(stage: ReplicaGateway | undefined): number {
  const calls = stage?.calls().flat() ?? [];
  return calls.filter(({ sentTokens }) => sentTokens > 5).length;
}

const numbers = Array.from({ length: CONVERSATIONS }, (_, number) => number);
const sorted = (list: readonly number[] = []) => [...list].sort((one, other) => one - other);

describe.each(ENGINES)("%s: a replica that is killed in the middle of streams", (engine) => {
  it(
    "ends its own streams with an error, is replaced from the next call on, and gets its share back",
    async () => {
      stage = await startReplicaGateway(engine, REPLICAS, { tokensPerSecond: 30 });
      const { gateway, simulators, chat } = stage;
      const callEach = async () => {
        for (const number of numbers) {
          expect((await chat(later(number), { max_tokens: 2 })).status).toBe(200);
        }
      };
      // One after the other, so that none is anywhere but at home.
      await callEach();
      const homes = shares(stage);
      const reset = () => simulators.forEach((simulator) => void simulator.reset());
      reset();

      const streaming = numbers.map((number) => chat(opening(number), { stream: true }));
      await until("all streams have begun", () => countStreaming(stage) === CONVERSATIONS);
      const before = shares(stage);
      const lost = before.findIndex(
        (share, index) => Math.min(share.length, homes[index]?.length ?? 0) > 0,
      );
      const victim = simulators[lost] as TestSimulator;
      await victim.stop();

      const streams = (await Promise.all(streaming)).map(readChatStream);
      for (const [number, stream] of streams.entries()) {
        expectEnd(stream, before[lost]?.includes(number) === true);
        expect(stream.error?.message ?? "").not.toContain(String(victim.port));
      }

      reset();
      await callEach();
      // Who was elsewhere has stayed there; only the lost ones have moved.
      for (const [index, share] of shares(stage).entries()) {
        if (index !== lost) expect(share).toEqual(expect.arrayContaining(homes[index] ?? []));
      }

      returned = await startSimulator({ engine, port: victim.port });
      await logged(gateway, "is back");
      await callEach();
      const back = returned.ledger().filter(({ method }) => method === "POST");
      expect(sorted(callersOf(back))).toEqual(sorted(homes[lost]));
      expect(gateway.output().split("is down").length).toBe(2);
    },
    PATIENCE_MS,
  );
});

/** How many of a replica's calls were open in the same moment. */
function mostAtOnce(entries: readonly LedgerEntry[]): number {
  const openAt = (moment: number) =>
    entries.filter(({ beganAt, endedAt = Infinity }) => beganAt <= moment && moment < endedAt);
  return Math.max(0, ...entries.map(({ beganAt }) => openAt(beganAt).length));
}

// Where calls go is decided in one place for all engines; their refusals are in the tests of refusals.
describe("replicas of one engine", () => {
  it(
    "leaves nobody behind when every replica has gone and come back",
    async () => {
      stage = await startReplicaGateway("vllm", 2);
      const { chat, simulators } = stage;
      expect((await chat(opening(1))).status).toBe(200);
      await Promise.all(simulators.map((simulator) => simulator.stop()));
      const refused = await chat(opening(1));
      expect(refused.status).toBe(502);
      expect(refused.text).toContain("LLM_BASE_URL");
      for (const { port } of simulators) expect(refused.text).not.toContain(String(port));
      const [first] = simulators as [TestSimulator];
      returned = await startSimulator({ engine: "vllm", port: first.port });
      // At once: it need not have been found well by a check.
      expect((await chat(opening(1))).status).toBe(200);
    },
    PATIENCE_MS,
  );

  it(
    "are all kept busy by calls of one beginning, and its own is not drowned",
    async () => {
      const calls = 64;
      stage = await startReplicaGateway("vllm", REPLICAS, { latencyMs: 4_000 });
      const { chat } = stage;
      const answers = await Promise.all(
        Array.from({ length: calls }, () => chat(opening(7), { max_tokens: 4 })),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      // A call that comes after another has ended may go where that one was.
      const counts = stage.calls().map(mostAtOnce);
      process.stdout.write(`${calls} calls of one beginning: ${counts.join(", ")}\n`);
      // The share is of all open requests, and the gateway may be reading a list of models.
      expect(Math.max(...counts)).toBeLessThanOrEqual(Math.ceil((1.5 * (calls + 1)) / REPLICAS));
      expect(counts.filter((count) => count > 0).length).toBeGreaterThan(2);
    },
    PATIENCE_MS,
  );
});
