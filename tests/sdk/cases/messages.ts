import type Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { readMessageStream } from "../../support/clients/message-stream.ts";
import { anthropicBefore, postMessages } from "../ask-messages.ts";
import { collect, type Engine, type EngineGateway, say } from "../engine-gateway.ts";

type Params = Anthropic.MessageCreateParamsNonStreaming;

export function messageCases(engine: Engine, opened: () => EngineGateway): void {
  describe("4.1 POST /v1/messages", () => {
    let world: EngineGateway;
    let client: Anthropic;
    let chatModel: string;

    beforeAll(() => {
      world = opened();
      client = anthropicBefore(world);
      chatModel = world.modelId("sim-chat");
    });

    const params = (more: Partial<Params> = {}): Params => ({
      model: chatModel,
      max_tokens: 1_024,
      messages: say("one two three"),
      ...more,
    });
    const ask = (more: Partial<Params> = {}) => client.messages.create(params(more));
    const stream = (more: Partial<Params> = {}) => client.messages.stream(params(more));
    const thinking = (display?: "omitted"): Partial<Params> => ({
      model: world.modelId("sim-thinker"),
      thinking: { type: "adaptive", ...(display && { display }) },
    });

    it("answers with the text, the actual model and the usage", async () => {
      const { data, response, request_id } = await client.messages
        .create(params({ messages: say("Grüße, 世界 👋🏽") }))
        .withResponse();
      const told = world.calls()[0]?.told;
      expect(data).toMatchObject({
        type: "message",
        role: "assistant",
        model: chatModel,
        content: [{ type: "text", text: "Grüße, 世界 👋🏽" }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: told?.inputTokens, output_tokens: told?.outputTokens },
      });
      expect(data.id).toMatch(/^msg_/);
      expect(request_id).toBe(response.headers.get("x-request-id"));
      expect(request_id).toBeTruthy();
    });

    it("streams the same, in events of the promised order", async () => {
      const events = await collect(await client.messages.create({ ...params(), stream: true }));
      expect(events[0]?.type).toBe("message_start");
      expect(events.at(-1)?.type).toBe("message_stop");
      const deltas = events.filter(({ type }) => type === "content_block_delta");
      expect(deltas.length).toBeGreaterThan(2);
      const message = await stream().finalMessage();
      expect(message.content).toMatchObject([{ type: "text", text: "one two three" }]);
      expect(message.stop_reason).toBe("end_turn");
      const told = world.calls().at(-1)?.told;
      expect(message.usage).toMatchObject({
        input_tokens: told?.inputTokens,
        output_tokens: told?.outputTokens,
      });
    });

    it("begins a stream with a guess of the prompt's tokens", async () => {
      const response = await postMessages(world, { ...params(), stream: true });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      expect(response.headers.get("request-id")).toBe(response.headers.get("x-request-id"));
      const { start } = readMessageStream(await response.text());
      const { input_tokens } = start["usage"] as { input_tokens: number };
      expect(input_tokens).toBeGreaterThan(0);
    });

    it("hands the system prompt and every turn to the engine, in their order", async () => {
      await ask({
        system: [
          { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.329;" },
          { type: "text", text: "Be brief." },
        ],
        messages: [
          { role: "user", content: "Say: one" },
          { role: "assistant", content: [{ type: "text", text: "one" }] },
          { role: "user", content: [{ type: "text", text: "Say: two" }] },
          { role: "system", content: "Be exact." },
        ],
      });
      const { messages } = world.askedOnce() as { messages: { role: string; content: string }[] };
      expect(messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
        "system: Be brief.",
        "user: Say: one",
        "assistant: one",
        "user: Say: two",
        "system: Be exact.",
      ]);
      expect(JSON.stringify(messages)).not.toContain("billing");
    });

    it.each([
      ["unknown", "claude-opus-5-5"],
      ["the empty text", ""],
    ])("4.2 a model that is %s is answered by the default one", async (_, model) => {
      expect((await ask({ model })).model).toBe(chatModel);
      expect((await stream({ model }).finalMessage()).model).toBe(chatModel);
    });

    it("shows thoughts, sealed, before the text", async () => {
      const whole = await ask(thinking());
      const [thought, text] = whole.content;
      expect(text).toMatchObject({ type: "text", text: "one two three" });
      if (thought?.type !== "thinking") throw new Error("it shows no thought");
      expect(thought.thinking).toContain("The user asks");
      expect(thought.signature).not.toBe("");
      const streamed = await stream(thinking()).finalMessage();
      expect(streamed.content[0]).toMatchObject({ type: "thinking", thinking: thought.thinking });
    });

    it("shows no words of thoughts where the client wants none", async () => {
      for (const message of [
        await ask(thinking("omitted")),
        await stream(thinking("omitted")).finalMessage(),
      ]) {
        expect(message.content).toMatchObject([
          { type: "thinking", thinking: "", signature: expect.stringMatching(/./) },
          { type: "text", text: "one two three" },
        ]);
      }
    });

    it("takes its own thoughts back in the next turn", async () => {
      const first = await stream(thinking()).finalMessage();
      world.simulator.reset();
      const next = await ask({
        ...thinking(),
        messages: [
          ...say("one two three"),
          { role: "assistant", content: first.content },
          { role: "user", content: "Say: four" },
        ],
      });
      expect(next.content.at(-1)).toMatchObject({ text: "four" });
      const [thought] = first.content;
      const [, replayed] = world.askedOnce()["messages"] as object[];
      expect(JSON.stringify(replayed)).toContain(
        JSON.stringify(thought?.type === "thinking" && thought.thinking),
      );
    });

    it.each([
      ["disabled", { thinking: { type: "disabled" } }, false],
      ["adaptive", { thinking: { type: "adaptive" } }, true],
      ["an effort alone", { output_config: { effort: "low" } }, true],
    ] satisfies [string, Partial<Params>, boolean][])(
      "4.4 tells the engine whether to think: %s",
      async (_, how, thinks) => {
        const { content } = await ask({ ...how, model: world.modelId("sim-thinker") });
        // The other engine is told of none and of high alone.
        if (engine === "ollama" && "output_config" in how) return;
        expect(content.some(({ type }) => type === "thinking")).toBe(thinks);
      },
    );

    it("ends at a stop string, named where the engine tells it", async () => {
      const stopping = { stop_sequences: ["two"] };
      for (const message of [await ask(stopping), await stream(stopping).finalMessage()]) {
        expect(message.content).toMatchObject([{ text: "one " }]);
        expect(message).toMatchObject(
          engine === "vllm"
            ? { stop_reason: "stop_sequence", stop_sequence: "two" }
            : { stop_reason: "end_turn", stop_sequence: null },
        );
      }
    });

    it("ends at its limit, which is cut to the context", async () => {
      const short = { max_tokens: 2 };
      for (const message of [await ask(short), await stream(short).finalMessage()]) {
        expect(message.stop_reason).toBe("max_tokens");
        expect(message.usage.output_tokens).toBe(2);
      }
      const huge = stream({ model: world.modelId("sim-small"), max_tokens: 128_000 });
      expect((await huge.finalMessage()).stop_reason).toBe("end_turn");
    });

    it("reads a prompt into the cache and answers nothing for a limit of 0", async () => {
      const response = await postMessages(world, params({ max_tokens: 0 }));
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ content: [], stop_reason: "max_tokens" });
    });

    it("follows a schema", async () => {
      const schema = { type: "object", properties: { city: { type: "string" } } };
      const { content } = await ask({
        messages: [{ role: "user", content: "Where is Oslo?" }],
        output_config: { format: { type: "json_schema", schema } },
      });
      const [block] = content;
      expect(JSON.parse(block?.type === "text" ? block.text : "")).toHaveProperty("city");
    });

    it("passes the end of a client on to the engine, in mid-stream", async () => {
      world.simulator.script({ text: "word ", repeat: 5_000, tokensPerSecond: 50 });
      const running = stream();
      running.on("text", () => running.abort());
      await expect(running.finalMessage()).rejects.toThrow("aborted");
      await world.simulator.awaitEntry(({ end }) => end === "client-left");
    });

    it("takes any version, any beta and the key in either header", async () => {
      for (const headers of [
        { "anthropic-version": "2026-10-21" },
        {
          "anthropic-version": "2023-06-01",
          "anthropic-beta": "claude-code-20250219,no-such-beta",
        },
      ]) {
        const path = "/v1/messages?beta=true";
        expect((await postMessages(world, params(), { path, headers })).status).toBe(200);
      }
      const bearer = { "x-api-key": "", authorization: `bearer ${client.apiKey}` };
      expect((await postMessages(world, params(), { headers: bearer })).status).toBe(200);
    });
  });
}
