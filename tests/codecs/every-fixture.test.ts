import { describe, expect, it } from "vitest";
import { chatCompletionsClient } from "../../src/codecs/chat-completions/client.ts";
import { chatCompletionsServer } from "../../src/codecs/chat-completions/server.ts";
import type { ClientCodec, ParsedCall, ServerCodec } from "../../src/codecs/codec.ts";
import { openaiEmbeddings } from "../../src/codecs/embeddings/openai-client.ts";
import { parseEmbeddingRequest } from "../../src/codecs/embeddings/parse-request.ts";
import { generateContentClient } from "../../src/codecs/generate-content/client.ts";
import { messagesClient } from "../../src/codecs/messages/client.ts";
import { messagesServer } from "../../src/codecs/messages/server.ts";
import { ollamaChatClient } from "../../src/codecs/ollama-chat/client.ts";
import { responsesClient } from "../../src/codecs/responses/client.ts";
import { responsesServer } from "../../src/codecs/responses/server.ts";
import { readTranscript } from "../../src/codecs/transcription/read-transcript.ts";
import type { ChatEvent } from "../../src/core/chat/chat-event.ts";
import { isJsonObject } from "../../src/lib/json/json.ts";
import { apart } from "../support/apart.ts";
import { checkEventOrder } from "../support/check-event-order.ts";
import { readSharedFixtures, type SharedFixture } from "../support/shared-fixtures.ts";
import { createRandom } from "./chat-completions/read-streams.ts";

const FOLDERS = [
  "anthropic",
  "clients",
  "compatible",
  "deepseek",
  "google",
  "mistral",
  "ollama",
  "openai-chat",
  "openai-misc",
  "openai-responses",
  "vllm",
  "xai",
];
/** What was asked, what is known of it, and what another test has its own reader for. */
const NO_ANSWERS = /\.(request|meta)\.json$|synthetic-(tags|errors|models|tokenize)\.json$/;
/** Of the tool protocol, which is no model endpoint. */
const NO_MODEL_CALLS = /clients\/.*-mcp-/;
const MAX_EVENT_BYTES = 1_000_000;
/** Each fixture is cut in as many ways; the first is not to cut it. */
const CUTS = 4;
const QUESTION = { role: "user", content: "Hi" };
const FAMILIES = {
  "chat completions": encoderOf(chatCompletionsServer, {
    messages: [QUESTION],
    stream_options: { include_usage: true },
  }),
  "chat completions without usage": encoderOf(chatCompletionsServer, { messages: [QUESTION] }),
  messages: encoderOf(messagesServer, { max_tokens: 64, messages: [QUESTION] }),
  responses: encoderOf(responsesServer, { input: [QUESTION] }),
};

const fixtures = [".sse", ".json", ".ndjson"]
  .flatMap((ending) => readSharedFixtures(FOLDERS, ending))
  .filter(({ name }) => !NO_ANSWERS.test(name));
const text = ({ bytes }: SharedFixture) => new TextDecoder().decode(bytes);
const cases = (wanted: (name: string) => boolean) =>
  fixtures
    .filter(({ name }) => wanted(name))
    .map((fixture): [string, SharedFixture] => [fixture.name, fixture]);

