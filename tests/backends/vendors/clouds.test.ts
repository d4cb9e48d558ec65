import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Cloud } from "../../../src/backends/models/trait-table.ts";
import {
  type ScriptedUpstream,
  startScriptedUpstream,
  wholeResponse,
} from "../../support/servers/scripted-upstream.ts";
import { chatRequest, collect, ENGINE_KEY, never, serviceErrorOf, upstreamAt } from "../support.ts";
import { cloudAt, cloudModel, lastCall, sentBy, shortAnswer } from "./cloud-calls.ts";

let server: ScriptedUpstream;
beforeAll(async () => {
  server = await startScriptedUpstream(shortAnswer);
});
afterEach(() => server.use(shortAnswer));
afterAll(() => server.stop());

const MODELS = [
  ["openai", "gpt-4o"],
  ["anthropic", "claude-opus-4-6"],
  ["google", "gemini-2.5-flash"],
  ["compatible", "grok-4"],
] as const satisfies readonly (readonly [Cloud, string])[];

function refuse(status: number, body: unknown, headers: Record<string, string> = {}): void {
  const bytes = wholeResponse(status, JSON.stringify(body), {
    "content-type": "application/json",
    ...headers,
  });
  server.use({ steps: [{ bytes }], ending: "keep" });
}

function refusalOf(cloud: Cloud, model: string) {
  const backend = cloudAt(cloud, server.url);
  const request = chatRequest({ stream: false });
  return serviceErrorOf(backend.chat(request, cloudModel(cloud, model), { signal: never() }));
}

describe("Where a cloud is called", () => {
  it.each([
    ["openai", "gpt-4o", "/chat/completions"],
    ["openai", "gpt-5-pro", "/responses"],
    ["anthropic", "claude-opus-4-6", "/v1/messages"],
    ["google", "gemini-2.5-flash", "/models/gemini-2.5-flash:generateContent"],
    ["google", "tunedModels/my own", "/tunedModels/my%20own:generateContent"],
    ["compatible", "meta/llama-4", "/chat/completions"],
  ] as const)("%s's %s at %s", async (cloud, model, path) => {
    const sent = await sentBy(server, { cloud, model });
    expect(sent.path).toBe(path);
    if (cloud !== "google") expect(sent.body).toMatchObject({ model });
  });

  it("Gemini streams under a path of its own, as events", async () => {
    const event = `data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}\r\n\r\n`;
    const bytes = wholeResponse(200, event, { "content-type": "text/event-stream" });
    server.use({ steps: [{ bytes }], ending: "keep" });
    const backend = cloudAt("google", server.url);
    const model = cloudModel("google", "gemini-2.5-flash");
    const events = await collect(backend.chat(chatRequest(), model, { signal: never() }));
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "stop" });
    const { path, query } = server.exchanges().at(-1)!.request;
    expect([path, query.get("alt")]).toEqual([
      "/models/gemini-2.5-flash:streamGenerateContent",
      "sse",
    ]);
  });

  it("Gemini gets the seal on its text back with the next turn", async () => {
    const events = [
      { candidates: [{ content: { parts: [{ text: "Hi" }] } }] },
      {
        candidates: [
          {
            content: { parts: [{ text: "", thoughtSignature: "U0VBTA==" }] },
            finishReason: "STOP",
          },
        ],
      },
    ];
    const stream = events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join("");
    const bytes = wholeResponse(200, stream, { "content-type": "text/event-stream" });
    server.use({ steps: [{ bytes }], ending: "keep" });
    const backend = cloudAt("google", server.url);
    const model = cloudModel("google", "gemini-3-pro");
    const user = { role: "user", content: [{ type: "text", text: "Hello" }] } as const;
    const assistant = { role: "assistant", content: [{ type: "text", text: "Hi" }] } as const;
    for (const messages of [[user], [user, assistant, user]]) {
      await collect(backend.chat(chatRequest({ messages }), model, { signal: never() }));
    }
    expect(lastCall(server).body["contents"]).toMatchObject([
      { role: "user" },
      { role: "model", parts: [{ text: "Hi", thoughtSignature: "U0VBTA==" }] },
      { role: "user" },
    ]);
  });

  it("Anthropic's address may end in its version", async () => {
    const upstream = upstreamAt(`${server.url}/v1`);
    const backend = cloudAt("anthropic", server.url, { upstream });
    const model = cloudModel("anthropic", "claude-opus-4-6");
    await backend.chat(chatRequest({ stream: false }), model, { signal: never() });
    expect(lastCall(server).path).toBe("/v1/messages");
  });

  it("Anthropic is told the version that knows sampling parameters", async () => {
    for (const model of ["claude-sonnet-4-5", "claude-opus-5-5"]) {
      const { headers } = await sentBy(server, { cloud: "anthropic", model });
      expect(headers.get("anthropic-version")).toBe("2023-06-01");
    }
  });

  it.each([
    ["https://api.mistral.ai/v1", true],
    ["https://api.x.ai/v1", false],
    ["https://mistral-proxy.corp.example/v1", true],
  ])("%s is spoken to in Mistral's dialect: %s", async (address, isMistral) => {
    // The client is our own server; only the host's name chooses the dialect.
    const upstream = upstreamAt(address);
    const sent: string[] = [];
    const client = {
      ...upstream.client,
      send: (request: { readonly body?: unknown }) => {
        sent.push(String(request.body));
        return Promise.reject(new Error("sent"));
      },
    };
    const backend = cloudAt("compatible", address, { upstream: { ...upstream, client } });
    const request = chatRequest({ tools: [{ name: "look" }], toolChoice: { type: "required" } });
    const model = cloudModel("compatible", "m");
    await serviceErrorOf(backend.chat(request, model, { signal: never() }));
    expect(JSON.parse(sent[0]!)["tool_choice"]).toBe(isMistral ? "any" : "required");
  });
});

