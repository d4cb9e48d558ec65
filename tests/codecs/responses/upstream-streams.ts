import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";
import { chunk, FINISH, toFrame } from "../chat-completions/read-streams.ts";

const OWN_FOLDER = resolve(import.meta.dirname, "../../fixtures/chat-completions");
const VENDORS = ["vllm", "openai-chat", "compatible", "deepseek", "mistral", "xai"];

export interface UpstreamStream {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const utf8 = new TextEncoder();

/** A stream of these chunks. */
export function streamOf(name: string, ...chunks: readonly unknown[]): UpstreamStream {
  return { name, bytes: utf8.encode(`${chunks.map(toFrame).join("")}data: [DONE]\n\n`) };
}

const text = (content: string) => chunk({ content });
export const callStart = (index: number, name: string, more = "") =>
  chunk({ tool_calls: [{ index, id: `call_${index}`, function: { name, arguments: more } }] });
export const callMore = (index: number, more: string) =>
  chunk({ tool_calls: [{ index, function: { arguments: more } }] });
export const finish = (finish_reason: string) => ({
  ...chunk({}, { finish_reason }),
  usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
});

/** What engines and clouds write, each trait at least once. */
const ownStreams: readonly UpstreamStream[] = [
  streamOf("text", text("Grüße, "), text("世界 👩‍👩‍👧"), text('"\\\n\u2028'), finish("stop")),
  streamOf("nothing at all", FINISH),
  streamOf("a text cut by its limit", text("One "), text("two"), finish("length")),
  streamOf("a text cut by a filter", text("One "), finish("content_filter")),
  streamOf("a refusal", chunk({ refusal: "I " }), chunk({ refusal: "won't." }), FINISH),
  streamOf("a refusal after text", text("Well. "), chunk({ refusal: "No." }), FINISH),
  streamOf("thoughts", chunk({ reasoning: "Hm" }), chunk({ reasoning: "…" }), text("A"), FINISH),
  streamOf("thoughts alone, cut", chunk({ reasoning_content: "Hm" }), finish("length")),
  streamOf("thoughts between tags", text("<thi"), text("nk>Hm</think>"), text("A"), FINISH),
  streamOf(
    "three calls side by side",
    text("Let me look."),
    callStart(0, "f", '{"a":'),
    callStart(1, "g"),
    callMore(0, '"\\u00e9\\n"'),
    callStart(2, "h", "{"),
    callMore(1, '{ "b" : 12345678901234567890 }'),
    callMore(2, "}"),
    callMore(0, "}"),
    finish("tool_calls"),
  ),
  streamOf("a call without arguments", callStart(0, "f"), finish("tool_calls")),
  streamOf("a call cut by the limit", callStart(0, "f", '{"a":'), finish("length")),
  streamOf(
    "calls of namespaced and custom tools",
    callStart(0, "agents__spawn", '{"name":'),
    callStart(1, "patch", '{"inp'),
    callMore(0, '"x"}'),
    callMore(1, 'ut": "*** Begin\\nüb'),
    callMore(1, "er \\ud83d"),
    callMore(1, '\\ude00 \\"q\\" \\'),
    callMore(1, '\\ end"}'),
    finish("tool_calls"),
  ),
  streamOf(
    "log probabilities",
    chunk({ content: "A" }, { logprobs: { content: [{ token: "A", logprob: -0.5 }] } }),
    chunk(
      { content: "é" },
      {
        logprobs: {
          content: [
            {
              token: "é",
              logprob: -1,
              bytes: [195, 169],
              top_logprobs: [{ token: "é", logprob: -1, bytes: null }],
            },
          ],
        },
      },
    ),
    FINISH,
  ),
  streamOf("an error midway", text("One "), { error: { message: "Out of memory.", code: 500 } }),
  streamOf("an error in a call", callStart(0, "f", '{"a"'), { error: { message: "Gone." } }),
  streamOf("an error at once", { error: { message: "Gone." } }),
  streamOf("garbage", text("One "), "{]"),
  { name: "a text that breaks off", bytes: utf8.encode(toFrame(text("One"))) },
];

export const allStreams: readonly UpstreamStream[] = [
  ...ownStreams,
  ...readdirSync(OWN_FOLDER).map((name) => ({
    name,
    bytes: new Uint8Array(readFileSync(join(OWN_FOLDER, name))),
  })),
  ...readSharedFixtures(VENDORS, ".sse"),
];
