import type { DatasetColumn } from "../../../db/tables/datasets.ts";
import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import { checkValue } from "../check-value.ts";
import { MAX_COLUMNS, toColumnNames } from "../columns.ts";
import { type FoundField, TableFault } from "./table-job.ts";

type Type = DatasetColumn["type"];
/** `large`: a whole number beyond 2^53 as a text. */
type Kind = Type | "large";

/** A number that is written as numbers are: `007` and `+49` are texts. */
const INTEGER = /^-?(?:0|[1-9]\d{0,18})$/;
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const NUMBER = /^-?\d+(?:\.\d+)?[eE][+-]?\d{1,3}$/;
const DATE_LIKE = /^\d{4}-\d\d-\d\d/;

/** Finds the columns of a table from all its rows. */
export class ColumnInference {
  readonly #kinds = new Map<string, Set<Kind>>();
  readonly #ofText: (text: string) => Kind;

  /** @param isTyped false for a file whose values are all texts, as in CSV. */
  constructor(isTyped: boolean) {
    this.#ofText = isTyped ? kindOfString : kindOfText;
  }

  add(row: JsonObject): void {
    for (const [heading, value] of Object.entries(row)) {
      let kinds = this.#kinds.get(heading);
      if (kinds === undefined) {
        if (this.#kinds.size === MAX_COLUMNS) {
          throw new TableFault(`The file has more than ${MAX_COLUMNS} columns.`);
        }
        kinds = new Set();
        this.#kinds.set(heading, kinds);
      }
      if (value != null) kinds.add(this.#kindOf(value));
    }
  }

  fields(): readonly FoundField[] {
    const names = toColumnNames([...this.#kinds.keys()]);
    return [...this.#kinds].map(([heading, kinds], index) => ({
      heading,
      name: names[index] ?? heading,
      type: typeOf(kinds),
    }));
  }

  #kindOf(value: JsonValue): Kind {
    switch (typeof value) {
      case "string":
        return this.#ofText(value);
      case "boolean":
        return "boolean";
      case "number":
        return Number.isSafeInteger(value) ? "integer" : "number";
      default:
        return "json";
    }
  }
}

/** A cell of a file without types. */
function kindOfText(given: string): Kind {
  const text = given.trim();
  if (INTEGER.test(text) && "value" in checkValue(text, "integer")) return "integer";
  if (DECIMAL.test(text)) return "decimal";
  if (NUMBER.test(text)) return "number";
  return /^(?:true|false)$/i.test(text) ? "boolean" : kindOfTime(text);
}

/** A string of JSON is a number only where JSON cannot have it. */
function kindOfString(text: string): Kind {
  const isLarge = INTEGER.test(text) && !Number.isSafeInteger(Number(text));
  return isLarge && "value" in checkValue(text, "integer") ? "large" : kindOfTime(text);
}

function kindOfTime(text: string): Kind {
  if (!DATE_LIKE.test(text)) return "text";
  if ("value" in checkValue(text, "date")) return "date";
  return "value" in checkValue(text, "timestamp") ? "timestamp" : "text";
}

/** The narrowest type that takes all of them. */
function typeOf(kinds: ReadonlySet<Kind>): Type {
  const only = (...known: Kind[]) => [...kinds].every((kind) => known.includes(kind));
  if (kinds.size === 0) return "text";
  if (only("boolean")) return "boolean";
  if (only("integer", "large")) return "integer";
  if (only("integer", "large", "decimal")) return "decimal";
  if (only("integer", "decimal", "number")) return "number";
  if (only("date")) return "date";
  if (only("date", "timestamp")) return "timestamp";
  return kinds.has("json") ? "json" : "text";
}
