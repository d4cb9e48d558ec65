import { afterEach, expect, it } from "vitest";
import type { SimulatorOptions } from "../../simulator/options.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";

const BLOCK_TOKENS = 16;
const SYSTEM = "You answer shortly and you never guess. ".repeat(20);

const running: TestSimulator[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.stop()));
});

async function start(options: Partial<SimulatorOptions> = {}): Promise<TestSimulator> {
  const simulator = await startSimulator(options);
  running.push(simulator);
  return simulator;
}

type Message = readonly [role: string, content: string];

async function chat(
  simulator: TestSimulator,
  messages: readonly Message[],
  { path = "/v1/chat/completions", model = "sim-chat" } = {},
) {
  const body = {
    model,
    messages: messages.map(([role, content]) => ({ role, content })),
    stream: false,
    options: { num_ctx: 32_768 },
  };
  const response = await fetch(simulator.url + path, {
    method: "POST",
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  const answer = await response.json();
  const cachedTokens = simulator.ledger().at(-1)?.cachedTokens;
  return { answer, cachedTokens: cachedTokens ?? Number.NaN };
}

it.each(["/v1/chat/completions", "/api/chat"])(
  "%s finds the beginning of an earlier prompt again, in whole blocks",
  async (path) => {
    const simulator = await start();
    const opening: Message[] = [
      ["system", SYSTEM],
      ["user", "What is a tree?"],
    ];
    const longer: Message[] = [...opening, ["assistant", "A plant."], ["user", "And a bush?"]];
    expect((await chat(simulator, opening, { path })).cachedTokens).toBe(0);

    const again = await chat(simulator, opening, { path });
    expect(again.cachedTokens % BLOCK_TOKENS).toBe(0);
    expect(again.cachedTokens).toBeGreaterThan(100);
    const continued = await chat(simulator, longer, { path });
    expect(continued.cachedTokens).toBeGreaterThanOrEqual(again.cachedTokens);
    // What a second user shares with the first is the system's text.
    const other: Message[] = [
      ["system", SYSTEM],
      ["user", "Something else altogether, please."],
    ];
    const shared = await chat(simulator, other, { path });
    expect(shared.cachedTokens).toBeGreaterThan(100);
    expect(shared.cachedTokens).toBeLessThanOrEqual(again.cachedTokens);
  },
);

it("finds nothing behind a beginning that differs, nor in another model or another process", async () => {
  const [simulator, stranger] = await Promise.all([start(), start()]);
  await chat(simulator, [["system", SYSTEM]]);
  const changed = await chat(simulator, [["system", `Today is Monday. ${SYSTEM}`]]);
  expect(changed.cachedTokens).toBe(0);
  const elsewhere = await chat(simulator, [["system", SYSTEM]], { model: "sim-small" });
  expect(elsewhere.cachedTokens).toBe(0);
  expect((await chat(stranger, [["system", SYSTEM]])).cachedTokens).toBe(0);
  simulator.reset();
  expect((await chat(simulator, [["system", SYSTEM]])).cachedTokens).toBe(0);
});

it("forgets first what was not needed for longest, and never holds more than its limit", async () => {
  const simulator = await start({
    models: [{ name: "sim-chat", contextLength: 4_000_000, capabilities: ["completion"] }],
  });
  // Different words, so that each block is one of its own; two such prompts are more than the limit.
  const fill = (word: string) =>
    Array.from({ length: 200_000 }, (_, index) => `${word} ${index}`).join(" ");
  await chat(simulator, [["system", SYSTEM]]);
  await chat(simulator, [["user", fill("alpha")]]);
  await chat(simulator, [["system", SYSTEM]]);
  await chat(simulator, [["user", fill("beta")]]);
  expect((await chat(simulator, [["system", SYSTEM]])).cachedTokens).toBeGreaterThan(100);
  expect((await chat(simulator, [["user", fill("alpha")]])).cachedTokens).toBe(0);
});

it("changes neither the figures nor the words of an answer, and is told only where that is asked for", async () => {
  const [silent, telling] = await Promise.all([start(), start({ promptTokensDetails: true })]);
  const messages: Message[] = [["user", SYSTEM]];
  const first = await chat(silent, messages);
  const second = await chat(silent, messages);
  expect(second.answer.choices).toEqual(first.answer.choices);
  expect(second.answer.usage).toEqual(first.answer.usage);
  expect(second.answer.usage.prompt_tokens_details).toBeNull();

  expect((await chat(telling, messages)).answer.usage.prompt_tokens_details).toEqual({
    cached_tokens: 0,
  });
  const { answer, cachedTokens } = await chat(telling, messages);
  expect(answer.usage).toEqual({
    ...first.answer.usage,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  });
  expect(telling.ledger().at(-1)?.told?.cachedTokens).toBe(cachedTokens);
  expect(silent.ledger().at(-1)?.told?.cachedTokens).toBeUndefined();
});
