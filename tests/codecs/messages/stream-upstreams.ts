import { chatCompletionsClient } from "../../../src/codecs/chat-completions/client.ts";
import type { MessagesForm } from "../../../src/codecs/messages/server/messages-form.ts";
import { messagesServer } from "../../../src/codecs/messages/server.ts";

const MAX_EVENT_BYTES = 1024 * 1024;

export const CONTEXT = { requestId: "req_1", model: "sim-chat", created: 1_763_600_000 };
export const PLAIN_FORM: MessagesForm = { omitsThinking: false, fillsCacheOnly: false };

const encoder = new TextEncoder();

/** An engine's answer of the chat format as a client of the messages format sees it; each piece is one network read. */
export function translate(pieces: Iterable<Uint8Array>, form = PLAIN_FORM): string {
  const reader = chatCompletionsClient.streamReader(MAX_EVENT_BYTES);
  const writer = messagesServer.streamEncoder(CONTEXT, form);
  let text = "";
  for (const piece of pieces) text += writer.encode(reader.read(piece));
  return text + writer.encode(reader.end());
}

export function translateWhole(upstream: string, form = PLAIN_FORM): string {
  return translate([encoder.encode(upstream)], form);
}

/** The bytes cut at so many random places. */
export function cut(text: string, cuts: number, random: (below: number) => number): Uint8Array[] {
  const bytes = encoder.encode(text);
  const places = Array.from({ length: cuts }, () => random(bytes.length + 1));
  places.sort((one, other) => one - other);
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const place of [...places, bytes.length]) {
    pieces.push(bytes.subarray(from, place));
    from = place;
  }
  return pieces;
}

interface CallPiece {
  readonly index?: number;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: string | null;
}

function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

export function delta(fields: object, rest: object = {}): string {
  return frame({ id: "c1", choices: [{ index: 0, delta: fields, finish_reason: null, ...rest }] });
}

export function callDelta(...pieces: readonly CallPiece[]): string {
  return delta({
    tool_calls: pieces.map(({ index, id, name, arguments: text }) => ({
      ...(index !== undefined && { index }),
      ...(id !== undefined && { id, type: "function" }),
      function: { ...(name !== undefined && { name }), arguments: text },
    })),
  });
}

export function finish(reason: string, rest: object = {}): string {
  return delta({}, { finish_reason: reason, ...rest });
}

export const DONE = "data: [DONE]\n\n";

const USAGE = frame({
  id: "c1",
  choices: [],
  usage: {
    prompt_tokens: 100,
    completion_tokens: 20,
    prompt_tokens_details: { cached_tokens: 64 },
    completion_tokens_details: { reasoning_tokens: 8 },
  },
});

const interleaved =
  delta({ role: "assistant", content: "" }) +
  delta({ content: "Let me see. 世界 👋🏽" }) +
  callDelta({ index: 0, id: "call_a", name: "get_weather", arguments: "" }) +
  callDelta({ index: 0, arguments: '{"city":' }) +
  callDelta({ index: 1, id: "call_b", name: "get_weather", arguments: '{"ci' }) +
  callDelta({ index: 2, id: "functions.time:2", name: "get_time", arguments: "" }) +
  callDelta({ index: 1, arguments: 'ty":"Paris"' }, { index: 0, arguments: '"Århus"' }) +
  callDelta({ index: 2, arguments: '{"big":12345678901234567890' }) +
  callDelta({ index: 0, arguments: "}" }, { index: 2, arguments: "}" }) +
  callDelta({ index: 1, arguments: "}" }) +
  finish("tool_calls") +
  USAGE +
  DONE;

const thoughts =
  delta({ role: "assistant", content: "" }) +
  delta({ reasoning: "They ask " }) +
  delta({ reasoning: "for 世界." }) +
  delta({ content: "Hello " }) +
  delta({ content: 'there \u2028 \\ "quoted"' }) +
  finish("stop", { stop_reason: null }) +
  USAGE +
  DONE;

/** Streams as the vendors of the chat format write them, each with what is particular to it. */
export const UPSTREAMS: Readonly<Record<string, string>> = {
  "vLLM, interleaved calls": interleaved,
  "vLLM, thoughts in `reasoning`": thoughts,
  "DeepSeek, thoughts in `reasoning_content`, then calls":
    delta({ role: "assistant", content: null, reasoning_content: "" }) +
    delta({ content: null, reasoning_content: "I need the time." }) +
    callDelta({ index: 0, id: "call_0_d", name: "get_time", arguments: "" }) +
    callDelta({ index: 0, arguments: "{}" }) +
    finish("tool_calls", { usage: { prompt_tokens: 7, completion_tokens: 9 } }) +
    DONE,
  "Groq, the whole call in one chunk":
    delta({ role: "assistant", content: null }) +
    callDelta({ index: 0, id: "call_g", name: "get_weather", arguments: '{"city":"Oslo"}' }) +
    frame({
      id: "c1",
      choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }],
      x_groq: { usage: { prompt_tokens: 12, completion_tokens: 6 } },
    }) +
    DONE,
  "Mistral, calls without a number":
    delta({ role: "assistant", content: "" }) +
    callDelta(
      { id: "gSIMJiOkT", name: "get_weather", arguments: '{"city": "Oslo"}' },
      { id: "gSIMJiOkU", name: "get_time", arguments: "{}" },
    ) +
    finish("tool_calls", { usage: { prompt_tokens: 3, completion_tokens: 4 } }) +
    DONE,
  "an engine without a reasoning parser":
    delta({ role: "assistant", content: "" }) +
    delta({ content: "<thi" }) +
    delta({ content: "nk>Hm" }) +
    delta({ content: ", yes</th" }) +
    delta({ content: "ink>\n\nThe answer" }) +
    finish("stop") +
    DONE,
  "a refusal":
    delta({ role: "assistant", content: null, refusal: null }) +
    delta({ refusal: "I cannot " }) +
    delta({ refusal: "help." }) +
    finish("stop") +
    DONE,
  "a filtered answer": delta({ content: "It is" }) + finish("content_filter") + DONE,
  "a stop string": delta({ content: "one " }) + finish("stop", { stop_reason: "END" }) + DONE,
  "a call cut off by its limit":
    callDelta({ index: 0, id: "call_c", name: "write" }) +
    callDelta({ index: 0, arguments: '{"text":"half a' }) +
    finish("length") +
    DONE,
  "calls without arguments":
    callDelta(
      { index: 0, id: "call_e", name: "get_time", arguments: null },
      { index: 1, id: "call_f", name: "get_time", arguments: "" },
    ) +
    finish("tool_calls") +
    DONE,
  "nothing at all": delta({ role: "assistant", content: "" }) + finish("stop") + DONE,
  "an error in the midst of a call":
    delta({ reasoning_content: "Hm" }) +
    callDelta({ index: 0, id: "call_h", name: "get_time", arguments: '{"zone"' }) +
    frame({ error: { message: "CUDA out of memory", type: "InternalServerError", code: 500 } }) +
    DONE,
  "a stream that breaks off": delta({ content: "one two " }) + delta({ content: "three" }),
  "an error before anything": frame({
    error: { message: "no such thing", type: "BadRequestError", code: 400 },
  }),
  "garbage in the midst": `${delta({ content: "one" })}data: {"choices":[{\n\n${DONE}`,
};
