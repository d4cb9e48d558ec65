import { isObject, type JsonValue } from "./json-schema.ts";

/** Longer lines are broken. */
const WIDTH = 100;
const STEP = 2;

/**
 * Writes a value as JSON for people: what fits stands on one line, as `{"kind": "webhook"}`, the rest is broken.
 *
 * @param indent of the line that the value begins in.
 * @param taken how many characters stand before it and behind it in its line.
 */
export function formatJson(value: JsonValue, indent = 0, taken = indent): string {
  const line = inLine(value);
  if (taken + line.length <= WIDTH || !isBreakable(value)) return line;
  const inner = indent + STEP;
  const space = " ".repeat(inner);
  const parts = Array.isArray(value)
    ? (value as readonly JsonValue[]).map((item) => formatJson(item, inner, inner + 1))
    : Object.entries(value as Readonly<Record<string, JsonValue>>).map(([name, item]) => {
        const head = `${JSON.stringify(name)}: `;
        return `${head}${formatJson(item, inner, inner + head.length + 1)}`;
      });
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${parts.map((part) => `${space}${part}`).join(",\n")}\n${" ".repeat(indent)}${close}`;
}

/** Writes a value on one line, with spaces behind colons and commas. */
export function inLine(value: JsonValue): string {
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(inLine).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value as Readonly<Record<string, JsonValue>>);
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}: ${inLine(item)}`).join(", ")}}`;
}

function isBreakable(value: JsonValue): boolean {
  return value !== null && typeof value === "object" && Object.keys(value).length > 0;
}
