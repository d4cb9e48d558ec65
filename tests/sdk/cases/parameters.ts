import type OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { type Body, collect, type Engine, type EngineGateway, say } from "../engine-gateway.ts";

type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;
/** What stands in no table of the official client's types. */
type Extras = Readonly<Record<string, unknown>>;

const NOTHING_SAID = {};
const VLLM_ON = { enable_thinking: true, thinking: true };
const VLLM_OFF = { enable_thinking: false, thinking: false };

/** 4.4: what each engine is told of an effort. */
const EFFORTS: Readonly<Record<"vllm" | "ollama", readonly (readonly [string, Body])[]>> = {
  vllm: [
    ["none", { chat_template_kwargs: VLLM_OFF }],
    ["minimal", { chat_template_kwargs: VLLM_ON, reasoning_effort: "low" }],
    ["low", { chat_template_kwargs: VLLM_ON, reasoning_effort: "low" }],
    ["medium", { chat_template_kwargs: VLLM_ON, reasoning_effort: "medium" }],
    ["high", { chat_template_kwargs: VLLM_ON, reasoning_effort: "high" }],
    ["xhigh", { chat_template_kwargs: VLLM_ON, reasoning_effort: "high" }],
    ["max", { chat_template_kwargs: VLLM_ON, reasoning_effort: "high" }],
  ],
  ollama: [
    ["none", { think: false }],
    ["minimal", NOTHING_SAID],
    ["low", NOTHING_SAID],
    ["medium", NOTHING_SAID],
    ["high", { think: true }],
    ["xhigh", { think: true }],
    ["max", { think: true }],
  ],
};

