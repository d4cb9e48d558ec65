import type OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { collect, type EngineGateway, say } from "../engine-gateway.ts";

type Chunk = OpenAI.ChatCompletionChunk;

export function chatCases(opened: () => EngineGateway): void {
  describe("4.1 POST /v1/chat/completions", () => {
    let world: EngineGateway;
    let client: OpenAI;
    let chatModel: string;

    beforeAll(() => {
      world = opened();
      client = world.openai;
      chatModel = world.modelId("sim-chat");
    });

    const streamOf = async (
      params: Partial<OpenAI.ChatCompletionCreateParamsStreaming>,
    ): Promise<Chunk[]> => {
      const stream = await client.chat.completions.create({
        model: chatModel,
        messages: say("one two three"),
        ...params,
        stream: true,
      });
      return collect(stream);
    };

    it("answers with the text, the actual model and the usage", async () => {
      const before = Math.floor(Date.now() / 1000);
      const answer = await client.chat.completions.create({
        model: chatModel,
        messages: say("Grüße, 世界 👋🏽"),
      });
      expect(answer).toMatchObject({
        object: "chat.completion",
        model: chatModel,
        choices: [
          {
            index: 0,
            finish_reason: "stop",
            logprobs: null,
            message: { role: "assistant", content: "Grüße, 世界 👋🏽", refusal: null },
          },
        ],
      });
      expect(answer.choices).toHaveLength(1);
      expect(answer.choices[0]?.message.tool_calls).toBeUndefined();
      expect(answer.id).toMatch(/^chatcmpl-/);
      expect(answer.created).toBeGreaterThanOrEqual(before - 1);
      const told = world.calls()[0]?.told;
      expect(answer.usage).toMatchObject({
        prompt_tokens: told?.inputTokens,
        completion_tokens: told?.outputTokens,
        total_tokens: (told?.inputTokens ?? 0) + (told?.outputTokens ?? 0),
      });
    });

    it("streams chunks of one id, with the role once, one finish and the whole text", async () => {
      const chunks = await streamOf({});
      const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
      for (const field of ["id", "created", "model", "object"] as const) {
        expect(new Set(chunks.map((chunk) => chunk[field])).size).toBe(1);
      }
      expect(chunks[0]).toMatchObject({ object: "chat.completion.chunk", model: chatModel });
      expect(chunks[0]?.id).toMatch(/^chatcmpl-/);
      expect(deltas.filter(({ role }) => role !== undefined)).toHaveLength(1);
      expect(deltas[0]?.role).toBe("assistant");
      expect(deltas.map(({ content }) => content ?? "").join("")).toBe("one two three");
      const finishes = chunks.flatMap(({ choices }) =>
        choices.flatMap(({ finish_reason }) => finish_reason ?? []),
      );
      expect(finishes).toEqual(["stop"]);
      expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("stop");
      expect(chunks.length).toBeGreaterThan(4);
    });

    it("writes the stream as events that end with [DONE]", async () => {
      const response = await world.post({ messages: say("one two three"), stream: true });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      expect(response.headers.get("cache-control")).toBe("no-cache");
      expect(response.headers.get("x-accel-buffering")).toBe("no");
      const text = await response.text();
      const frames = text.split("\n\n");
      expect(frames.pop()).toBe("");
      expect(frames.pop()).toBe("data: [DONE]");
      expect(frames.length).toBeGreaterThan(4);
      for (const frame of frames) expect(frame).toMatch(/^data: \{[^\n]*\}$/);
      expect(text.match(/\[DONE\]/g)).toHaveLength(1);
    });

    it("feeds the client's own accumulation of a stream", async () => {
      const stream = client.chat.completions.stream({
        model: chatModel,
        messages: say("one two three"),
        stream_options: { include_usage: true },
      });
      let heard = "";
      stream.on("content", (delta) => {
        heard += delta;
      });
      const final = await stream.finalChatCompletion();
      expect(heard).toBe("one two three");
      expect(final.choices[0]?.message).toMatchObject({ role: "assistant", content: heard });
      expect(final.choices[0]?.finish_reason).toBe("stop");
      expect(final.usage?.completion_tokens).toBe(world.calls()[0]?.told?.outputTokens);
    });

    it("shows usage in the stream only when asked, on a last chunk of its own", async () => {
      const plain = await streamOf({});
      expect(plain.every(({ usage }) => usage === undefined)).toBe(true);
      expect(plain.every(({ choices }) => choices.length === 1)).toBe(true);
      const declined = await streamOf({ stream_options: { include_usage: false } });
      expect(declined.every(({ usage }) => usage === undefined)).toBe(true);

      world.simulator.reset();
      const asked = await streamOf({ stream_options: { include_usage: true } });
      const last = asked.pop();
      const told = world.calls()[0]?.told;
      expect(last?.choices).toEqual([]);
      expect(last?.usage).toMatchObject({
        prompt_tokens: told?.inputTokens,
        completion_tokens: told?.outputTokens,
        total_tokens: (told?.inputTokens ?? 0) + (told?.outputTokens ?? 0),
      });
      expect(asked.every(({ usage }) => usage === null)).toBe(true);
      expect(asked.every(({ choices }) => choices.length === 1)).toBe(true);
    });

    it("accepts the developer role and several system messages, all in their order", async () => {
      await client.chat.completions.create({
        model: chatModel,
        messages: [
          { role: "system", content: "Be brief." },
          { role: "developer", content: [{ type: "text", text: "Be kind." }] },
          ...say("hello"),
          { role: "assistant", content: "hello" },
          { role: "system", content: "Be exact." },
          { role: "user", content: "Say: again" },
        ],
      });
      const { messages } = world.askedOnce() as { messages: { role: string; content: string }[] };
      expect(messages.some(({ role }) => role === "developer")).toBe(false);
      const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
      expect(system.join("|").replaceAll(/\s+/g, " ")).toMatch(/Be brief\..*Be kind\..*Be exact\./);
      expect(messages.at(-1)).toMatchObject({ role: "user", content: "Say: again" });
    });

    it.each([
      ["named by its id", "sim-small", "sim-small"],
      ["unknown", "gpt-4o-mini", "sim-chat"],
      ["the empty text", "", "sim-chat"],
      ["an embedding model", "sim-embed", "sim-chat"],
    ])(
      "4.2 a model that is %s is answered by a listed one, told by its id",
      async (_, asked, by) => {
        const answer = await client.chat.completions.create({ model: asked, messages: say("hi") });
        expect(answer.model).toBe(world.modelId(by));
        expect(world.askedOnce()["model"]).toBe(world.modelId(by));
        const [first] = await streamOf({ model: asked });
        expect(first?.model).toBe(world.modelId(by));
      },
    );

    it.each([[undefined], [null]])("4.2 a model of %s takes the default", async (model) => {
      const response = await world.post({ model, messages: say("hi") });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ model: chatModel });
    });

    it.each(["max_tokens", "max_completion_tokens"])(
      "4.3 fits a huge %s to the context",
      async (field) => {
        const answer = await client.chat.completions.create({
          model: world.modelId("sim-small"),
          messages: say("hello"),
          [field]: 128_000,
        } as OpenAI.ChatCompletionCreateParamsNonStreaming);
        expect(answer.choices[0]).toMatchObject({
          finish_reason: "stop",
          message: { content: "hello" },
        });
        const asked = outputLimit(world);
        expect(asked).toBeGreaterThan(7_000);
        expect(asked).toBeLessThan(8_192);
        expect(world.asked()).toHaveLength(1);
      },
    );

    it("asks for the default output of 8,192 tokens when the client names none", async () => {
      await client.chat.completions.create({ model: chatModel, messages: say("hello") });
      expect(outputLimit(world)).toBe(8_192);
    });

    it("reports an answer cut by its limit as length, whole and streaming", async () => {
      const messages = say("one two three four five six");
      const whole = await client.chat.completions.create({
        model: chatModel,
        messages,
        max_tokens: 3,
      });
      expect(whole.choices[0]?.finish_reason).toBe("length");
      expect(whole.usage?.completion_tokens).toBe(3);
      const chunks = await streamOf({ messages, max_completion_tokens: 3 });
      expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("length");
    });

    it("passes the end of a client on to the engine, in mid-stream", async () => {
      world.simulator.script({ text: "word ", repeat: 5_000, tokensPerSecond: 50 });
      const controller = new AbortController();
      const stream = await client.chat.completions.create(
        { model: chatModel, messages: say("x"), stream: true },
        { signal: controller.signal },
      );
      let heard = 0;
      for await (const _chunk of stream) {
        heard += 1;
        if (heard === 4) controller.abort();
      }
      expect(heard).toBeGreaterThanOrEqual(4);
      await world.simulator.awaitEntry(({ end }) => end === "client-left");
      const answer = await client.chat.completions.create({
        model: chatModel,
        messages: say("on"),
      });
      expect(answer.choices[0]?.message.content).toBe("on");
    });

    it("passes the end of a client on to the engine, before a whole answer", async () => {
      world.simulator.script({ text: "late", stall: { at: "headers" } });
      const controller = new AbortController();
      const answer = client.chat.completions.create(
        { model: chatModel, messages: say("x") },
        { signal: controller.signal },
      );
      await world.simulator.awaitEntry(({ path }) => path.endsWith(chatPath(world)));
      controller.abort();
      await expect(answer).rejects.toThrow("aborted");
      await world.simulator.awaitEntry(({ end }) => end === "client-left");
    });

    it("carries x-request-id on every answer, each its own and none of the client's", async () => {
      const seen = new Set<string | null>();
      for (const stream of [false, true]) {
        const { response, request_id } = await client.chat.completions
          .create(
            { messages: say("hi"), model: chatModel, stream },
            {
              headers: { "x-request-id": "mine" },
            },
          )
          .withResponse();
        expect(response.headers.get("x-request-id")).toBe(request_id);
        seen.add(request_id);
        await response.body?.cancel().catch(() => undefined);
      }
      const refused = await world.post("{");
      seen.add(refused.headers.get("x-request-id"));
      expect(seen.size).toBe(3);
      expect(seen).not.toContain("mine");
      expect(seen).not.toContain(null);
    });
  });
}

function outputLimit(world: EngineGateway): unknown {
  const { max_tokens, max_completion_tokens, options } = world.askedOnce() as {
    max_tokens?: number;
    max_completion_tokens?: number;
    options?: { num_predict?: number };
  };
  return max_tokens ?? max_completion_tokens ?? options?.num_predict;
}

function chatPath({ engine }: EngineGateway): string {
  return engine === "vllm" ? "/chat/completions" : "/api/chat";
}
