import { isObject, type JsonValue } from "../../../lib/json/json-schema.ts";
import { type JsonFault, parseJson } from "../../../lib/json/json-text.ts";
import type { CodeMark } from "../../../parts/code-mirror.tsx";

type Row = Readonly<Record<string, JsonValue>>;

export interface SampleRows {
  readonly rows: readonly Row[];
  readonly fault: JsonFault | undefined;
  readonly marks: readonly CodeMark[];
}

/** Reads rows as somebody types them: a list of objects, or one object. */
export function readRows(text: string): SampleRows {
  const parsed = parseJson(text);
  if ("fault" in parsed) return wrong(parsed.fault, text.length);
  const { root } = parsed;
  if (isObject(root.value)) return { rows: [root.value as Row], fault: undefined, marks: [] };
  const odd = root.items?.find(({ value }) => !isObject(value));
  if (root.items === undefined || odd !== undefined) {
    const offset = odd?.start ?? root.start;
    return wrong({ offset, message: "Rows are a list of objects: [{…}]." }, odd?.end ?? root.end);
  }
  return { rows: root.value as readonly Row[], fault: undefined, marks: [] };
}

function wrong(fault: JsonFault, end: number): SampleRows {
  const { offset, message } = fault;
  return { rows: [], fault, marks: [{ from: offset, to: Math.max(end, offset), message }] };
}