export function parameterCases(engine: Engine, opened: () => EngineGateway): void {
  describe("4.3 and 4.4 parameters and effort", () => {
    let world: EngineGateway;
    let client: OpenAI;
    let chatModel: string;

    beforeAll(() => {
      world = opened();
      client = world.openai;
      chatModel = world.modelId("sim-chat");
    });

    const ask = (params: Extras) =>
      client.chat.completions.create({
        model: chatModel,
        messages: say("hello"),
        ...params,
      } as unknown as Params);
    /** What the engine was told with these parameters. */
    const told = async (params: Extras): Promise<Body> => {
      world.simulator.reset();
      await ask(params);
      return world.askedOnce();
    };
    const high = effortSaid("high");
    const none = effortSaid("none");
    function effortSaid(effort: string): Body {
      return EFFORTS[engine].find(([name]) => name === effort)?.[1] ?? NOTHING_SAID;
    }

    it.each(EFFORTS[engine])(
      "tells the engine of effort %s what it understands",
      async (effort, said) => {
        expect(effortIn(await told({ reasoning_effort: effort }))).toEqual(said);
      },
    );

    it.each([[undefined], [null]])("says nothing of an effort of %s", async (effort) => {
      expect(effortIn(await told({ reasoning_effort: effort }))).toEqual(NOTHING_SAID);
    });

    it.each([
      ["true", { ext: { thinking: true } }, "low", high],
      ["false", { ext: { thinking: false } }, "high", none],
      ["none", { ext: { thinking: "none" } }, "high", none],
      ["max", { ext: { thinking: "max" } }, "none", effortSaid("max")],
      ["high under its earlier key", { service: { thinking: "high" } }, undefined, high],
      ["true under its earlier key", { service: { thinking: true } }, "none", high],
      [
        "false beside the earlier key",
        { ext: { thinking: false }, service: { thinking: true } },
        "low",
        none,
      ],
      ["null, so the other counts", { ext: { thinking: null } }, "high", high],
    ])("lets metadata.ext.thinking win: %s", async (_, metadata, reasoning_effort, said) => {
      expect(effortIn(await told({ metadata, reasoning_effort }))).toEqual(said);
    });

    it("keeps metadata of a client's own away from the effort and from the engine's refusal", async () => {
      const body = await told({ metadata: { user: "42", service: "billing", ext: { other: 1 } } });
      expect(effortIn(body)).toEqual(NOTHING_SAID);
    });

    it("keeps a client's own template arguments beside the effort", async () => {
      const body = await told({
        reasoning_effort: "none",
        chat_template_kwargs: { style: "short" },
      });
      expect(body["chat_template_kwargs"]).toMatchObject({ style: "short" });
      if (engine === "vllm") {
        expect(body["chat_template_kwargs"]).toEqual({ style: "short", ...VLLM_OFF });
      }
    });

    it("shows what the model thought as reasoning_content, and never in content", async () => {
      const script = { reasoning: "Let me think: 1 + 1.", text: "Two." };
      world.simulator.script(script, script);
      const whole = await ask({ reasoning_effort: "high" });
      expect(whole.choices[0]?.message).toMatchObject({
        content: "Two.",
        reasoning_content: "Let me think: 1 + 1.",
      });
      const stream = await client.chat.completions.create({
        model: chatModel,
        messages: say("x"),
        stream: true,
      });
      const deltas = (await collect(stream)).flatMap(({ choices }) =>
        choices.map(({ delta }) => delta as { content?: string; reasoning_content?: string }),
      );
      expect(deltas.map(({ content = "" }) => content).join("")).toBe("Two.");
      expect(deltas.map(({ reasoning_content: text = "" }) => text).join("")).toBe(
        "Let me think: 1 + 1.",
      );
      const last = deltas.findLastIndex((delta) => delta.reasoning_content !== undefined);
      const first = deltas.findIndex(({ content = "" }) => content !== "");
      expect(last).toBeLessThan(first);
    });

    it("gives earlier thoughts of a conversation back to the engine", async () => {
      const { messages } = await told({
        messages: [
          { role: "user", content: "1 + 1?" },
          { role: "assistant", content: "2", reasoning_content: "easy" },
          { role: "user", content: "Say: 3" },
        ],
      });
      const field = engine === "ollama" ? "thinking" : "reasoning_content";
      expect((messages as Body[])[1]).toMatchObject({ content: "2", [field]: "easy" });
    });

    it("answers with a model that cannot think, the setting left out", async () => {
      const model = world.modelId("sim-small");
      const answer = await ask({ model, reasoning_effort: "high" });
      expect(answer.choices[0]?.message.content).toBe("hello");
      if (engine === "ollama") {
        expect(world.calls().map(({ status }) => status)).toEqual([400, 200]);
        expect(world.asked().map((body) => body["think"])).toEqual([true, undefined]);
        // What it refused once it is not asked again.
        expect(effortIn(await told({ model, reasoning_effort: "high" }))).toEqual(NOTHING_SAID);
      }
      const stream = await client.chat.completions.create({
        model,
        messages: say("hello"),
        reasoning_effort: "high",
        stream: true,
      });
      expect((await collect(stream)).at(-1)?.choices[0]?.finish_reason).toBe("stop");
    });

    it("ends the text at a stop string", async () => {
      const messages = say("one two STOP three");
      const answer = await ask({ messages, stop: "STOP" });
      expect(answer.choices[0]).toMatchObject({
        finish_reason: "stop",
        message: { content: "one two " },
      });
      const list = await ask({ messages, stop: ["three", "two"] });
      expect(list.choices[0]?.message.content).toBe("one ");
    });

    it("gives the sampling parameters to the engine as they are", async () => {
      const sampling = {
        temperature: 0.25,
        top_p: 0.5,
        top_k: 7,
        seed: 42,
        presence_penalty: 0.5,
        frequency_penalty: -0.5,
      };
      const body = await told({ ...sampling, stop: ["a", "b"] });
      const place = engine === "ollama" ? body["options"] : body;
      expect(place).toMatchObject({ ...sampling, stop: ["a", "b"] });
    });

    it("sends no parameter that the client did not set, nor one it set to null", async () => {
      const names = [
        "temperature",
        "top_p",
        "top_k",
        "seed",
        "stop",
        "presence_penalty",
        "frequency_penalty",
        "response_format",
        "logprobs",
        "top_logprobs",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "logit_bias",
        "user",
        "metadata",
        "stream_options",
      ];
      const nulls = Object.fromEntries(names.map((name) => [name, null]));
      for (const params of [{}, { ...nulls, n: null, stream: null, reasoning_effort: null }]) {
        const body = await told(params);
        for (const name of names) {
          expect(body[name] ?? undefined).toBeUndefined();
          expect((body["options"] as Body | undefined)?.[name]).toBeUndefined();
        }
      }
    });

    it("asks for an answer in a JSON schema", async () => {
      const schema = {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer" } },
        required: ["city", "days"],
        additionalProperties: false,
      };
      const json_schema = { name: "trip", schema, strict: true };
      const answer = await ask({ response_format: { type: "json_schema", json_schema } });
      const said = JSON.parse(answer.choices[0]?.message.content ?? "");
      expect(said).toEqual({ city: expect.any(String), days: expect.any(Number) });
      const body = world.askedOnce();
      if (engine === "ollama") expect(body["format"]).toEqual(schema);
      else expect(body["response_format"]).toEqual({ type: "json_schema", json_schema });
    });

    it("asks for an answer in JSON of any shape", async () => {
      const answer = await ask({ response_format: { type: "json_object" } });
      expect(JSON.parse(answer.choices[0]?.message.content ?? "")).toBeTypeOf("object");
      expect(await told({ response_format: { type: "text" } })).not.toHaveProperty("format");
    });

    it("shows the log probabilities of the tokens, whole and streaming", async () => {
      const params = { logprobs: true, top_logprobs: 2, messages: say("one two") };
      const whole = await ask(params);
      const content = whole.choices[0]?.logprobs?.content ?? [];
      expect(content.map(({ token }) => token).join("")).toBe("one two");
      expect(content[0]?.top_logprobs).toHaveLength(2);
      const stream = await client.chat.completions.create({
        model: chatModel,
        ...params,
        stream: true,
      });
      const chunks = await collect(stream);
      const streamed = chunks.flatMap(({ choices }) => choices[0]?.logprobs?.content ?? []);
      expect(streamed).toEqual(content);
    });

    it("gives further fields to the engine, but none that would harm its other users", async () => {
      const harmful = {
        chat_template: "{{ evil }}",
        best_of: 5,
        priority: -1,
        cache_salt: "x",
        request_id: "mine",
        vllm_xargs: { a: 1 },
        keep_alive: 0,
      };
      const body = await told({ min_p: 0.1, logit_bias: { "50256": -100 }, ...harmful });
      for (const name of Object.keys(harmful)) expect(body).not.toHaveProperty(name);
      expect(engine === "ollama" ? body["options"] : body).toMatchObject({ min_p: 0.1 });
      expect(body["logit_bias"]).toEqual({ "50256": -100 });
    });

    it("takes n of 1 and of null", async () => {
      for (const n of [1, null]) expect((await ask({ n })).choices).toHaveLength(1);
    });
  });
}

/** What a body says of thinking. */
function effortIn({ think, reasoning_effort, chat_template_kwargs }: Body): Body {
  return JSON.parse(JSON.stringify({ think, reasoning_effort, chat_template_kwargs })) as Body;
}
