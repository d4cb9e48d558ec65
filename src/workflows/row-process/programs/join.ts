import { join } from "node:path";
import type { JsonObject } from "../../../lib/json.ts";
import type { Row } from "../../rows/row.ts";
import { LineStore } from "../disk/line-store.ts";
import {
  fieldOf,
  ProgramFailure,
  parseRow,
  type RowWork,
  type SentInput,
  setField,
} from "../row-work.ts";
import { keyOf } from "./keys.ts";

interface JoinSettings {
  readonly with: string;
  readonly on: readonly string[] | Readonly<Record<string, string>>;
  readonly how: "inner" | "left" | "right" | "full" | "anti";
  readonly prefix?: string;
}

interface Partners {
  readonly lines: LineStore;
  readonly byKey: ReadonlyMap<string, number | number[]>;
  /** The names of all fields, for rows without a partner. */
  readonly fields: readonly string[];
}

/** Adds to each row the fields of the rows of another input that have the same values in `on`. */
export async function* joinRows(work: RowWork) {
  const { outputs, folder } = work;
  const settings = work.settings as unknown as JoinSettings;
  const other = work.inputs.find(({ name }) => name === settings.with);
  if (other === undefined) throw unknownInput(settings.with, work.inputs);
  const pairs = pairsOf(settings.on);
  const partners = await readPartners(
    work,
    other,
    pairs.map(([, right]) => right),
    folder,
  );
  const used = new Uint8Array(partners.lines.size);
  const leftFields = pairs.map(([left]) => left);
  const merge = merging(settings, pairs, partners.fields);
  for (const input of work.inputs) {
    if (input === other) continue;
    for await (const lines of work.lines(input)) {
      for (const line of lines) {
        let found: readonly number[] = [];
        let row: Row = {};
        outputs.attempt(line, () => {
          row = parseRow(line.text);
          found = numbersOf(partners, row, leftFields);
          if (found.length > 0) return;
          if (settings.how === "anti") outputs.pushLine(line.text);
          else if (settings.how === "left" || settings.how === "full") outputs.push(merge(row, {}));
        });
        if (settings.how === "anti") continue;
        for (const number of found) {
          used[number] = 1;
          outputs.attempt(line, () =>
            outputs.push(merge(row, parseRow(partners.lines.at(number)))),
          );
          if (outputs.isFull) yield;
        }
        if (outputs.isOver) return;
      }
      yield;
    }
  }
  if (settings.how !== "right" && settings.how !== "full") return;
  for (const [number, isUsed] of used.entries()) {
    if (isUsed === 1) continue;
    const text = partners.lines.at(number);
    outputs.attempt({ text, number: number + 1 }, () => {
      const row = parseRow(text);
      const keys: Record<string, unknown> = {};
      for (const [left, right] of pairs) setField(keys, left, fieldOf(row, right));
      outputs.push(merge(keys as JsonObject, row));
    });
    if (outputs.isFull) yield;
  }
}

/** The fields of `on`: the same names on both sides, or each left name with the right one. */
function pairsOf(on: JoinSettings["on"]): readonly (readonly [string, string])[] {
  return Array.isArray(on)
    ? on.map((name: string) => [name, name] as const)
    : Object.entries(on as Record<string, string>);
}

async function readPartners(
  { lines }: RowWork,
  input: SentInput,
  fields: readonly string[],
  folder: string,
): Promise<Partners> {
  const store = new LineStore(join(folder, "partners"));
  const byKey = new Map<string, number | number[]>();
  const names = new Set<string>();
  for await (const batch of lines(input)) {
    for (const { text } of batch) {
      const row = parseRow(text);
      for (const name of Object.keys(row)) names.add(name);
      const number = store.append(text);
      // Null equals nothing, as in SQL.
      if (fields.some((name) => fieldOf(row, name) === null)) continue;
      const key = keyOf(row, fields);
      const known = byKey.get(key);
      if (known === undefined) byKey.set(key, number);
      else if (typeof known === "number") byKey.set(key, [known, number]);
      else known.push(number);
    }
  }
  return { lines: store, byKey, fields: [...names] };
}

function numbersOf({ byKey }: Partners, row: Row, fields: readonly string[]): readonly number[] {
  if (fields.some((name) => fieldOf(row, name) === null)) return [];
  const found = byKey.get(keyOf(row, fields));
  if (found === undefined) return [];
  return typeof found === "number" ? [found] : found;
}

/** The left row's fields stay; a field that both have gets the prefix on the right. */
function merging(
  { prefix = "right_" }: JoinSettings,
  pairs: readonly (readonly [string, string])[],
  fields: readonly string[],
): (left: Row, right: Row) => Row {
  const joined = new Set(pairs.map(([, right]) => right));
  const added = fields.filter((name) => !joined.has(name));
  return (left, right) => {
    const merged: Record<string, unknown> = { ...left };
    for (const name of added) {
      const isTaken = Object.hasOwn(left, name);
      setField(merged, isTaken ? prefix + name : name, fieldOf(right, name));
    }
    return merged as Row;
  };
}

function unknownInput(name: string, inputs: readonly SentInput[]): ProgramFailure {
  const names = inputs.map((input) => `'${input.name}'`).join(", ");
  return new ProgramFailure(
    "unknown_input",
    `There is no input '${name}' in 'from': there is ${names}.`,
  );
}
