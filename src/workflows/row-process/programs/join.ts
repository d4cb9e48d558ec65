import { join } from "node:path";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { Row } from "../../rows/row.ts";
import { LineFile } from "../disk/line-file.ts";
import { LineStore } from "../disk/line-store.ts";
import { appendNumbered, readNumbered } from "../disk/numbered-lines.ts";
import type { RowWork } from "../row-program.ts";
import {
  fieldOf,
  type InputLine,
  ProgramFailure,
  parseRow,
  type SentInput,
  setField,
} from "../row-work.ts";
import { keyOf } from "../values/keys.ts";
import { mergingRows } from "../values/merge-rows.ts";

interface JoinSettings {
  readonly with: string;
  readonly on: readonly string[] | Readonly<Record<string, string>>;
  readonly how: "inner" | "left" | "right" | "full" | "anti";
  readonly prefix?: string;
}

interface Partners {
  readonly lines: LineStore;
  readonly byKey: ReadonlyMap<string, number | number[]>;
  /** The names of all fields that are added to a row: not those of `on`. */
  readonly added: readonly string[];
}

/** This side, of whose rows it is known what fields they have in all. */
interface Left {
  readonly lines: AsyncIterable<readonly InputLine[]>;
  readonly names: ReadonlySet<string>;
}

type Pairs = readonly (readonly [string, string])[];

interface Join {
  readonly work: RowWork;
  readonly settings: JoinSettings;
  readonly pairs: Pairs;
  readonly partners: Partners;
  readonly merge: (left: Row, right: Row) => Row;
}

/** Adds to each row the fields of the rows of another input that have the same values in `on`. */
export async function* joinRows(work: RowWork) {
  const store = new LineStore(join(work.folder, "partners"));
  // The file of the store has no name, so the disk has its room back only when it is closed.
  try {
    yield* joinWith(work, store);
  } finally {
    store.close();
  }
}

async function* joinWith(work: RowWork, store: LineStore) {
  const settings = work.settings as unknown as JoinSettings;
  const { how } = settings;
  const other = work.inputs.find(({ name }) => name === settings.with);
  if (other === undefined) throw unknownInput(settings.with, work.inputs);
  const pairs = pairsOf(settings.on);
  const partners = await readPartners(work.lines(other), store, pairs);
  const left = how === "anti" ? streamLeft(work, other) : await readLeft(work, other, pairs);
  const { prefix = "right_" } = settings;
  const merge = mergingRows({ left: left.names, right: partners.added, prefix });
  const joining: Join = { work, settings, pairs, partners, merge };
  const used = new Uint8Array(partners.lines.size);
  for await (const lines of left.lines) {
    for (const line of lines) yield* joinRow(joining, line, used);
    yield;
    if (work.outputs.isOver) return;
  }
  if (how === "right" || how === "full") yield* pushUnused(joining, used);
}

function* joinRow(
  { work: { outputs }, settings: { how }, pairs, partners, merge }: Join,
  line: InputLine,
  used: Uint8Array,
): Generator<void, void> {
  let found: readonly number[] = [];
  let row: Row = {};
  outputs.attempt(line, () => {
    row = parseRow(line.text);
    found = numbersOf(partners, row, pairs);
    if (found.length > 0) return;
    if (how === "anti") outputs.pushLine(line.text);
    else if (how === "left" || how === "full") outputs.push(merge(row, {}));
  });
  if (how === "anti") return;
  for (const number of found) {
    used[number] = 1;
    outputs.attempt(line, () => outputs.push(merge(row, parseRow(partners.lines.at(number)))));
    if (outputs.isFull) yield;
  }
}

function* pushUnused(
  { work: { outputs }, pairs, partners, merge }: Join,
  used: Uint8Array,
): Generator<void, void> {
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
function pairsOf(on: JoinSettings["on"]): Pairs {
  return Array.isArray(on)
    ? on.map((name: string) => [name, name] as const)
    : Object.entries(on as Record<string, string>);
}

/** `anti` adds no fields, so the names do not matter. */
function streamLeft(work: RowWork, other: SentInput): Left {
  return { lines: leftLines(work, other), names: new Set() };
}

/** An input is read once, and the first row is written when the names of all are known: so they wait on the disk. */
async function readLeft(work: RowWork, other: SentInput, pairs: Pairs): Promise<Left> {
  const file = new LineFile(join(work.folder, "left"));
  // Rows without a partner on this side have them.
  const names = new Set(pairs.map(([left]) => left));
  try {
    for await (const batch of leftLines(work, other)) {
      for (const line of batch) {
        for (const name of Object.keys(parseRow(line.text))) names.add(name);
        appendNumbered(file, line);
      }
    }
    return { lines: readNumbered(file.finish()), names };
  } finally {
    file.close();
  }
}

async function* leftLines({ inputs, lines }: RowWork, other: SentInput) {
  for (const input of inputs) if (input !== other) yield* lines(input);
}

async function readPartners(
  lines: AsyncIterable<readonly InputLine[]>,
  store: LineStore,
  pairs: Pairs,
): Promise<Partners> {
  const byKey = new Map<string, number | number[]>();
  const names = new Set<string>();
  const fields = pairs.map(([, right]) => right);
  const joined = new Set(fields);
  for await (const batch of lines) {
    for (const { text } of batch) {
      const row = parseRow(text);
      for (const name of Object.keys(row)) names.add(name);
      addPartner(byKey, joinKey(row, fields), store.append(text));
    }
  }
  return { lines: store, byKey, added: [...names].filter((name) => !joined.has(name)) };
}

function addPartner(
  byKey: Map<string, number | number[]>,
  key: string | undefined,
  number: number,
): void {
  if (key === undefined) return;
  const known = byKey.get(key);
  if (known === undefined) byKey.set(key, number);
  else if (typeof known === "number") byKey.set(key, [known, number]);
  else known.push(number);
}

/** Undefined where a field is null, which equals nothing, as in SQL. */
function joinKey(row: Row, fields: readonly string[]): string | undefined {
  return fields.some((name) => fieldOf(row, name) === null) ? undefined : keyOf(row, fields);
}

function numbersOf({ byKey }: Partners, row: Row, pairs: Pairs): readonly number[] {
  const key = joinKey(
    row,
    pairs.map(([left]) => left),
  );
  const found = key === undefined ? undefined : byKey.get(key);
  if (found === undefined) return [];
  return typeof found === "number" ? [found] : found;
}

function unknownInput(name: string, inputs: readonly SentInput[]): ProgramFailure {
  const names = inputs.map((input) => `'${input.name}'`).join(", ");
  return new ProgramFailure(
    "unknown_input",
    `There is no input '${name}' in 'from': there is ${names}.`,
  );
}
