import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { createRandom } from "../chat-completions/read-streams.ts";
import { readResponseEvents } from "./read-response-events.ts";
import { relay, relayPieces } from "./relay-stream.ts";
import { allStreams, callMore, callStart, finish, streamOf } from "./upstream-streams.ts";

const ASKED = { model: "m", input: "Hi" };

/** The official client, which gets this stream for an answer, cut into pieces of this size. */
function clientOf(stream: string, size: number): OpenAI {
  const bytes = new TextEncoder().encode(stream);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) {
        controller.enqueue(bytes.subarray(at, at + size));
      }
      controller.close();
    },
  });
  return new OpenAI({
    apiKey: "sk-test",
    baseURL: "http://gateway.test/v1",
    maxRetries: 0,
    fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
  });
}

function finalResponse(stream: string, size = 1000) {
  return clientOf(stream, size).responses.stream(ASKED).finalResponse();
}

describe("the official client", () => {
  it.each(allStreams)("puts $name together as it was meant", async ({ bytes }) => {
    const stream = relay(bytes);
    const { last } = readResponseEvents(stream);
    for (const size of [stream.length, 100]) {
      const { output_text: _text, ...response } = await finalResponse(stream, size);
      const { output, ...rest } = last.response;
      expect(response).toMatchObject(rest);
      expect(response.output).toMatchObject(output);
      expect(response.output).toHaveLength(output.length);
    }
  });

  it("hears text as it comes", async () => {
    let heard = "";
    const [first] = allStreams;
    const stream = clientOf(relay(first?.bytes ?? new Uint8Array()), 64).responses.stream(ASKED);
    stream.on("response.output_text.delta", ({ delta, snapshot }) => {
      heard += delta;
      expect(snapshot).toBe(heard);
    });
    const { output_text } = await stream.finalResponse();
    expect(heard).toBe(output_text);
    expect(heard).toContain("Grüße");
  });
});

describe("the arguments of a call", () => {
  /** JSON that no parser and printer would give back as it is. */
  const ODD = `{ "c":"Osl\\u00f8 \\ud83d\\ude00",\n\t"n":12345678901234567890,"n":1.0e0, "t":"${"x~".repeat(40)}"}`;

  it.each(Array.from({ length: 64 }, (_, index) => index + 1))(
    "are those of the engine byte for byte, in %i fragments",
    async (count) => {
      const fragments = cut(ODD, count);
      const calls = [callStart(0, "f"), ...fragments.map((piece) => callMore(0, piece))];
      const { bytes } = streamOf("calls", ...calls, finish("tool_calls"));
      const { output } = await finalResponse(relay(bytes));
      expect(output).toMatchObject([{ type: "function_call", name: "f", arguments: ODD }]);
    },
  );

  it("are not mixed up between three calls side by side, in whatever order their fragments come", async () => {
    const random = createRandom(20261121);
    const texts = [ODD, "{}", JSON.stringify({ deep: [ODD] })];
    for (let round = 0; round < 100; round++) {
      const queues = texts.map((text, index) =>
        cut(text, 1 + random(8)).map((piece) => callMore(index, piece)),
      );
      const order = [];
      while (queues.some((queue) => queue.length > 0)) {
        order.push(queues[random(queues.length)]?.shift());
      }
      const starts = texts.map((_, index) => callStart(index, `f${index}`));
      const chunks = [...starts, ...order.filter((piece) => piece !== undefined)];
      const { bytes } = streamOf("calls", ...chunks, finish("tool_calls"));
      const size = 1 + random(200);
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const { output } = await finalResponse(relayPieces(pieces).join(""), 500);
      expect(output).toMatchObject(
        texts.map((text, index) => ({
          type: "function_call",
          call_id: `call_${index}`,
          name: `f${index}`,
          arguments: text,
          status: "completed",
        })),
      );
    }
  });
});

/** A text in so many pieces, as even as can be. */
function cut(text: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    text.slice(
      Math.floor((index * text.length) / count),
      Math.floor(((index + 1) * text.length) / count),
    ),
  );
}
