import type { Backend, CallOptions, Model } from "../../../src/backends/backend.ts";
import { type Cloud, traitsOf } from "../../../src/backends/models/trait-table.ts";
import { createReplayMemory } from "../../../src/backends/replay/replay-memory.ts";
import { createAnthropic } from "../../../src/backends/vendors/anthropic.ts";
import type { CloudSetup } from "../../../src/backends/vendors/cloud.ts";
import { createCompatible } from "../../../src/backends/vendors/compatible.ts";
import { createGoogle } from "../../../src/backends/vendors/google.ts";
import { createOpenai } from "../../../src/backends/vendors/openai.ts";
import type { ChatRequest } from "../../../src/core/chat/chat-request.ts";
import { isJsonObject, type JsonObject } from "../../../src/lib/json/json.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { type ScriptedUpstream, wholeResponse } from "../../support/servers/scripted-upstream.ts";
import { chatRequest, never, upstreamAt } from "../support.ts";

const CLOUDS: Readonly<Record<Cloud, (setup: CloudSetup) => Backend>> = {
  openai: createOpenai,
  anthropic: createAnthropic,
  google: createGoogle,
  compatible: (setup) => createCompatible(setup, { COMPATIBLE_VENDOR: undefined }),
};

/** The shortest whole answer of each interface, by the end of its path. */
const ANSWERS: Readonly<Record<string, JsonObject>> = {
  "/chat/completions": {
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi" } }],
    usage: { prompt_tokens: 2, completion_tokens: 1 },
  },
  "/responses": {
    id: "resp_1",
    object: "response",
    status: "completed",
    output: [
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Hi", annotations: [] }],
      },
    ],
    usage: { input_tokens: 2, output_tokens: 1, total_tokens: 3 },
  },
  "/messages": {
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "Hi" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 2, output_tokens: 1 },
  },
  ":generateContent": {
    candidates: [
      { content: { role: "model", parts: [{ text: "Hi" }] }, index: 0, finishReason: "STOP" },
    ],
    usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 1, totalTokenCount: 3 },
  },
  "/count_tokens": { input_tokens: 77 },
  ":countTokens": { totalTokens: 77 },
};

/** What a vendor that takes everything says to a request. */
export function shortAnswer({ path }: { readonly path: string }) {
  const answer = Object.entries(ANSWERS).find(([end]) => path.endsWith(end))?.[1];
  const bytes = wholeResponse(answer === undefined ? 404 : 200, JSON.stringify(answer ?? {}));
  return { steps: [{ bytes }], ending: "keep" as const };
}

/** A cloud's model of this name, as the table of traits knows it. */
export function cloudModel(cloud: Cloud, id: string): Model {
  const names = { id, backend: cloud, created: 0, ownedBy: cloud };
  return { ...names, structuredOutputs: false, ...traitsOf(cloud, id) };
}

export function cloudAt(cloud: Cloud, address: string, setup: Partial<CloudSetup> = {}): Backend {
  const upstream = upstreamAt(address);
  const memory = createReplayMemory(systemClock);
  return CLOUDS[cloud]({ upstream, models: [], forward: [], memory, ...setup });
}

export interface SentCall {
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: JsonObject;
}

export interface CloudCall {
  readonly cloud: Cloud;
  readonly model: string;
  readonly request?: Partial<ChatRequest>;
  readonly forward?: readonly string[];
  readonly passthrough?: CallOptions["passthrough"];
  readonly onIgnored?: CallOptions["onIgnored"];
}

/** What the one call for an answer puts on the wire. */
export async function sentBy(server: ScriptedUpstream, call: CloudCall): Promise<SentCall> {
  const { cloud, model, request, forward = [], passthrough, onIgnored } = call;
  const backend = cloudAt(cloud, server.url, { forward });
  const whole = chatRequest({ stream: false, ...request });
  await backend.chat(whole, cloudModel(cloud, model), { signal: never(), passthrough, onIgnored });
  return lastCall(server);
}

export function lastCall(server: ScriptedUpstream): SentCall {
  const { request } = server.exchanges().at(-1)!;
  const body: unknown = JSON.parse(Buffer.from(request.body).toString("utf8"));
  if (!isJsonObject(body)) throw new Error("the call has no JSON body");
  const headers = request.headers.map(([name, value]) => [name.toLowerCase(), value] as const);
  return { path: request.path, headers: new Map(headers), body };
}
