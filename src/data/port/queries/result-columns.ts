import { FieldReader } from "../protocol/fields.ts";

/** How values of a type are written: see `value-writers.ts`. */
export type ValueKind =
  | "number"
  | "bigint"
  | "float"
  | "decimal"
  | "boolean"
  | "date"
  | "time"
  | "json"
  | "text";

export interface ResultColumn {
  /** Unique in the result. */
  readonly name: string;
  /** As PostgreSQL names it; `other` for types that are not built in, and for arrays. */
  readonly type: string;
  readonly kind: ValueKind;
}

/** Types by their OID, which PostgreSQL never changes. */
const TYPES: Readonly<Record<number, readonly [type: string, kind: ValueKind]>> = {
  16: ["boolean", "boolean"],
  17: ["bytea", "text"],
  18: ["char", "text"],
  19: ["name", "text"],
  20: ["bigint", "bigint"],
  21: ["smallint", "number"],
  23: ["integer", "number"],
  25: ["text", "text"],
  26: ["oid", "number"],
  114: ["json", "json"],
  700: ["real", "float"],
  701: ["double precision", "float"],
  1042: ["character", "text"],
  1043: ["character varying", "text"],
  1082: ["date", "date"],
  1083: ["time without time zone", "text"],
  1114: ["timestamp without time zone", "time"],
  1184: ["timestamp with time zone", "time"],
  1186: ["interval", "text"],
  1266: ["time with time zone", "text"],
  1700: ["numeric", "decimal"],
  2950: ["uuid", "text"],
  3802: ["jsonb", "json"],
};

/** Reads the body of a RowDescription. A name that occurs twice gets a number, so that no value hides another. */
export function readColumns(body: Buffer): readonly ResultColumn[] {
  const fields = new FieldReader(body);
  const count = fields.int16();
  const taken = new Set<string>();
  return Array.from({ length: count }, () => {
    const given = fields.text();
    // The table's OID and the column's number.
    fields.bytes(6);
    const [type, kind] = TYPES[fields.int32()] ?? (["other", "text"] as const);
    // The type's size and modifier, and the format.
    fields.bytes(8);
    let name = given;
    for (let number = 2; taken.has(name); number += 1) name = `${given}_${number}`;
    taken.add(name);
    return { name, type, kind };
  });
}
