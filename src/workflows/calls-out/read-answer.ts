import { setImmediate as nextTurn } from "node:timers/promises";
import { takeTurns } from "../../lib/concurrency.ts";
import type { EgressResponse } from "../../lib/egress/egress.ts";
import { parseExactJson } from "../../lib/json/exact-json.ts";
import { isDeeperThan } from "../../lib/json/json-depth.ts";
import type { RowProcess } from "../row-process/row-process.ts";
import { MAX_ROW_BYTES } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";

/** An answer is written with every row of a batch, so that many rows share this. */
const BATCH_BYTES = 8 * 1024 * 1024;
/** What is shorter is parsed at once. */
const SHORT_BYTES = 4 * 1024;
/** What is longer is parsed in another process: an answer of a row's size can take its parser 50 ms and more. */
const LONG_BYTES = 64 * 1024;

const NO_JSON: ReadonlySet<string> = new Set(["invalid_json", "too_deep"]);

export interface AnswerParsing {
  readonly maxDepth: number;
  readonly rewrite: RowProcess["rewrite"];
}

interface AnswerUse {
  /** That get the answer. */
  readonly rows: number;
  readonly signal: AbortSignal;
}

type Parsing = AnswerParsing & Pick<AnswerUse, "signal">;

/**
 * Returns a reader of answers that become a field of rows: the JSON text of `{status, body}`. Of several answers that
 * arrive together one is parsed in a turn of the event loop. It rejects with a `StepFailure`, or the signal's reason.
 */
export function answerReader(
  parsing: AnswerParsing,
): (response: EgressResponse, use: AnswerUse) => Promise<string> {
  const inTurn = takeTurns();
  return async ({ status, body }, { rows, signal }) => {
    const bytes = await readBounded(body, Math.min(MAX_ROW_BYTES, Math.floor(BATCH_BYTES / rows)));
    if (bytes.length > SHORT_BYTES) await inTurn(() => nextTurn());
    return `{"status":${status},"body":${await jsonOf(bytes, { ...parsing, signal })}}`;
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
async function jsonOf(bytes: Uint8Array, parsing: Parsing): Promise<string> {
  const text = new TextDecoder().decode(bytes);
  const json =
    bytes.length > LONG_BYTES
      ? await rewriteElsewhere(text, bytes, parsing)
      : rewriteHere(text, bytes, parsing.maxDepth);
  return json ?? JSON.stringify(text);
}

function rewriteHere(text: string, bytes: Uint8Array, maxDepth: number): string | undefined {
  if (isDeeperThan(maxDepth, bytes)) return undefined;
  try {
    return JSON.stringify(parseExactJson(text));
  } catch {
    return undefined;
  }
}

/** The endpoint has done its work: whatever becomes of that process, its answer is not lost, and it is not called again. */
async function rewriteElsewhere(
  text: string,
  bytes: Uint8Array,
  { maxDepth, rewrite, signal }: Parsing,
): Promise<string | undefined> {
  try {
    return await rewrite(text, maxDepth, signal);
  } catch (thrown) {
    const isNone = thrown instanceof StepFailure && NO_JSON.has(thrown.code);
    if (isNone) return undefined;
    signal.throwIfAborted();
    return rewriteHere(text, bytes, maxDepth);
  }
}