describe("What a cloud is known by", () => {
  it.each(MODELS)(
    "%s lists what the settings name, once and without what embeds",
    async (cloud, id) => {
      const models = [id, "text-embedding-3-large", "mistral-embed", "whisper-1", id];
      const listed = await cloudAt(cloud, server.url, { models }).listModels(never());
      expect(listed).toEqual([cloudModel(cloud, id)]);
    },
  );

  it.each(MODELS)("%s is reachable when it answers, whatever it says", async (cloud) => {
    refuse(401, {});
    expect(await cloudAt(cloud, server.url).isReachable(never())).toBe(true);
    expect(await cloudAt(cloud, "http://127.0.0.1:1").isReachable(never())).toBe(false);
  });
});

describe("A vendor's counter of tokens", () => {
  const request = chatRequest(
    { tools: [{ name: "look" }], effort: "high", stream: true },
    { temperature: 1, maxOutputTokens: 9_000 },
  );
  const count = (cloud: Cloud, id: string) =>
    cloudAt(cloud, server.url).countTokens?.(request, cloudModel(cloud, id), { signal: never() });

  it("Anthropic's gets the prompt and nothing of how it is answered", async () => {
    expect(await count("anthropic", "claude-sonnet-4-5")).toBe(77);
    const { path, body } = lastCall(server);
    expect(path).toBe("/v1/messages/count_tokens");
    const counted = ["model", "messages", "tools", "thinking"];
    expect(Object.keys(body).sort()).toEqual(counted.sort());
  });

  it("Gemini's gets the whole call under the model's name", async () => {
    expect(await count("google", "gemini-2.5-flash")).toBe(77);
    const { path, body } = lastCall(server);
    expect(path).toBe("/models/gemini-2.5-flash:countTokens");
    expect(body["generateContentRequest"]).toMatchObject({
      model: "models/gemini-2.5-flash",
      contents: [{ role: "user", parts: [{ text: "hello" }] }],
    });
  });

  it.each([
    ["anthropic", "claude-opus-4-6"],
    ["google", "gemini-2.5-flash"],
  ] as const)("%s's not answering leaves it to the estimate", async (cloud, id) => {
    refuse(500, {});
    expect(await count(cloud, id)).toBeUndefined();
  });
});

