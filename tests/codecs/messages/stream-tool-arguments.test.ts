import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { readMessageStream } from "../../support/clients/message-stream.ts";
import { createRandom } from "../chat-completions/read-streams.ts";
import { callDelta, DONE, delta, finish, translateWhole } from "./stream-upstreams.ts";

const SEED = 64;
const FRAGMENTS = Array.from({ length: 64 }, (_, index) => index + 1);

/** JSON that no parser and printer would give back as it is. */
const TEXTS = [
  '{ "city":"Osl\\u00f8",  "big":12345678901234567890123, "n":1.0e0, "quote":"\\"\\\\" }',
  '{"text":"line\\nline\\t世界 👋🏽 \\ud83d\\udc4b","list":[9007199254740993,{"deep":[[]]}]}',
  '{"empty":{},"minus":-0.0,"id":18446744073709551615,"long":"................................"}',
] as const;

describe("the arguments of tool calls", () => {
  it.each(FRAGMENTS)(
    "come out as they went in, in %i fragments each, interleaved",
    async (count) => {
      const text = translateWhole(interleave(count));
      const { blocks } = readMessageStream(text);
      expect(blocks.map(({ input }) => input)).toEqual(TEXTS);

      const { heard, message } = await readByLibrary(text);
      expect(heard).toEqual(TEXTS);
      expect(message.stop_reason).toBe("tool_use");
      expect(message.content.map((block) => block.type === "tool_use" && block.input)).toEqual(
        TEXTS.map((one) => JSON.parse(one)),
      );
      expect(message.content.map((block) => block.type === "tool_use" && block.id)).toEqual([
        "call_0",
        "call_1",
        "call_2",
      ]);
    },
  );
});

/** Three calls begun together, whose pieces come in any order among the calls. */
function interleave(count: number): string {
  const random = createRandom(SEED + count);
  const left = TEXTS.map((text) => split(text, count, random));
  let stream =
    delta({ role: "assistant", content: null }) +
    callDelta(
      ...TEXTS.map((_, index) => ({ index, id: `call_${index}`, name: "f", arguments: "" })),
    );
  while (left.some((pieces) => pieces.length > 0)) {
    const index = random(left.length);
    const piece = left[index]?.shift();
    if (piece !== undefined) stream += callDelta({ index, arguments: piece });
  }
  return stream + finish("tool_calls") + DONE;
}

function split(text: string, count: number, random: (below: number) => number): string[] {
  const places = Array.from({ length: count - 1 }, () => random(text.length + 1));
  places.sort((one, other) => one - other);
  return [...places, text.length].map((place, index) => text.slice(places[index - 1] ?? 0, place));
}

/** The stream through the vendor's own library, and the pieces of input it heard, by block. */
async function readByLibrary(text: string) {
  const client = new Anthropic({
    apiKey: "sk-none",
    maxRetries: 0,
    fetch: async () => new Response(text, { headers: { "content-type": "text/event-stream" } }),
  });
  const stream = client.messages.stream({ model: "m", max_tokens: 1, messages: [] });
  const heard: string[] = [];
  stream.on("streamEvent", (event) => {
    if (event.type !== "content_block_delta" || event.delta.type !== "input_json_delta") return;
    heard[event.index] = (heard[event.index] ?? "") + event.delta.partial_json;
  });
  return { message: await stream.finalMessage(), heard };
}
