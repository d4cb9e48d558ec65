import type { JsonValue } from "../../../lib/json/json.ts";
import { bytes, float, integer, json } from "./values.ts";

/** What the driver knows of a column of a result. */
export interface MysqlColumn {
  readonly name: string;
  readonly columnType?: number;
  readonly characterSet?: number;
  /** MariaDB has no type for JSON, but says so here. */
  readonly extendedFormat?: string;
}

/** The character set of what is no text. */
const BINARY = 63;
const BIT = 16;
const JSON_TYPE = 245;
const INTEGERS = new Set([1, 2, 3, 8, 9, 13]);
const FLOATS = new Set([4, 5]);
/** Texts and blobs: the character set decides. */
const STRINGS = new Set([15, 249, 250, 251, 252, 253, 254]);
const VECTOR = 242;
const GEOMETRY = 255;

/** Decimals and times stay as the server writes them. */
export function decodeMysql(value: unknown, column: MysqlColumn | undefined): JsonValue {
  if (!Buffer.isBuffer(value)) return null;
  const { columnType = 0, characterSet = 0, extendedFormat } = column ?? {};
  if (columnType === JSON_TYPE || extendedFormat === "json") return json(value.toString("utf8"));
  if (columnType === BIT) return integer(BigInt(`0x${value.toString("hex") || "0"}`).toString());
  if (columnType === VECTOR || columnType === GEOMETRY) return bytes(value);
  if (STRINGS.has(columnType) && characterSet === BINARY) return bytes(value);
  const text = value.toString("utf8");
  if (INTEGERS.has(columnType)) return integer(text);
  return FLOATS.has(columnType) ? float(text) : text;
}
