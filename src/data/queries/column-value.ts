import { ServiceError } from "../../core/service-error.ts";
import type { DatasetColumn } from "../../db/tables/datasets.ts";
import { checkValue } from "../datasets/check-value.ts";
import type { ViewColumn, ViewColumnType } from "../views/data-view.ts";

const CHECKED_AS: Readonly<Record<ViewColumnType, DatasetColumn["type"]>> = {
  text: "text",
  integer: "integer",
  bigint: "integer",
  numeric: "decimal",
  "double precision": "number",
  boolean: "boolean",
  date: "date",
  "timestamp with time zone": "timestamp",
  jsonb: "json",
};
const INT32 = 2 ** 31;

/** Returns a value of a query as the database reads it for the column. Throws `invalid_value`. */
export function columnValue(text: string, { type }: ViewColumn, param: string): string {
  if (type === "jsonb") return jsonValue(text, param);
  const checked = checkValue(text, CHECKED_AS[type]);
  if ("expected" in checked) throw wrong(param, `'${shown(text)}' is not ${checked.expected}`);
  if (type === "integer" && (Number(text) >= INT32 || Number(text) < -INT32)) {
    throw wrong(param, `'${shown(text)}' is beyond 32 bits`);
  }
  return String(checked.value);
}

function jsonValue(text: string, param: string): string {
  try {
    const checked = checkValue(JSON.parse(text), "json");
    if ("value" in checked) return text;
  } catch {
    // Reported below.
  }
  throw wrong(param, `'${shown(text)}' is not JSON`);
}

/** The error of one parameter. */
export function wrong(param: string, fault: string): ServiceError {
  return new ServiceError("invalid_value", `'${param}' is invalid: ${fault}.`, { param });
}

const SHOWN = 60;

export function shown(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`;
}
