import { formatJson, inLine } from "./json-format.ts";
import { isObject, type JsonValue } from "./json-schema.ts";
import { type JsonNode, type JsonPath, nodeAt, parseJson } from "./json-text.ts";

/**
 * Changes of a JSON text that leave everything else in it as it was written: its order, its spaces, its breaks. All take
 * a text that is JSON, and return it unchanged where there is nothing to do.
 */

const WIDTH = 120;
const STEP = 2;

/** Sets what is at a path, to the last difference within it. Undefined removes it. */
export function setValue(text: string, path: JsonPath, value: JsonValue | undefined): string {
  const node = nodeAt(rootOf(text), path);
  if (value === undefined) return node === undefined ? text : removeValue(text, path);
  if (node === undefined) return addValue(text, path, value);
  if (sameJson(node.value, value)) return text;
  if (node.members !== undefined && isObject(value)) {
    return setMembers(text, path, node, value as Readonly<Record<string, JsonValue>>);
  }
  if (node.items !== undefined && Array.isArray(value)) return setItems(text, path, node, value);
  const shown = formatJson(value, indentAt(text, node.start), columnOf(text, node.start));
  return splice(text, node.start, node.end, shown);
}

/** Inserts a value into a list, before the item at `index` or at its end. */
export function insertItem(text: string, path: JsonPath, index: number, value: JsonValue): string {
  const list = nodeAt(rootOf(text), path);
  if (list?.items === undefined) return text;
  const { items } = list;
  const next = items[index];
  const before = items[Math.min(index, items.length) - 1];
  const near = next ?? before;
  if (near === undefined) return fillEmpty(text, list, { value, isBroken: isObject(value) });
  if (!beginsLine(text, near.start)) {
    const shown = inLine(value);
    return next === undefined
      ? splice(text, near.end, near.end, `, ${shown}`)
      : splice(text, next.start, next.start, `${shown}, `);
  }
  const indent = indentAt(text, near.start);
  const shown = formatJson(value, indent, indent + 1);
  const space = `\n${" ".repeat(indent)}`;
  return next === undefined
    ? splice(text, near.end, near.end, `,${space}${shown}`)
    : splice(text, next.start, next.start, `${shown},${space}`);
}

/** Whether two values are the same JSON; the order of names does not matter. */
export function sameJson(left: JsonValue, right: JsonValue): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, at) => sameJson(item, right[at]));
  }
  if (!isObject(left) || !isObject(right)) return false;
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every(
    (name) =>
      Object.hasOwn(right, name) && sameJson(left[name] as JsonValue, right[name] as JsonValue),
  );
}

function setMembers(
  text: string,
  path: JsonPath,
  node: JsonNode,
  value: Readonly<Record<string, JsonValue>>,
): string {
  const names = new Set([...(node.members ?? []).map(({ name }) => name), ...Object.keys(value)]);
  let changed = text;
  for (const name of names) changed = setValue(changed, [...path, name], value[name]);
  return changed;
}

/** Items that are alike at both ends stay; those between are changed, removed and inserted. */
function setItems(
  text: string,
  path: JsonPath,
  node: JsonNode,
  value: readonly JsonValue[],
): string {
  const old = (node.items ?? []).map((item) => item.value);
  let head = 0;
  while (head < old.length && head < value.length && same(old[head], value[head])) head += 1;
  let tail = 0;
  const most = Math.min(old.length, value.length) - head;
  while (tail < most && same(old.at(-1 - tail), value.at(-1 - tail))) tail += 1;
  const oldEnd = old.length - tail;
  const end = value.length - tail;
  let changed = text;
  for (let at = oldEnd - 1; at >= Math.max(head, end); at -= 1) {
    changed = removeValue(changed, [...path, at]);
  }
  for (let at = head; at < end; at += 1) {
    const item = value[at] as JsonValue;
    changed =
      at < oldEnd ? setValue(changed, [...path, at], item) : insertItem(changed, path, at, item);
  }
  return changed;
}

