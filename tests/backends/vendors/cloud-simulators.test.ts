import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Backend } from "../../../src/backends/backend.ts";
import type { Cloud } from "../../../src/backends/models/trait-table.ts";
import { fitOutput } from "../../../src/backends/rules/fit-output.ts";
import type { Upstream } from "../../../src/backends/upstream/upstream.ts";
import type { ChatMessage, ChatRequest, ToolChoice } from "../../../src/core/chat/chat-request.ts";
import { EFFORTS } from "../../../src/core/chat/effort.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { chatRequest, collect, never, upstreamAt } from "../support.ts";
import { cloudAt, cloudModel } from "./cloud-calls.ts";

// Simulated vendors that refuse whatever their real ones would.

interface Vendor {
  readonly cloud: Cloud;
  readonly engine: "openai" | "anthropic" | "gemini" | "compatible";
  /** What follows the simulator's address. */
  readonly version: string;
  readonly models: readonly string[];
}

const VENDORS: readonly Vendor[] = [
  {
    cloud: "openai",
    engine: "openai",
    version: "/v1",
    models: [
      "gpt-4o",
      "gpt-4.1",
      "o3",
      "gpt-5",
      "gpt-5.1",
      "gpt-5.2",
      "gpt-5.6",
      "gpt-6",
      "gpt-5-pro",
      "gpt-5.1-codex",
    ],
  },
  {
    cloud: "anthropic",
    engine: "anthropic",
    version: "",
    models: [
      "claude-opus-4-1",
      "claude-haiku-4-5",
      "claude-opus-4-5",
      "claude-opus-4-6",
      "claude-opus-4-8",
      "claude-sonnet-5",
      "claude-opus-5",
      "claude-sonnet-5-5",
      "claude-opus-5-5",
    ],
  },
  {
    cloud: "google",
    engine: "gemini",
    version: "/v1beta",
    models: [
      "gemini-2.0-flash",
      "gemini-2.5-flash",
      "gemini-2.5-pro",
      "gemini-3-flash",
      "gemini-3-pro",
      "gemini-3.5-pro",
    ],
  },
  {
    cloud: "compatible",
    engine: "compatible",
    version: "/v1",
    models: [
      "mistral-large",
      "magistral",
      "grok-4",
      "deepseek-chat",
      "deepseek-reasoner",
      "llama-3.3-70b-versatile",
      "qwen/qwen3-32b",
      "openrouter/auto",
      "command-a",
    ],
  },
];

interface Asked {
  readonly name: string;
  readonly passthrough: boolean;
}

const TOOLS = [
  {
    name: "look",
    description: "Looks.",
    parameters: { type: "object", properties: { at: { type: "string" } } },
  },
];
const CHOICES: readonly (ToolChoice | undefined)[] = [
  undefined,
  { type: "required" },
  { type: "tool", name: "look" },
];

/** Effort and form of the answer are said in different fields: each effort in both forms is for the fault suite. */
const STREAMED_EFFORTS = trialSize([true], [true, false]);

function requests(): ChatRequest[] {
  const all: ChatRequest[] = [];
  for (const effort of [undefined, ...EFFORTS]) {
    for (const stream of effort === undefined ? [true, false] : STREAMED_EFFORTS) {
      all.push(
        chatRequest({ effort, stream }, { temperature: 0.5, topP: 0.8, topK: 40 }),
        chatRequest({ effort, stream }, { temperature: 1.9, maxOutputTokens: 1 }),
        chatRequest(
          { effort, stream },
          { stop: ["END"], seed: 1, frequencyPenalty: 1, extra: { user: "u" } },
        ),
        chatRequest({ effort, stream, parameters: {} }),
        ...CHOICES.map((toolChoice) =>
          chatRequest({ effort, stream, tools: TOOLS, toolChoice }, { maxOutputTokens: 4_000 }),
        ),
      );
    }
  }
  return all;
}

describe.each(VENDORS)("The simulated $engine", ({ cloud, engine, version, models }) => {
  let simulator: TestSimulator;
  beforeAll(async () => {
    simulator = await startSimulator({ engine });
  });
  afterEach(() => simulator.reset());
  afterAll(() => simulator.stop());

  function backendFor(model: string): Backend {
    const plain = upstreamAt(simulator.url + version);
    const upstream = /^(mistral|magistral)/.test(model) ? underMistralsName(plain) : plain;
    const key = { "x-api-key": "k", "x-goog-api-key": "k" };
    return cloudAt(cloud, simulator.url, {
      upstream: { ...upstream, headers: { ...upstream.headers, ...key } },
    });
  }

  async function answer(backend: Backend, request: ChatRequest, { name, passthrough }: Asked) {
    const model = cloudModel(cloud, name);
    const options = { signal: never(), passthrough, defaultMaxOutputTokens: 8_192 };
    const fitted = await fitOutput(request, { backend, model }, options);
    return collect(backend.chat(fitted.request, model, options));
  }

  it.each(models)("%s takes every request that the tables leave of a client's", async (name) => {
    const backend = backendFor(name);
    for (const request of requests()) {
      for (const passthrough of [false, true]) {
        const events = await answer(backend, request, { name, passthrough });
        expect([request, events.at(-1)?.type]).toEqual([request, "finish"]);
      }
    }
    const refused = simulator.ledger().filter(({ status }) => status !== 200);
    expect(refused).toEqual([]);
  });

  it.each(models)("%s answers a max_tokens of 200,000", async (name) => {
    const request = chatRequest({ stream: false }, { maxOutputTokens: 200_000 });
    const events = await answer(backendFor(name), request, { name, passthrough: false });
    expect(events.at(-1)).toMatchObject({ type: "finish" });
  });

  it.each(models)("%s goes on after a tool's result, thoughts replayed or not", async (name) => {
    const asked: ChatMessage = { role: "user", content: [{ type: "text", text: "look" }] };
    const turn: ChatMessage[] = [
      asked,
      {
        role: "assistant",
        content: [{ type: "tool-call", callId: "call_1", name: "look", arguments: "{}" }],
      },
      { role: "tool", callId: "call_1", content: [{ type: "text", text: "nothing" }] },
    ];
    for (const effort of ["high", undefined] as const) {
      const request = chatRequest(
        { messages: turn, tools: TOOLS, effort },
        { maxOutputTokens: 4_000 },
      );
      const events = await answer(backendFor(name), request, { name, passthrough: true });
      expect(events.at(-1)).toMatchObject({ type: "finish" });
    }
  });
});

/** The same server under a name of Mistral's, which tells the dialect. */
function underMistralsName(upstream: Upstream): Upstream {
  const named = "http://mistral.test";
  const { client } = upstream;
  return {
    ...upstream,
    address: named,
    client: {
      ...client,
      send: (request) =>
        client.send({ ...request, url: request.url.replace(named, upstream.address) }),
    },
  };
}
