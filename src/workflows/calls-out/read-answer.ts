import { setImmediate as nextTurn } from "node:timers/promises";
import { takeTurns } from "../../lib/concurrency.ts";
import type { EgressResponse } from "../../lib/egress/egress.ts";
import { parseExactJson } from "../../lib/exact-json.ts";
import type { JsonObject, JsonValue } from "../../lib/json.ts";
import { isDeeperThan } from "../../lib/json-depth.ts";
import { MAX_ROW_BYTES } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";

/** An answer is written with every row of a batch, so that many rows share this. */
const BATCH_BYTES = 8 * 1024 * 1024;
/** What is shorter is parsed at once. */
const SHORT_BYTES = 4 * 1024;

/**
 * Returns a reader of answers that become a field of rows. Of several answers that arrive together one is parsed in a
 * turn of the event loop. It rejects with a `StepFailure`.
 */
export function answerReader(
  maxDepth: number,
): (response: EgressResponse, rows: number) => Promise<JsonObject> {
  const inTurn = takeTurns();
  return async ({ status, body }, rows) => {
    const bytes = await readBounded(body, Math.min(MAX_ROW_BYTES, Math.floor(BATCH_BYTES / rows)));
    if (bytes.length > SHORT_BYTES) await inTurn(() => nextTurn());
    return { status, body: parsed(bytes, maxDepth) };
  };
}

async function readBounded(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) {
      throw new StepFailure(
        "row_too_large",
        `The answer has more than ${maxBytes} bytes, which do not fit into its rows. Leave out 'output', or make 'batch' smaller.`,
      );
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** JSON, or a text where the answer is none or nests so deeply that nothing could write it again. */
function parsed(bytes: Uint8Array, maxDepth: number): JsonValue {
  const text = new TextDecoder().decode(bytes);
  if (isDeeperThan(maxDepth, bytes)) return text;
  try {
    return parseExactJson(text);
  } catch {
    return text;
  }
}
