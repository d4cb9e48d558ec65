import type { LedgerEntry } from "../../simulator/ledger.ts";
import type { Script } from "../../simulator/script.ts";
import type { Backend } from "./backends.ts";
import type { Answer, Family, Line, Question, Tool } from "./question.ts";

/** One cell of the matrix, with everything a scenario needs to fill it. */
export interface Cell {
  readonly family: Family;
  readonly backend: Backend;
  readonly stream: boolean;
  /** Text that stands in every question of this cell and of no other. */
  readonly marker: string;
  readonly ask: (question: Question, line?: Partial<Line>) => Promise<Answer>;
  /** What the vendor says to the next call of this cell. */
  readonly script: (script: Script) => void;
  /** The calls of this cell that reached the vendor, in order. */
  readonly received: () => readonly LedgerEntry[];
  readonly keys: { readonly passthrough: string; readonly plain: string };
}

export interface Scenario {
  readonly name: string;
  /** Throws when the cell is not as it should be; returns what the table says of it besides that it works. */
  readonly run: (cell: Cell) => Promise<Note>;
}

/** Works as everywhere, is ignored as the tables say, the family has no words for it, or the vendor never tells. */
export type Note = "works" | "ignored" | "no such parameter" | "not told";

export function user(cell: Cell, text: string): { readonly who: "user"; readonly text: string } {
  return { who: "user", text: marked(cell, text) };
}

/** The text as it stands in a question of this cell; what the simulator is asked to say has the marker too. */
export function marked(cell: Cell, text: string): string {
  return `${text} ${cell.marker}`;
}

/** The body of the only call that reached the vendor, or of the last one. */
export function lastBody(cell: Cell): string {
  const body = cell.received().at(-1)?.body;
  if (body === undefined) throw new Error("nothing reached the vendor");
  return body;
}

export const WEATHER: Tool = {
  name: "get_weather",
  description: "Tells the weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
    required: ["city"],
  },
};

export const TIME: Tool = {
  name: "get_time",
  description: "Tells the time in a zone.",
  parameters: { type: "object", properties: { zone: { type: "string" } } },
};