/** The codec that speaks the format, told by the words that only this format has. */
function codecOf(fixture: SharedFixture): ClientCodec {
  const content = text(fixture);
  if (fixture.name.endsWith(".ndjson")) return ollamaChatClient;
  if (/"candidates"|"status": ?"RESOURCE_EXHAUSTED"/.test(content)) return generateContentClient;
  if (/"object": ?"chat\.completion|"choices"/.test(content)) return chatCompletionsClient;
  if (/"message_start"|"type": ?"message",?\s*"(role|usage)"|"stop_reason"/.test(content)) {
    return messagesClient;
  }
  return fixture.name.startsWith("anthropic/") ? messagesClient : responsesClient;
}

describe.skipIf(fixtures.length === 0)("every fixture is read by the codec it belongs to", () => {
  it.each(cases((name) => /\.(sse|ndjson)$/.test(name)))(
    "%s, whole and byte by byte",
    (_name, fixture) => {
      const { bytes } = fixture;
      const whole = readCut(fixture, () => bytes.length);
      checkEventOrder(whole);
      const isFailure = /error|incomplete_partial/.test(fixture.name);
      if (!isFailure) expect(whole.at(-1)?.type).toBe("finish");
      expect(asText(readCut(fixture, () => 1))).toEqual(asText(whole));
    },
  );

  it.each(cases((name) => /\.(sse|ndjson)$/.test(name)))(
    "%s is written alike in every family, whether its pieces are passed on or converted, wherever it is cut",
    (_name, fixture) => {
      const parsed = apart(readCut(fixture, () => 1));
      for (let seed = 0; seed < CUTS; seed += 1) {
        const random = createRandom(seed);
        const size = seed === 0 ? () => fixture.bytes.length : () => 1 + random(2_000);
        const events = readCut(fixture, size);
        for (const [name, encode] of Object.entries(FAMILIES)) {
          expect(encode(events), `${name}, seed ${seed}`).toBe(encode(parsed));
        }
      }
    },
  );

  it.each(cases((name) => /^(?!clients|openai-misc).*\.json$/.test(name)))(
    "%s",
    (_name, fixture) => {
      const codec = codecOf(fixture);
      const body = bodyOf(text(fixture));
      const json: unknown = JSON.parse(body);
      if (isJsonObject(json) && json["error"]) {
        expect(codec.readErrorMessage(body)).toEqual(expect.any(String));
      } else if (!fixture.name.includes("count_tokens")) {
        const events = codec.readAnswer(body);
        checkEventOrder(events);
        expect(events.at(-1)?.type).toBe("finish");
      }
    },
  );

  it.each(cases((name) => name.startsWith("clients/") && !NO_MODEL_CALLS.test(name)))(
    "%s",
    (_name, fixture) => {
      const { path, body } = JSON.parse(text(fixture));
      const parse = parserOf(path);
      const asked = path.includes("count_tokens") ? { max_tokens: 1, ...body } : body;
      const { request } = parse(asked, JSON.stringify(asked));
      expect(request.messages.length).toBeGreaterThan(0);
    },
  );

  it.each(cases((name) => name.endsWith("openai-embedding.json")))("%s", (_name, fixture) => {
    const question = parseEmbeddingRequest({ input: ["a", "b"] });
    const { vectors } = openaiEmbeddings.readAnswer(JSON.parse(text(fixture)), question);
    expect(vectors).toHaveLength(2);
  });

  it.each(cases((name) => name.endsWith("openai-transcription.json")))("%s", (_name, fixture) => {
    const body = text(fixture);
    const answer = { contentType: "application/json", body, readError: () => undefined };
    expect(readTranscript(answer, "verbose_json").text).toBe(JSON.parse(text(fixture)).text);
  });
});

/** All events of a fixture that arrives in pieces of these sizes. */
function readCut(fixture: SharedFixture, size: () => number): readonly ChatEvent[] {
  const reader = codecOf(fixture).streamReader(MAX_EVENT_BYTES);
  const events: ChatEvent[] = [];
  for (let at = 0; at < fixture.bytes.length; ) {
    const end = at + size();
    events.push(...reader.read(fixture.bytes.subarray(at, end)));
    at = end;
  }
  return [...events, ...reader.end()];
}

function encoderOf<Form>(codec: ServerCodec<Form>, body: object) {
  const { form } = codec.parse(body, JSON.stringify(body));
  const context = { requestId: "req_1", model: "m", created: 1, now: () => 1 };
  return (events: readonly ChatEvent[]) => codec.streamEncoder(context, form).encode(events);
}

/** How the family that is served at this path reads a body. */
function parserOf(path: string): (body: unknown, text: string) => ParsedCall<unknown> {
  if (path.startsWith("/v1/messages")) return messagesServer.parse;
  return path.startsWith("/v1/responses") ? responsesServer.parse : chatCompletionsServer.parse;
}

/** Some samples of refusals keep the status beside the body. */
function bodyOf(content: string): string {
  const json: unknown = JSON.parse(content);
  if (!isJsonObject(json) || !isJsonObject(json["body"])) return content;
  return JSON.stringify(json["body"]);
}

/** The events as text. Errors are objects of their own each time; that there is one shows all the same. */
function asText(events: readonly ChatEvent[]): string {
  return JSON.stringify(apart(events).map((event) => ({ ...event, error: undefined })));
}
