import { MAX_ROW_BYTES } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";

const MIB = 1024 * 1024;

// The parsers' own errors quote the data, so they are not kept as causes.

export function noJson(place: string): StepFailure {
  return new StepFailure("invalid_json", `The address answered what is no JSON: ${place}.`);
}

export function noCsv(line: number): StepFailure {
  return new StepFailure(
    "invalid_csv",
    `The answer is no CSV: line ${line} is malformed or has another number of columns.`,
  );
}

export function unknownCharset(charset: string): StepFailure {
  return new StepFailure(
    "unknown_charset",
    `The answer declares the charset '${charset.slice(0, 40)}', which nothing here can read. Ask the address for UTF-8.`,
  );
}

export function tooDeep(place: string, maxDepth: number): StepFailure {
  return new StepFailure(
    "answer_too_deep",
    `The address answered JSON that nests deeper than ${maxDepth} (MAX_JSON_DEPTH): ${place}.`,
  );
}

export function rowTooLarge(place: string): StepFailure {
  return new StepFailure(
    "row_too_large",
    `A row may have ${MAX_ROW_BYTES / MIB} MiB, and ${place} is longer.`,
  );
}

export function surroundingsTooLarge(): StepFailure {
  return new StepFailure(
    "answer_too_large",
    `The answer has more than ${MAX_ROW_BYTES / MIB} MiB beside its rows. Name the array of the rows in 'rows', and ask for fewer fields.`,
  );
}

export function tooManyColumns(most: number): StepFailure {
  return new StepFailure("too_many_columns", `The answer is CSV with more than ${most} columns.`);
}

export function pagesTooLarge(maxBytes: number): StepFailure {
  return new StepFailure(
    "answer_too_large",
    `The pages have more than ${maxBytes} bytes in all (WORKFLOW_MAX_BYTES). Ask for fewer pages.`,
  );
}
