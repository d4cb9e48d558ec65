import { chatCompletionsClient } from "../../../src/codecs/chat-completions/client.ts";
import type { AnswerContext } from "../../../src/codecs/codec.ts";
import { responsesServer } from "../../../src/codecs/responses/server.ts";
import { foldEvents } from "../../../src/core/chat/fold-events.ts";
import { MAX_EVENT_BYTES } from "../chat-completions/read-streams.ts";

export const CONTEXT: AnswerContext = {
  requestId: "req_1",
  model: 'a"b',
  created: 1760000000,
  now: () => 1760000005,
};

/** A question with one tool of each kind. */
export const QUESTION = {
  model: "m",
  instructions: "Be brief.",
  input: "Hi",
  tools: [
    { type: "function", name: "f", parameters: { type: "object" }, strict: true },
    { type: "custom", name: "patch", format: { type: "text" } },
    {
      type: "namespace",
      name: "agents",
      description: "Helpers.",
      tools: [{ type: "function", name: "spawn" }],
    },
    { type: "web_search" },
  ],
};

export type Question = Readonly<Record<string, unknown>>;

/** The stream that a client gets for its question when the engine's answer arrives in these pieces. */
export function relayPieces(pieces: Iterable<Uint8Array>, question: Question = QUESTION): string[] {
  const { form } = responsesServer.parse(question, "");
  const reader = chatCompletionsClient.streamReader(MAX_EVENT_BYTES);
  const encoder = responsesServer.streamEncoder(CONTEXT, form);
  const written: string[] = [];
  for (const piece of pieces) written.push(encoder.encode(reader.read(piece)));
  written.push(encoder.encode(reader.end()));
  return written;
}

export function relay(bytes: Uint8Array, question: Question = QUESTION): string {
  return relayPieces([bytes], question).join("");
}

/** The same answer, given whole. Rejects with the error that ends it. */
export async function relayWhole(bytes: Uint8Array, question: Question = QUESTION) {
  const { form } = responsesServer.parse(question, "");
  const reader = chatCompletionsClient.streamReader(MAX_EVENT_BYTES);
  const batches = [reader.read(bytes), reader.end()];
  const answer = await foldEvents(
    (async function* () {
      yield* batches;
    })(),
  );
  return JSON.parse(responsesServer.encodeAnswer(answer, CONTEXT, form)) as unknown;
}
