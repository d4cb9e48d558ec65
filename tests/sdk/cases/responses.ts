import type OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { readResponseEvents } from "../../codecs/responses/read-response-events.ts";
import { collect, type EngineGateway } from "../engine-gateway.ts";
import { postResponse } from "../post-response.ts";

type Params = Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>;

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

export function responseCases(opened: () => EngineGateway): void {
  describe("4.1 POST /v1/responses", () => {
    let world: EngineGateway;
    let client: OpenAI;
    let model: string;

    beforeAll(() => {
      world = opened();
      client = world.openai;
      model = world.modelId("sim-chat");
    });

    const ask = (params: Params) => client.responses.create({ model, input: "Say: hi", ...params });
    const stream = (params: Params) =>
      client.responses.stream({ model, input: "Say: hi", ...params, stream: true });

    it("answers with the text, the actual model, the usage and all that clients count on", async () => {
      const before = Math.floor(Date.now() / 1000);
      const answer = await ask({ input: "Say: Grüße, 世界 👋🏽", metadata: { a: "b" } });
      const told = world.calls()[0]?.told;
      expect(answer).toMatchObject({
        object: "response",
        status: "completed",
        model,
        output_text: "Grüße, 世界 👋🏽",
        error: null,
        incomplete_details: null,
        store: true,
        metadata: { a: "b" },
        usage: {
          input_tokens: told?.inputTokens,
          input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
          output_tokens: told?.outputTokens,
          total_tokens: (told?.inputTokens ?? 0) + (told?.outputTokens ?? 0),
        },
      });
      expect(answer.id).toBe(`resp_${answer._request_id}`);
      expect(answer.created_at).toBeGreaterThanOrEqual(before);
      expect(answer.completed_at).toBeGreaterThanOrEqual(answer.created_at);
      expect(answer.output).toHaveLength(1);
    });

    it("streams events in the order of the format, up to the same answer", async () => {
      const input = "Say: one two three";
      const events = await collect(await client.responses.create({ model, input, stream: true }));
      const deltas = events.flatMap((event) =>
        event.type === "response.output_text.delta" ? [event.delta] : [],
      );
      expect(deltas.join("")).toBe("one two three");
      expect(deltas.length).toBeGreaterThan(2);
      const last = events.at(-1);
      expect(last).toMatchObject({ type: "response.completed", response: { model } });
      expect((await stream({ input }).finalResponse()).output_text).toBe("one two three");
      expect((await ask({ input })).output_text).toBe("one two three");
    });

    it("writes the stream as named events, and nothing after the last", async () => {
      const response = await postResponse(world, { input: "Say: one two three", stream: true });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      const text = await response.text();
      const { last } = readResponseEvents(text);
      expect(last.response.id).toBe(`resp_${response.headers.get("x-request-id")}`);
      expect(last.response.usage?.output_tokens).toBe(world.calls()[0]?.told?.outputTokens);
      expect(text).not.toContain("[DONE]");
    });

    it("gives instructions and developer messages to the model as one system message, in order", async () => {
      await ask({
        instructions: "Be brief.",
        input: [
          { role: "developer", content: "Be kind." },
          { role: "user", content: "Say: hi" },
        ],
      });
      const { messages } = world.askedOnce() as unknown as Asked;
      expect(messages).toMatchObject([
        { role: "system", content: "Be brief.\n\nBe kind." },
        { role: "user", content: "Say: hi" },
      ]);
    });

    it("goes on with a conversation whose answers are sent back as they came", async () => {
      const question = { role: "user" as const, content: "Say: first" };
      const first = await ask({ input: [question] });
      world.simulator.reset();
      const second = await ask({
        input: [
          question,
          ...(first.output as OpenAI.Responses.ResponseInput),
          { role: "user", content: "Say: second" },
        ],
      });
      expect(second.output_text).toBe("second");
      const { messages } = world.askedOnce() as unknown as Asked;
      expect(messages).toMatchObject([
        { role: "user", content: "Say: first" },
        { role: "assistant", content: "first" },
        { role: "user", content: "Say: second" },
      ]);
    });

    it.each([
      ["unknown", "gpt-5-codex", "sim-chat"],
      ["named by its id", "sim-small", "sim-small"],
    ])(
      "4.2 a model that is %s is answered by a listed one, told by its id",
      async (_, asked, by) => {
        expect((await ask({ model: asked })).model).toBe(world.modelId(by));
        expect((await stream({ model: asked }).finalResponse()).model).toBe(world.modelId(by));
      },
    );

    it("reports an answer that its limit cut as incomplete, whole and streaming", async () => {
      const params = { input: "Say: one two three four five six", max_output_tokens: 3 };
      for (const answer of [await ask(params), await stream(params).finalResponse()]) {
        expect(answer).toMatchObject({
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
          max_output_tokens: 3,
          output: [{ type: "message", status: "incomplete" }],
          usage: { output_tokens: 3 },
        });
      }
    });

    it("answers in a JSON schema, which the client parses", async () => {
      const schema = {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer" } },
        required: ["city", "days"],
        additionalProperties: false,
      };
      const format = { type: "json_schema", name: "trip", schema, strict: true } as const;
      const answer = await client.responses.parse({
        model,
        input: "Plan a trip.",
        text: { format },
      });
      expect(answer.output_parsed).toEqual({ city: expect.any(String), days: expect.any(Number) });
      expect(answer.text).toMatchObject({ format });
      const body = world.askedOnce();
      if (world.engine === "ollama") expect(body["format"]).toEqual(schema);
      else expect(body["response_format"]).toMatchObject({ json_schema: { name: "trip", schema } });
    });

    it("shows the thoughts of a model as a summary, apart from its answer", async () => {
      world.simulator.script({ reasoning: "Let me think.", text: "Done.", times: 2 });
      const thinker = {
        model: world.modelId("sim-thinker"),
        reasoning: { effort: "high" },
      } as const;
      for (const answer of [await ask(thinker), await stream(thinker).finalResponse()]) {
        expect(answer.output_text).toBe("Done.");
        expect(answer.output).toMatchObject([
          { type: "reasoning", summary: [{ type: "summary_text", text: "Let me think." }] },
          { type: "message" },
        ]);
        expect(answer.reasoning).toEqual({ effort: "high", summary: null });
      }
      const body = world.asked()[0];
      const effort = world.engine === "ollama" ? body?.["think"] : body?.["reasoning_effort"];
      expect([true, "high"]).toContain(effort);
    });

    it("gives the model its thoughts back when the client keeps them as encrypted content", async () => {
      world.simulator.script({
        reasoning: "I need the weather.",
        toolCalls: [{ name: "get_weather", arguments: { city: "Oslo" }, id: "call_w" }],
      });
      const question = { role: "user" as const, content: "What is the weather in Oslo?" };
      const include: Params["include"] = ["reasoning.encrypted_content"];
      const first = await stream({ input: [question], include, store: false }).finalResponse();
      const [thought] = first.output;
      expect(thought).toMatchObject({ type: "reasoning", encrypted_content: expect.any(String) });
      const kept = first.output.map((item) =>
        item.type === "reasoning" ? { ...item, summary: [] } : item,
      ) as OpenAI.Responses.ResponseInput;
      world.simulator.reset();
      const output = { type: "function_call_output" as const, call_id: "call_w", output: "Rain" };
      await ask({ input: [question, ...kept, output] });
      const { messages } = world.askedOnce() as unknown as Asked;
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
      const name = world.engine === "ollama" ? "thinking" : "reasoning_content";
      expect(messages[1]).toMatchObject({ [name]: "I need the weather." });
    });

    it("shows the log probabilities of the tokens, whole and streaming", async () => {
      const params = { input: "Say: one two", top_logprobs: 2 };
      for (const answer of [await ask(params), await stream(params).finalResponse()]) {
        const [message] = answer.output;
        const [part] = message?.type === "message" ? message.content : [];
        const logprobs = part?.type === "output_text" ? (part.logprobs ?? []) : [];
        expect(logprobs.map(({ token }) => token).join("")).toBe("one two");
        expect(logprobs[0]?.top_logprobs).toHaveLength(2);
      }
    });

    it("passes the end of a client on to the engine, in mid-stream", async () => {
      world.simulator.script({ text: "word ", repeat: 5_000, tokensPerSecond: 50 });
      const controller = new AbortController();
      const events = await client.responses.create(
        { model, input: "x", stream: true },
        { signal: controller.signal },
      );
      let heard = 0;
      for await (const event of events) {
        if (event.type === "response.output_text.delta" && ++heard === 3) controller.abort();
      }
      await world.simulator.awaitEntry(({ end }) => end === "client-left");
    });
  });
}