function same(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  return left !== undefined && right !== undefined && sameJson(left, right);
}

/** Adds a member behind the others of its object, or an item behind the others of its list. */
function addValue(text: string, path: JsonPath, value: JsonValue): string {
  const holder = nodeAt(rootOf(text), path.slice(0, -1));
  const last = path.at(-1);
  if (holder?.items !== undefined) {
    return insertItem(text, path.slice(0, -1), holder.items.length, value);
  }
  if (holder?.members === undefined || typeof last !== "string") return text;
  const before = holder.members.at(-1);
  const head = `${JSON.stringify(last)}: `;
  if (before === undefined) return fillEmpty(text, holder, { value, head });
  const isOneLine = !text.slice(holder.start, holder.end).includes("\n");
  if (isOneLine) {
    const line = `, ${head}${inLine(value)}`;
    const length = columnOf(text, holder.end) + line.length + 1;
    if (length <= WIDTH) return splice(text, before.node.end, before.node.end, line);
    const whole = { ...(holder.value as Readonly<Record<string, JsonValue>>), [last]: value };
    const shown = formatJson(whole, indentAt(text, holder.start), columnOf(text, holder.start));
    return splice(text, holder.start, holder.end, shown);
  }
  const first = holder.members.find(({ start }) => beginsLine(text, start));
  const indent = indentAt(text, first?.start ?? before.start);
  const shown = formatJson(value, indent, indent + head.length + 1);
  return splice(text, before.node.end, before.node.end, `,\n${" ".repeat(indent)}${head}${shown}`);
}

interface FirstValue {
  readonly value: JsonValue;
  /** Its name with the colon. */
  readonly head?: string;
  /** Into a line of its own. */
  readonly isBroken?: boolean;
}

/** Puts the first value into an empty object or list. */
function fillEmpty(
  text: string,
  holder: JsonNode,
  { value, head = "", isBroken = false }: FirstValue,
): string {
  const [open, close] = holder.items === undefined ? "{}" : "[]";
  const line = `${open}${head}${inLine(value)}${close}`;
  if (!isBroken && columnOf(text, holder.start) + line.length <= WIDTH) {
    return splice(text, holder.start, holder.end, line);
  }
  const indent = indentAt(text, holder.start);
  const inner = indent + STEP;
  const shown = `${head}${formatJson(value, inner, inner + head.length)}`;
  const broken = `${open}\n${" ".repeat(inner)}${shown}\n${" ".repeat(indent)}${close}`;
  return splice(text, holder.start, holder.end, broken);
}

/** Removes a member or an item with the comma and the spaces that parted it from its neighbour. */
function removeValue(text: string, path: JsonPath): string {
  const holder = nodeAt(rootOf(text), path.slice(0, -1));
  const last = path.at(-1);
  if (holder === undefined || last === undefined) return text;
  const parts =
    holder.items ?? (holder.members ?? []).map(({ start, node }) => ({ start, end: node.end }));
  const at =
    typeof last === "number"
      ? last
      : (holder.members ?? []).findLastIndex(({ name }) => name === last);
  const part = parts[at];
  if (part === undefined) return text;
  const [before, next] = [parts[at - 1], parts[at + 1]];
  if (before !== undefined) return splice(text, before.end, part.end, "");
  if (next !== undefined) return splice(text, part.start, next.start, "");
  return splice(text, holder.start + 1, holder.end - 1, "");
}

function rootOf(text: string): JsonNode {
  const parsed = parseJson(text);
  if ("fault" in parsed) throw new Error(`only JSON can be changed: ${parsed.fault.message}`);
  return parsed.root;
}

function splice(text: string, start: number, end: number, by: string): string {
  return text.slice(0, start) + by + text.slice(end);
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

function indentAt(text: string, offset: number): number {
  const start = lineStart(text, offset);
  return text.slice(start).search(/[^ ]|$/);
}

function beginsLine(text: string, offset: number): boolean {
  return text.slice(lineStart(text, offset), offset).trim() === "" && lineStart(text, offset) > 0;
}
