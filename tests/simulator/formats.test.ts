import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { SimulatorOptions } from "../../simulator/options.ts";
import type { Script } from "../../simulator/script.ts";
import { postJson } from "../support/clients/post-json.ts";
import { openRawClient, type RawResponse, rawRequest } from "../support/clients/raw-client.ts";
import { eventValues } from "../support/faults/key-paths.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";

const parameters = { type: "object", properties: { city: { type: "string" } } };
const weather = { name: "get_weather", description: "Weather of a city" };
const PICTURE = "QUJD";

interface Asked {
  readonly text: string;
  readonly withTool?: boolean;
  readonly withPicture?: boolean;
  readonly stream?: boolean;
}

/** One way of asking the same. */
interface Format {
  readonly name: string;
  readonly engine: SimulatorOptions["engine"];
  readonly path: (stream: boolean) => string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: (asked: Asked) => object;
  /** Stands in the last event of a stream and nowhere else. */
  readonly terminal: string;
}

function chatBody(model: string) {
  return ({ stream, text, withPicture, withTool }: Asked) => ({
    model,
    messages: [
      {
        role: "user",
        content: withPicture
          ? [
              { type: "text", text },
              { type: "image_url", image_url: { url: `data:image/png;base64,${PICTURE}` } },
            ]
          : text,
      },
    ],
    ...(withTool && { tools: [{ type: "function", function: { ...weather, parameters } }] }),
    ...(stream && { stream }),
  });
}

