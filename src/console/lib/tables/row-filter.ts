/** Which rows of a dataset are shown, in which order, as the address has it and as `/v1/data` is asked for it. */

type ColumnType =
  | "text"
  | "integer"
  | "decimal"
  | "number"
  | "boolean"
  | "date"
  | "timestamp"
  | "json";

export type RowOperator = keyof typeof OPERATORS;

export interface RowCondition {
  readonly column: string;
  readonly operator: RowOperator;
  /** Empty for an operator that takes none. */
  readonly value: string;
}

export interface RowFilter {
  readonly conditions: readonly RowCondition[];
  /** A column, with a minus before it for the other direction; empty for the rows' own order. */
  readonly sort: string;
}

interface Operator {
  readonly label: string;
  /** Writes it as a condition of `/v1/data`. */
  readonly write: (value: string) => string;
  readonly takesValue: boolean;
}

const OPERATORS = {
  has: valued("contains", (value) => `ilike.%${escapePattern(value)}%`),
  is: valued("is", (value) => `eq.${value}`),
  not: valued("is not", (value) => `ne.${value}`),
  from: valued("is at least", (value) => `gte.${value}`),
  to: valued("is at most", (value) => `lte.${value}`),
  true: plain("is true", "is.true"),
  false: plain("is false", "is.false"),
  empty: plain("has no value", "is.null"),
  filled: plain("has a value", "is.not.null"),
} as const;

const ORDERED = ["is", "from", "to", "not", "empty", "filled"] as const;
const OF_TYPE: Readonly<Record<ColumnType, readonly RowOperator[]>> = {
  text: ["has", "is", "not", "empty", "filled"],
  boolean: ["true", "false", "empty", "filled"],
  json: ["empty", "filled"],
  ...{ integer: ORDERED, decimal: ORDERED, number: ORDERED, date: ORDERED, timestamp: ORDERED },
};

/** The operators that a column of this type has; the first is the usual one. */
export function operatorsOf(type: ColumnType): ReadonlyArray<{
  readonly value: RowOperator;
  readonly label: string;
}> {
  return OF_TYPE[type].map((value) => ({ value, label: OPERATORS[value].label }));
}

export function takesValue(operator: RowOperator): boolean {
  return OPERATORS[operator].takesValue;
}

/** Says a condition: "price is at least 12.50". */
export function describeCondition({ column, operator, value }: RowCondition): string {
  return [column, OPERATORS[operator].label, value].filter((word) => word !== "").join(" ");
}

/** Reads the conditions of an address; what is no condition is left out. */
export function readConditions(text: string): readonly RowCondition[] {
  return [...new URLSearchParams(text)].flatMap(([column, written]) => {
    const [operator = "", ...rest] = written.split(".");
    const isKnown = Object.hasOwn(OPERATORS, operator);
    return isKnown ? [{ column, operator: operator as RowOperator, value: rest.join(".") }] : [];
  });
}

/** Writes conditions for an address: `price=from.12&name=has.pump`. */
export function writeConditions(conditions: readonly RowCondition[]): string {
  const written = new URLSearchParams();
  for (const { column, operator, value } of conditions) {
    written.append(column, takesValue(operator) ? `${operator}.${value}` : operator);
  }
  return written.toString();
}

/** The parameters with which `/v1/data/{name}` answers these rows. A column may have the name of another parameter. */
export function dataParameters({ conditions, sort }: RowFilter): ReadonlyArray<[string, string]> {
  return [
    ...conditions.map(({ column, operator, value }): [string, string] => [
      `filter.${column}`,
      OPERATORS[operator].write(value),
    ]),
    ...(sort === "" ? [] : [["order", sort] satisfies [string, string]]),
  ];
}

export function isFiltered({ conditions, sort }: RowFilter): boolean {
  return conditions.length > 0 || sort !== "";
}

function valued(label: string, write: (value: string) => string): Operator {
  return { label, write, takesValue: true };
}

function plain(label: string, written: string): Operator {
  return { label, write: () => written, takesValue: false };
}

function escapePattern(value: string): string {
  return value.replaceAll(/[\\%_]/g, "\\$&");
}
