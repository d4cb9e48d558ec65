// Measures the cost of reading and writing a stream, without sockets: bun bench/codec.ts [SECONDS]
import { createStreamReader } from "../src/codecs/chat-completions/client/client-stream.ts";
import { chatCompletionsServer } from "../src/codecs/chat-completions/server.ts";
import type { ServerCodec, StreamEncoder } from "../src/codecs/codec.ts";
import { messagesServer } from "../src/codecs/messages/server.ts";
import { responsesServer } from "../src/codecs/responses/server.ts";
import type { ChatEvent } from "../src/core/chat/chat-event.ts";

const TOKENS = 128;
const MAX_EVENT_BYTES = 1024 * 1024;
const CONTEXT = { requestId: "req_bench", model: "bench", created: 1 };
const QUESTION = { role: "user", content: "Hi" };
const secondsEach = Number(process.argv[2] ?? 1);

const utf8 = new TextEncoder();

/** Builds a stream as this benchmark's upstream sends it; with `vary` every event differs. */
function stream(vary: boolean): Uint8Array {
  const head =
    '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[';
  const frames = Array.from({ length: TOKENS }, (_, index) => {
    const role = index === 0 ? '"role":"assistant",' : "";
    const own = vary ? `,"obfuscation":"${index * 7919}"` : "";
    return `${head}{"index":0,"delta":{${role}"content":" tok${index}"},"logprobs":null,"finish_reason":null}]${own}}`;
  });
  frames.push(
    `${head}{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}`,
    `${head}],"usage":{"prompt_tokens":10,"completion_tokens":${TOKENS},"total_tokens":${TOKENS + 10}}}`,
    "[DONE]",
  );
  return utf8.encode(frames.map((frame) => `data: ${frame}\n\n`).join(""));
}

function read(bytes: Uint8Array, reads: number): (readonly ChatEvent[])[] {
  const reader = createStreamReader(MAX_EVENT_BYTES);
  const size = Math.ceil(bytes.length / reads);
  return Array.from({ length: reads }, (_, index) =>
    reader.read(bytes.subarray(index * size, (index + 1) * size)),
  );
}

/** Creates an encoder of each family, for a plain question. */
const FAMILIES: Readonly<Record<string, () => StreamEncoder>> = {
  chat: () => chatCompletionsServer.streamEncoder(CONTEXT, { includeUsage: false }),
  messages: encoderOf(messagesServer, { max_tokens: 64, messages: [QUESTION] }),
  responses: encoderOf(responsesServer, { input: [QUESTION] }),
};

function encoderOf<Form>(codec: ServerCodec<Form>, body: object): () => StreamEncoder {
  const { form } = codec.parse(body, JSON.stringify(body));
  return () => codec.streamEncoder(CONTEXT, form);
}

function encode(batches: readonly (readonly ChatEvent[])[], family = "chat"): number {
  const encoder = FAMILIES[family]?.();
  if (encoder === undefined) throw new Error(`no family ${family}`);
  return batches.reduce((sum, batch) => sum + utf8.encode(encoder.encode(batch)).length, 0);
}

/** Measures processor time, so that other load on the machine does not count. */
function measure(name: string, step: () => unknown): void {
  const run = (milliseconds: number): number => {
    const end = performance.now() + milliseconds;
    const start = process.cpuUsage();
    let steps = 0;
    while (performance.now() < end) {
      for (let index = 0; index < 20; index++) step();
      steps += 20;
    }
    const { user, system } = process.cpuUsage(start);
    return ((user + system) * 1000) / steps / TOKENS;
  };
  run(300);
  const nanoseconds = run(secondsEach * 1000);
  const rate = Math.round(1e9 / nanoseconds).toLocaleString("en");
  process.stdout.write(
    `${name.padEnd(44)} ${nanoseconds.toFixed(0).padStart(6)} ns/token ${rate.padStart(12)} tokens/s\n`,
  );
}

const alike = stream(false);
const varied = stream(true);
const batches = read(alike, 1);
measure("read, one read a stream", () => read(alike, 1));
measure("read, three reads a stream", () => read(alike, 3));
measure("read, every event another (all parsed)", () => read(varied, 1));
for (const family of Object.keys(FAMILIES)) {
  measure(`encode for ${family}, one batch a stream`, () => encode(batches, family));
}
measure("read and encode, one read", () => encode(read(alike, 1)));
measure("read and encode for messages, one read", () => encode(read(alike, 1), "messages"));
measure("read and encode for responses, one read", () => encode(read(alike, 1), "responses"));
measure("read and encode, three reads", () => encode(read(alike, 3)));
measure("read and encode, a read a token", () => encode(read(alike, TOKENS + 3)));
measure("read and encode, every event another", () => encode(read(varied, 1)));
