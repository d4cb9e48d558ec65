import { describe, expect, it } from "vitest";
import { trialSize } from "../../support/faults/trial-size.ts";
import { createRandom } from "../chat-completions/read-streams.ts";
import { readPublishedSchemas } from "./published-schemas.ts";
import { readResponseEvents, textOf } from "./read-response-events.ts";
import { QUESTION, type Question, relay, relayPieces, relayWhole } from "./relay-stream.ts";
import { allStreams } from "./upstream-streams.ts";

const SEED = 20261121;
const CHUNKINGS = Math.ceil(trialSize(1_000, 10_000) / allStreams.length);
const schemas = readPublishedSchemas();
/** Open Responses knows functions alone. */
const FUNCTIONS_ONLY: Question = { ...QUESTION, tools: QUESTION.tools.slice(0, 1) };

describe.each(allStreams)("the stream of $name", ({ name, bytes }) => {
  const expected = relay(bytes);

  it("has the events of the format in their order, whose deltas add up", () => {
    const { last, texts } = readResponseEvents(expected);
    const told = last.response.output.map(textOf).join("");
    expect(
      [...texts]
        .sort(([one], [other]) => one - other)
        .map(([, text]) => text)
        .join(""),
    ).toBe(told);
  });

  it.each(schemas)("is valid by the definition of $name", ({ name: definition, findFault }) => {
    const question = definition === "OpenAI" ? QUESTION : FUNCTIONS_ONLY;
    const { events } = readResponseEvents(relay(bytes, question));
    for (const event of events) expect(findFault(event)).toBeUndefined();
  });

  it("says the same as the whole answer", async () => {
    const { last } = readResponseEvents(expected);
    if (last.type === "response.failed") await expect(relayWhole(bytes)).rejects.toThrow();
    else expect(await relayWhole(bytes)).toEqual(last.response);
  });

  it(`is the same however the engine's bytes are cut, ${CHUNKINGS} times over`, () => {
    const random = createRandom(SEED + name.length);
    for (let round = 0; round < CHUNKINGS; round++) {
      const written = relayPieces(cutAtRandom(bytes, random));
      // Whole events only, whatever was read.
      for (const text of written) {
        if (text !== "" && !text.endsWith("\n\n")) expect.fail(`half an event in round ${round}`);
      }
      if (written.join("") !== expected) expect(written.join(""), `${round}`).toBe(expected);
    }
  });
});

/** Pieces of 1 byte up to a size that is drawn once, so that there are fine and coarse cuts. */
function cutAtRandom(bytes: Uint8Array, random: (below: number) => number): Uint8Array[] {
  const largest = 1 + random(random(2) === 0 ? 12 : bytes.length);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random(largest);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}