describe("A cloud that refuses", () => {
  const errorBody = (message: string) => ({ error: { message, type: "some_error", code: "x" } });

  // [the vendor's status, the client's status, the client's code]
  const mapping = [
    [400, 400, "invalid_value"],
    [401, 502, "upstream_error"],
    [402, 502, "upstream_error"],
    [403, 502, "upstream_error"],
    [404, 502, "upstream_error"],
    [413, 413, "request_too_large"],
    [422, 400, "invalid_value"],
    [429, 429, "rate_limit_exceeded"],
    [500, 502, "upstream_error"],
    [529, 503, "overloaded"],
  ] as const;

  for (const [cloud, model] of MODELS) {
    it.each(mapping)(`${cloud}'s %i is told as %i`, async (upstream, status, code) => {
      const secret = `the words at ${server.url} for ${ENGINE_KEY}`;
      refuse(upstream, errorBody(secret), { "retry-after": "17" });
      const error = await refusalOf(cloud, model);
      expect([error.status, error.code, error.upstreamStatus]).toEqual([status, code, upstream]);
      expect(error.message).not.toContain(ENGINE_KEY);
      expect(error.message).not.toContain("127.0.0.1");
      if (status === 429) expect(error.retryAfterSeconds).toBe(17);
    });
  }

  it.each([...MODELS, ["openai", "gpt-5-pro"] as const])(
    "%s's key (%s) is not told by an error in place of an answer either",
    async (cloud, model) => {
      const key = "AIza-canary-of-no-known-form";
      const type = "invalid_request_error";
      refuse(200, { type: "error", error: { type, code: 400, message: `Bad: ${key}` } });
      const upstream = { ...upstreamAt(server.url), secrets: [key] };
      const backend = cloudAt(cloud, server.url, { upstream });
      const request = chatRequest({ stream: false });
      const error = await serviceErrorOf(
        backend.chat(request, cloudModel(cloud, model), { signal: never() }),
      );
      expect([error.status, error.message]).toEqual([400, "Bad: [hidden]"]);
    },
  );

  it("Gemini's word that the key is bad is our fault and not the client's", async () => {
    const details = [
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" },
    ];
    const message = "API key not valid. Please pass a valid API key.";
    refuse(400, { error: { code: 400, status: "INVALID_ARGUMENT", message, details } });
    const error = await refusalOf("google", "gemini-2.5-flash");
    expect([error.status, error.code]).toEqual([502, "upstream_error"]);
    expect(error.message).toBe("The model server refused the gateway's key.");
  });

  it("Gemini tells in the body how long to wait", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" }];
    refuse(429, { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "Quota.", details } });
    const error = await refusalOf("google", "gemini-2.5-flash");
    expect([error.status, error.retryAfterSeconds]).toEqual([429, 35]);
  });

  it.each([
    [
      "openai",
      "gpt-4o",
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.",
    ],
    ["anthropic", "claude-opus-4-6", "prompt is too long: 130000 tokens > 128000 maximum"],
    [
      "google",
      "gemini-2.5-flash",
      "The input token count (130000) exceeds the maximum number of tokens allowed (128000).",
    ],
    [
      "compatible",
      "grok-4",
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    ],
  ] as const)(
    "%s's %s: a prompt that is too long is told in the words that clients look for",
    async (cloud, model, message) => {
      refuse(400, errorBody(message));
      const error = await refusalOf(cloud, model);
      expect([error.status, error.code]).toEqual([400, "context_length_exceeded"]);
      expect(error.overflow).toEqual({ contextLength: 128_000, promptTokens: 130_000 });
    },
  );

  it.each([
    [
      "openai",
      "gpt-unheard",
      "max_tokens is too large: 90000. This model supports at most 8000 completion tokens, whereas you provided 90000.",
      "max_completion_tokens",
    ],
    [
      "openai",
      "gpt-unheard-pro",
      "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 8000, but got 90000 instead.",
      "max_output_tokens",
    ],
    ["compatible", "llama", "`max_tokens` must be less than or equal to `8000`", "max_tokens"],
    [
      "anthropic",
      "claude-unheard",
      "max_tokens: 90000 > 8000, which is the maximum allowed number of output tokens for claude-unheard",
      "max_tokens",
    ],
  ] as const)(
    "%s's %s: an answer that may be too long is asked for shorter",
    async (cloud, model, message, field) => {
      let calls = 0;
      const { bytes } = { bytes: wholeResponse(400, JSON.stringify(errorBody(message))) };
      server.use((request) => {
        calls += 1;
        return calls === 1 ? { steps: [{ bytes }], ending: "keep" } : shortAnswer(request);
      });
      const sent = await sentBy(server, {
        cloud,
        model,
        request: { parameters: { maxOutputTokens: 90_000 } },
      });
      expect(calls).toBe(2);
      expect(sent.body[field]).toBeGreaterThanOrEqual(7_900);
      expect(sent.body[field]).toBeLessThanOrEqual(8_000);
    },
  );

  it("a system amid the conversation that a model refuses after all is told by the user", async () => {
    let calls = 0;
    const message = "messages: role 'system' is not supported on this model";
    const bytes = wholeResponse(400, JSON.stringify(errorBody(message)));
    server.use((request) => {
      calls += 1;
      return calls === 1 ? { steps: [{ bytes }], ending: "keep" } : shortAnswer(request);
    });
    const messages = [
      { role: "user", content: [{ type: "text", text: "Hi" }] },
      { role: "system", content: [{ type: "text", text: "Be brief." }] },
    ] as const;
    const backend = cloudAt("anthropic", server.url);
    const model = cloudModel("anthropic", "claude-unheard-9");
    const rolesOfCall = async () => {
      const request = chatRequest({ messages, stream: false });
      await backend.chat(request, model, { signal: never() });
      return server
        .exchanges()
        .slice(-2)
        .map(({ request: { body } }) => JSON.parse(Buffer.from(body).toString("utf8")).messages)
        .map((sent: readonly { readonly role: string }[]) => sent.map(({ role }) => role));
    };
    expect(await rolesOfCall()).toEqual([["user", "system"], ["user"]]);
    expect(await rolesOfCall()).toEqual([["user"], ["user"]]);
    expect(calls).toBe(3);
  });

  it("an effort that a model refuses after all is left out", async () => {
    let calls = 0;
    const message =
      "Unsupported value: 'reasoning_effort' does not support 'high' with this model.";
    const bytes = wholeResponse(400, JSON.stringify(errorBody(message)));
    server.use((request) => {
      calls += 1;
      return calls === 1 ? { steps: [{ bytes }], ending: "keep" } : shortAnswer(request);
    });
    const sent = await sentBy(server, {
      cloud: "openai",
      model: "gpt-9",
      request: { effort: "high" },
    });
    expect(sent.body).not.toHaveProperty("reasoning_effort");
  });
});