const bearer = { authorization: "Bearer x" };
const formats: readonly Format[] = [
  {
    name: "vLLM",
    engine: "vllm",
    path: () => "/v1/chat/completions",
    headers: {},
    body: chatBody("sim-chat"),
    terminal: "[DONE]",
  },
  {
    name: "OpenAI chat",
    engine: "openai",
    path: () => "/v1/chat/completions",
    headers: bearer,
    body: chatBody("gpt-4.1"),
    terminal: "[DONE]",
  },
  {
    name: "OpenAI responses",
    engine: "openai",
    path: () => "/v1/responses",
    headers: bearer,
    body: ({ stream, text, withPicture, withTool }) => ({
      model: "gpt-4.1",
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text },
            ...(withPicture
              ? [{ type: "input_image", image_url: `data:image/png;base64,${PICTURE}` }]
              : []),
          ],
        },
      ],
      ...(withTool && { tools: [{ type: "function", ...weather, parameters }] }),
      ...(stream && { stream }),
    }),
    terminal: "response.completed",
  },
  {
    name: "Anthropic",
    engine: "anthropic",
    path: () => "/v1/messages",
    headers: { "x-api-key": "x", "anthropic-version": "2023-06-01" },
    body: ({ stream, text, withPicture, withTool }) => ({
      model: "claude-sonnet-4-5",
      max_tokens: 4_096,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text },
            ...(withPicture
              ? [
                  {
                    type: "image",
                    source: { type: "base64", media_type: "image/png", data: PICTURE },
                  },
                ]
              : []),
          ],
        },
      ],
      ...(withTool && { tools: [{ ...weather, input_schema: parameters }] }),
      ...(stream && { stream }),
    }),
    terminal: "message_stop",
  },
  {
    name: "Gemini",
    engine: "gemini",
    path: (stream) =>
      `/v1beta/models/gemini-2.5-flash:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    headers: { "x-goog-api-key": "x" },
    body: ({ text, withPicture, withTool }) => ({
      contents: [
        {
          role: "user",
          parts: [
            { text },
            ...(withPicture ? [{ inlineData: { mimeType: "image/png", data: PICTURE } }] : []),
          ],
        },
      ],
      ...(withTool && {
        tools: [{ functionDeclarations: [{ ...weather, parametersJsonSchema: parameters }] }],
      }),
      generationConfig: { thinkingConfig: { thinkingBudget: 0 } },
    }),
    terminal: "finishReason",
  },
  {
    name: "Mistral",
    engine: "compatible",
    path: () => "/v1/chat/completions",
    headers: bearer,
    body: chatBody("mistral-large"),
    terminal: "[DONE]",
  },
];

/** Everything of this kind that is said anywhere in an answer, one after the other. */
function collect(value: unknown, pick: (key: string, value: unknown) => unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => collect(item, pick));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const found = pick(key, inner);
    return found === undefined ? collect(inner, pick) : [found];
  });
}

const textKeys = ["content", "text"];
const saidIn = (answer: unknown) =>
  collect(answer, (key, value) =>
    textKeys.includes(key) && typeof value === "string" ? value : undefined,
  ).join("");
const calledIn = (answer: unknown) =>
  collect(answer, (key, value) => {
    if (key === "arguments" && typeof value === "string") return JSON.parse(value);
    return key === "input" || key === "args" ? value : undefined;
  });

/** The first own word for input and for output tokens. */
function countedIn(answer: unknown): unknown[] {
  const first = (names: readonly string[]) =>
    collect(answer, (key, value) => (names.includes(key) ? value : undefined))[0];
  return [
    first(["prompt_tokens", "input_tokens", "promptTokenCount"]),
    first(["completion_tokens", "output_tokens", "candidatesTokenCount"]),
  ];
}

describe.each(formats)("the simulator's $name", (format) => {
  let simulator: TestSimulator;
  beforeAll(async () => {
    simulator = await startSimulator({ engine: format.engine });
  });
  afterEach(() => simulator.reset());
  afterAll(() => simulator.stop());

  async function ask(asked: Asked) {
    const url = simulator.url + format.path(asked.stream === true);
    return postJson(url, format.body(asked), format.headers);
  }

  /** The stream as it came, and the error with which the connection ended when it did. */
  async function stream(script: Script, text = "count to 5"): Promise<RawResponse> {
    simulator.script(script);
    const client = await openRawClient(simulator.port);
    const body = JSON.stringify(format.body({ text, stream: true }));
    const headers = { "content-type": "application/json", ...format.headers };
    client.send(rawRequest("POST", format.path(true), headers, body));
    try {
      return await client.readResponse();
    } finally {
      client.close();
    }
  }

  it("means the same as every other", async () => {
    const { body } = await ask({ text: "Say: Hi there" });
    expect(saidIn(body)).toContain("Hi there");
    expect(countedIn(body)).toEqual([12, 2]);
    const seen = await ask({ text: "What is it?", withPicture: true });
    expect(saidIn(seen.body)).toContain("I also received 1 image.");
    const called = await ask({ text: "the weather in Oslo", withTool: true });
    expect(calledIn(called.body)).toEqual([{ city: "Oslo" }]);
  });

  it("answers as a script has it, with the vendor's own headers where there are any", async () => {
    const respond = { status: 429, headers: { "retry-after": "7" }, body: { busy: true } };
    simulator.script({ respond });
    const reply = await ask({ text: "x" });
    expect([reply.status, reply.body, reply.headers.get("retry-after")]).toEqual([
      429,
      { busy: true },
      "7",
    ]);
  });

  it("is silent, and cut, where the script has it", async () => {
    const silent = await stream({ latencyMs: 30, stall: { at: 2, forMs: 30 } });
    expect(silent.body.toString()).toContain(format.terminal);
    const ended = await stream({ cut: { at: "terminal", how: "end" } });
    expect(ended.body.toString()).toContain("data:");
    expect(ended.body.toString()).not.toContain(format.terminal);
    expect(simulator.ledger()[1]).toMatchObject({ end: "cut" });
  });

  it("puts a line into the stream in its own framing", async () => {
    const { body } = await stream({ inject: { at: 2, line: '{"type":"odd","odd":1}' } });
    expect(eventValues(body.toString())).toContainEqual({ type: "odd", odd: 1 });
  });

  it("says the same in slices of one byte", async () => {
    const whole = eventValues((await stream({ text: "für 🙂" })).body.toString());
    const sliced = await stream({ text: "für 🙂", segments: { bytes: 1, delayMs: 0 } });
    expect(eventValues(sliced.body.toString())).toHaveLength(whole.length);
    expect(saidIn(whole)).toContain("für 🙂");
  });

  it("keeps a script for the next request when its own was refused", async () => {
    simulator.script({ text: "the script" });
    const url = simulator.url + format.path(false);
    const refused = await postJson(url, { model: "none" }, format.headers);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(saidIn((await ask({ text: "x" })).body)).toContain("the script");
  });

  it("keeps the request as it came", async () => {
    await ask({ text: "für 🙂" });
    const [entry] = simulator.ledger();
    expect(JSON.parse(entry?.body ?? "")).toEqual(format.body({ text: "für 🙂" }));
    const names = entry?.headers.map(([name]) => name.toLowerCase()) ?? [];
    for (const name of Object.keys(format.headers)) expect(names).toContain(name);
    expect(entry?.told).toMatchObject({ inputTokens: expect.any(Number) });
  });
});
