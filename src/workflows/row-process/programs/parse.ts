import { parseExactJson } from "../../../lib/json/exact-json.ts";
import { isJsonObject, type JsonObject, type JsonValue, memberAt } from "../../../lib/json/json.ts";
import { isDeeperThan } from "../../../lib/json/json-depth.ts";
import { MAX_ROW_BYTES } from "../../rows/row.ts";
import type { ParseAsked } from "../row-process.ts";
import type { RowWork } from "../row-program.ts";
import { ProgramFailure, RowFault } from "../row-work.ts";

/** Parses the text of the settings: a row of it is pushed, and another value of it is the job's own. */
export async function* parseText({ settings, outputs }: RowWork) {
  const { text, maxDepth, row, value } = settings as unknown as ParseAsked & {
    readonly text: string;
  };
  const parsed = parse(text, maxDepth);
  if (row !== null) push(outputs, rowAt(parsed, row));
  if (value !== null) outputs.value(memberAt(parsed, value) ?? null);
  yield;
}

/** Makes one line of JSON of the settings' text: the job's own value. */
export async function* rewriteText({ settings, outputs }: RowWork) {
  const { text, maxDepth } = settings as { readonly text: string; readonly maxDepth: number };
  const rewritten = JSON.stringify(parse(text, maxDepth));
  if (Buffer.byteLength(rewritten) > MAX_ROW_BYTES) {
    const message = `The text has more than ${MAX_ROW_BYTES} bytes once its numbers are written out.`;
    throw new ProgramFailure("row_too_large", message);
  }
  outputs.value(rewritten);
  yield;
}

function parse(text: string, maxDepth: number): JsonValue {
  if (isDeeperThan(maxDepth, Buffer.from(text))) {
    throw new ProgramFailure("too_deep", `The text nests deeper than ${maxDepth}.`);
  }
  try {
    return parseExactJson(text);
  } catch (thrown) {
    throw failed("invalid_json", "The text is no JSON.", thrown);
  }
}

/** What is no object is a row `{value}`, unless it was to be found in the text. */
function rowAt(parsed: JsonValue, path: readonly string[]): JsonObject | undefined {
  const found = memberAt(parsed, path);
  if (isJsonObject(found)) return found;
  return path.length === 0 ? { value: parsed } : undefined;
}

/** Integers that become texts make a row longer than its text. */
function push(outputs: RowWork["outputs"], row: JsonObject | undefined): void {
  try {
    if (row !== undefined) outputs.push(row);
  } catch (thrown) {
    if (!(thrown instanceof RowFault)) throw thrown;
    throw failed(thrown.code, thrown.message, thrown);
  }
}

function failed(code: string, message: string, cause: unknown): ProgramFailure {
  return new ProgramFailure(code, message, { cause });
}
