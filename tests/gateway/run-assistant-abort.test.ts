import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ChatEvent } from "../../src/core/chat/chat-event.ts";
import { AssistantStage, testTool } from "../support/stages/assistant-stage.ts";

let stage: AssistantStage;
beforeAll(async () => {
  stage = await AssistantStage.open();
});
beforeEach(() => stage.reset());
afterAll(() => stage.close());

const NEVER = new Promise<never>(() => undefined);
const again = { toolCalls: [{ name: "again", arguments: {} }] };

/** Reads until an event fulfils the condition, then lets the client leave, and returns the last event. */
async function leaveAt(isThere: (event: ChatEvent) => boolean): Promise<ChatEvent | undefined> {
  let last: ChatEvent | undefined;
  for await (const batch of await (await stage.ask()).events) {
    last = batch.at(-1);
    if (batch.some(isThere)) setImmediate(() => stage.client.abort());
  }
  return last;
}

describe("A client that leaves an assistant", () => {
  it("while it searches ends the search, and leaves a row without tokens", async () => {
    stage.assistant({ vectorStoreIds: ["vs_1"] });
    let isEnded = false;
    stage.searchBy = ({ signal }) => {
      signal.addEventListener("abort", () => (isEnded = true));
      setImmediate(() => stage.client.abort());
      return NEVER;
    };
    await expect((await stage.ask()).events).rejects.toBeDefined();
    expect(isEnded).toBe(true);
    expect(await stage.row()).toMatchObject({
      outcome: "aborted",
      input_tokens: 0,
      output_tokens: 0,
    });
    expect((await stage.use()).reserved).toBe(0);
  });

  it("while it waits for the model ends the call of the model", async () => {
    stage.assistant();
    stage.simulator.script({ stall: { at: "headers" } });
    const events = (await stage.ask()).events;
    events.catch(() => undefined);
    await stage.simulator.awaitEntry(({ path }) => path.endsWith("/completions"));
    stage.client.abort();
    await expect(events).rejects.toBeDefined();
    await stage.simulator.awaitEntry(({ end }) => end === "client-left");
    expect(await stage.row()).toMatchObject({ outcome: "aborted", status: 499 });
    expect((await stage.use()).reserved).toBe(0);
  });

  it("while its second turn streams ends the call of the model", async () => {
    stage.assistant();
    stage.tools = [testTool("again", async () => ({ text: "x" }))];
    stage.simulator.script({ ...again, usage: { inputTokens: 100, outputTokens: 10 } });
    stage.simulator.script({ text: "a few words and more of them", stall: { at: 3 } });
    expect(await leaveAt(({ type }) => type === "text-delta")).toMatchObject({ type: "error" });
    await stage.simulator.awaitEntry(({ end }) => end === "client-left");
    const row = await stage.row();
    expect(row).toMatchObject({ outcome: "aborted", status: 200, estimated: true });
    expect(row?.["input_tokens"]).toBeGreaterThan(100);
    expect((await stage.use()).reserved).toBe(0);
  });

  it.each(["read_only", "write"] as const)(
    "while a %s tool runs ends the tool, even one that does not end by itself",
    async (level) => {
      stage.assistant();
      let isEnded = false;
      const run = (_: object, { signal }: { readonly signal: AbortSignal }) => {
        signal.addEventListener("abort", () => (isEnded = true));
        return NEVER;
      };
      stage.tools = [testTool("again", run, { level })];
      stage.simulator.script({ ...again, usage: { inputTokens: 100, outputTokens: 10 } });
      expect(await leaveAt(({ type }) => type === "tool-run")).toMatchObject({ type: "error" });
      expect(isEnded).toBe(true);
      expect(await stage.row()).toMatchObject({
        outcome: "aborted",
        status: 200,
        input_tokens: 100,
      });
      expect(await stage.use()).toEqual({ tokens: 110, reserved: 0, requests: 1 });
    },
  );

  it("by its stream alone ends tools that run", async () => {
    stage.assistant();
    let isEnded = false;
    stage.tools = [
      testTool("again", async () => ({ text: "at once" })),
      testTool("slow", (_, { signal }) => {
        signal.addEventListener("abort", () => (isEnded = true));
        return NEVER;
      }),
    ];
    stage.simulator.script({ toolCalls: [...again.toolCalls, { name: "slow", arguments: {} }] });
    const events = (await (await stage.ask()).events)[Symbol.asyncIterator]();
    const ended = (batch: readonly ChatEvent[] = []) =>
      batch.some((event) => event.type === "tool-run" && event.run.status === "ok");
    while (!ended((await events.next()).value));
    await events.return?.();
    expect(isEnded).toBe(true);
    expect(await stage.row()).toMatchObject({ outcome: "aborted", status: 200 });
  });
});
