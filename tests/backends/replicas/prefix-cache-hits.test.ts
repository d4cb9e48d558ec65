import { expect, it } from "vitest";
import { createRandom } from "../../../simulator/content/random.ts";
import { CHAT_PATH } from "../../support/clients/call-gateway.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { TEST_KEY } from "../../support/servers/start-gateway.ts";
import { ENGINES, type Engine } from "../../support/stages/engine-stage.ts";
import { type ChatMessage, type ReplicaGateway, startReplicaGateway } from "./replica-gateway.ts";

const CONVERSATIONS = trialSize(80, 200);
const TURNS = trialSize(4, 8);
const AT_ONCE = 8;
const LEAST_SHARE = 0.9;
/** 1,280 calls, or 6,400, on a machine that may be busy with other tests. */
const PATIENCE_MS = 300_000;

const SYSTEM = "You are the assistant of a garden shop and answer in short sentences. ".repeat(12);

/** What was said up to a turn: the same for every run. */
function conversation(number: number, turn: number): ChatMessage[] {
  const messages: ChatMessage[] = [{ role: "system", content: SYSTEM }];
  for (let said = 0; said <= turn; said += 1) {
    const topic = `plant ${number} of the list, question ${said}`;
    messages.push({ role: "user", content: `Please tell me about ${topic}: ${"why ".repeat(12)}` });
    if (said === turn) break;
    messages.push({ role: "assistant", content: `About ${topic}: ${"it grows well. ".repeat(8)}` });
  }
  return messages;
}

/**
 * Sends all turns of all conversations, several at once and in a mixed order, and tells how many tokens of all prompts
 * were found in a cache.
 */
async function cachedTokens(engine: Engine, replicas: number): Promise<number> {
  const stage = await startReplicaGateway(engine, replicas);
  try {
    const random = createRandom("prefix cache");
    const turns = new Array<number>(CONVERSATIONS).fill(0);
    const waiting = turns.map((_, number) => number);
    const work = async () => {
      while (waiting.length > 0) {
        const [number = 0] = waiting.splice(Math.floor(random() * waiting.length), 1);
        const turn = turns[number] ?? 0;
        expect(await chat(stage, conversation(number, turn))).toBe(200);
        turns[number] = turn + 1;
        if (turn + 1 < TURNS) waiting.push(number);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const calls = stage.calls();
    expect(calls.flat()).toHaveLength(CONVERSATIONS * TURNS);
    // No replica is left out.
    const least = (CONVERSATIONS * TURNS) / replicas / trialSize(4, 2);
    for (const share of calls) expect(share.length).toBeGreaterThan(least);
    return calls.flat().reduce((sum, call) => sum + (call.cachedTokens ?? 0), 0);
  } finally {
    await stage.stop();
  }
}

async function chat(
  { gateway }: ReplicaGateway,
  messages: readonly ChatMessage[],
): Promise<number> {
  const response = await fetch(gateway.url + CHAT_PATH, {
    method: "POST",
    headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sim-chat", messages, max_tokens: 8 }),
  });
  await response.text();
  return response.status;
}

it.each(ENGINES)(
  "%s: four replicas find nine tenths of what one finds in its cache",
  async (engine) => {
    const one = await cachedTokens(engine, 1);
    const four = await cachedTokens(engine, 4);
    const percent = ((100 * four) / one).toFixed(1);
    process.stdout.write(
      `${engine}: cached prompt tokens with 1 replica ${one}, with 4 replicas ${four}: ${percent}%\n`,
    );
    expect(one).toBeGreaterThan(0);
    expect(four / one).toBeGreaterThan(LEAST_SHARE);
  },
  PATIENCE_MS,
);
