import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "../../../lib/json/json.ts";
import { linearPattern } from "../expressions/linear-pattern.ts";
import type { RowWork } from "../row-program.ts";
import { ProgramFailure, parseRow, RowFault } from "../row-work.ts";

const ERRORS_SHOWN = 3;

/** Passes on the rows that fulfil a JSON Schema; the others are rows that could not be taken. */
export async function* validateRows({ settings, allLines, outputs }: RowWork) {
  const isValid = compileSchema((settings as { schema: JsonObject }).schema);
  for await (const lines of allLines()) {
    for (const line of lines) {
      outputs.attempt(line, () => {
        if (isValid(parseRow(line.text))) outputs.pushLine(line.text);
        else throw new RowFault("invalid_row", describe(isValid.errors ?? []));
      });
      if (outputs.isOver) break;
    }
    yield;
  }
}

/** Throws a `ProgramFailure` with the code `invalid_schema`. Patterns do not backtrack. */
export function compileSchema(schema: JsonObject): ValidateFunction {
  const regExp = Object.assign(
    (pattern: string, flags: string) =>
      // The library tells patterns apart by their text.
      Object.assign(linearPattern(pattern, flags), { toString: () => `/${pattern}/${flags}` }),
    // The library writes this into code of its own, which is not made here.
    { code: "undefined" },
  );
  try {
    const ajv = new Ajv2020({ strict: false, code: { regExp: regExp as never }, logger: false });
    return ajv.compile(schema);
  } catch (thrown) {
    throw invalidSchema(thrown);
  }
}

function describe(errors: readonly ErrorObject[]): string {
  const told = errors
    .slice(0, ERRORS_SHOWN)
    .map(({ instancePath, message = "is wrong" }) =>
      instancePath === "" ? `the row ${message}` : `'${instancePath.slice(1)}' ${message}`,
    );
  return `The row does not fulfil the schema: ${told.join("; ")}.`;
}

function invalidSchema(thrown: unknown): ProgramFailure {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  const message = `The JSON Schema is wrong: ${why}`;
  return new ProgramFailure("invalid_schema", message, { cause: thrown });
}
