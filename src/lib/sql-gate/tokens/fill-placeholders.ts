import { tokenize } from "./tokenize.ts";

/** What a placeholder stands for. */
export type SqlParameter = string | number | boolean | null;

/**
 * Returns a statement of MySQL or MariaDB with a literal in the place of each `?` outside of quotes and comments. A text
 * is written in hexadecimal digits: no setting of the server makes anything else of it. The statement has passed the
 * gate with this number of placeholders.
 */
export function fillPlaceholders(sql: string, parameters: readonly SqlParameter[]): string {
  let filled = "";
  let from = 0;
  const values = parameters.values();
  for (const { kind, text, at } of tokenize(sql, "mysql", { takesParameters: true })) {
    if (kind !== "mark" || text !== "?") continue;
    filled += sql.slice(from, at) + literalOf(values.next().value ?? null);
    from = at + 1;
  }
  return filled + sql.slice(from);
}

function literalOf(value: SqlParameter): string {
  if (value === null) return " NULL ";
  if (typeof value !== "string") return ` ${value} `;
  return ` _utf8mb4 X'${Buffer.from(value).toString("hex")}' `;
}
