import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { createStreamReader } from "../../../src/codecs/chat-completions/client/client-stream.ts";
import { chatCompletionsClient } from "../../../src/codecs/chat-completions/client.ts";
import { chatCompletionsServer } from "../../../src/codecs/chat-completions/server.ts";
import { foldEvents } from "../../../src/core/chat/fold-events.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";
import { addUp, chunk, FINISH, MAX_EVENT_BYTES, readPieces, toFrame } from "./read-streams.ts";

const CONTEXT = { requestId: "req_1", model: "m", created: 1760000000 };
const FORM = { includeUsage: true };
const QUESTION = { model: "m", messages: [{ role: "user" as const, content: "Hi" }] };

/** The official client, which gets this for an answer. */
function clientOf(body: BodyInit, contentType: string): OpenAI {
  const headers = { "content-type": contentType };
  return new OpenAI({
    apiKey: "sk-test",
    baseURL: "http://gateway.test/v1",
    maxRetries: 0,
    fetch: async () => new Response(body, { headers }),
  });
}

/** An engine's stream read and written again, in the batches in which it came. */
function relay(bytes: Uint8Array, size: number): ReadableStream<Uint8Array> {
  const reader = createStreamReader(MAX_EVENT_BYTES);
  const encoder = chatCompletionsServer.streamEncoder(CONTEXT, FORM);
  const utf8 = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) {
        const text = encoder.encode(reader.read(bytes.subarray(at, at + size)));
        if (text !== "") controller.enqueue(utf8.encode(text));
      }
      controller.enqueue(utf8.encode(encoder.encode(reader.end())));
      controller.close();
    },
  });
}

const ours = [
  chunk({ role: "assistant", content: "" }),
  chunk({ reasoning: "Hm" }),
  chunk({ content: "Let me " }),
  chunk({ content: "look 👩‍👩‍👧." }),
  chunk({ tool_calls: [{ index: 0, id: "c1", function: { name: "f", arguments: '{"a":' } }] }),
  chunk({ tool_calls: [{ index: 1, id: "c2", function: { name: "g", arguments: "{}" } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: "1}" } }] }),
  { ...FINISH, usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } },
];
const streams = [
  {
    name: "a stream of ours",
    bytes: new TextEncoder().encode(`${ours.map(toFrame).join("")}data: [DONE]\n\n`),
  },
  ...readSharedFixtures(
    ["vllm", "openai-chat", "compatible", "deepseek", "mistral", "xai"],
    ".sse",
  ).filter(({ name }) => !name.includes("error")),
];

describe("the official client", () => {
  it.each(streams)("understands $name as it was meant", async ({ bytes }) => {
    const meant = addUp(readPieces([bytes]));
    for (const size of [bytes.length, 100]) {
      const client = clientOf(relay(bytes, size), "text/event-stream");
      let reasoning = "";
      const stream = client.chat.completions
        .stream({ ...QUESTION, stream_options: { include_usage: true } })
        .on("chunk", ({ choices }) => {
          const delta = choices[0]?.delta;
          if (delta && "reasoning_content" in delta) reasoning += delta.reasoning_content;
        });
      const { choices, usage } = await stream.finalChatCompletion();
      const { message, finish_reason } = choices[0]!;
      expect({ ...meant, end: undefined }).toEqual({
        text: message.content ?? "",
        reasoning,
        refusal: message.refusal ?? "",
        calls: (message.tool_calls ?? []).map((call) => ({
          id: call.id,
          name: call.type === "function" ? call.function.name : "",
          arguments: call.type === "function" ? call.function.arguments : "",
        })),
        end: undefined,
      });
      expect(finish_reason.replace("_", "-")).toBe(meant.end);
      // Null where the engine never told.
      if (usage) expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
    }
  });

  it("throws the engine's words when a stream breaks off", async () => {
    const broken = [ours[0], ours[2], { error: { message: "Out of memory.", code: 500 } }];
    const bytes = new TextEncoder().encode(broken.map(toFrame).join(""));
    const stream = clientOf(relay(bytes, 50), "text/event-stream").chat.completions.stream(
      QUESTION,
    );
    await expect(stream.finalChatCompletion()).rejects.toThrow("Out of memory.");
  });

  it("understands a whole answer, with what the vendor added", async () => {
    const answer = {
      id: "x",
      object: "chat.completion",
      created: 1,
      model: "theirs",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "Hi",
            refusal: null,
            annotations: [{ type: "url_citation" }],
          },
          logprobs: {
            content: [{ token: "Hi", logprob: -0.1, bytes: null, top_logprobs: [] }],
            refusal: null,
          },
          finish_reason: "stop",
          stop_reason: null,
          token_ids: [5],
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      system_fingerprint: "fp",
      prompt_logprobs: [null, { a: 1 }],
    };
    const events = chatCompletionsClient.readAnswer(JSON.stringify(answer));
    const body = chatCompletionsServer.encodeAnswer(
      await foldEvents(
        (async function* () {
          yield events;
        })(),
      ),
      CONTEXT,
      FORM,
    );
    const { stop_reason: _null, ...choice } = answer.choices[0]!;
    const expected = {
      ...answer,
      id: "chatcmpl-req_1",
      created: 1760000000,
      model: "m",
      choices: [choice],
    };
    const client = clientOf(body, "application/json");
    expect(await client.chat.completions.create(QUESTION)).toMatchObject(expected);
    expect(JSON.parse(body)).toEqual(expected);
  });
});
