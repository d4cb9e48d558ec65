import { type SQL, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import type { DatasetColumn } from "../../db/tables/datasets.ts";
import type { CheckedRow } from "./check-rows.ts";
import { COLUMN_TYPES } from "./columns.ts";
import { columnList, type TableShape, tableOf } from "./dataset-tables.ts";

/** Rows with their numbers in a load. */
export interface NumberedRow {
  readonly number: number;
  readonly values: CheckedRow;
}

/** Rows as the relation `rows` in SQL: typed, with `_row`. One parameter, however many there are. */
export function rowsAsTable(columns: readonly DatasetColumn[], rows: readonly NumberedRow[]): SQL {
  const records = rows.map(({ number, values }) =>
    Object.fromEntries([["_row", number], ...values.map((value, index) => [`c${index}`, value])]),
  );
  const typed = columns.map(({ type }, index) => `c${index} ${COLUMN_TYPES[type]}`);
  const names = columns.map(
    ({ name }, index) => sql`c${sql.raw(String(index))} as ${sql.identifier(name)}`,
  );
  const json = JSON.stringify(records);
  return sql`(select _row, ${sql.join(names, sql`, `)}
    from json_to_recordset(${json}::text::json) as given(_row bigint, ${sql.raw(typed.join(", "))}))`;
}

/** Adds rows to the table of a load; with a key, later rows replace earlier ones with the same. */
export async function stageRows(
  db: Db,
  { table, columns, key }: TableShape & { readonly table: string },
  rows: readonly NumberedRow[],
): Promise<void> {
  const names = columnList(columns);
  const given = rowsAsTable(columns, rows);
  if (key.length === 0) {
    await db.execute(
      sql`insert into ${tableOf(table)} (_row, ${names}) select _row, ${names} from ${given} as rows`,
    );
    return;
  }
  const keys = columnList(key.map((name) => ({ name })));
  const set = [{ name: "_row" }, ...columns].map(({ name }) => {
    const column = sql.identifier(name);
    return sql`${column} = excluded.${column}`;
  });
  await db.execute(sql`
    insert into ${tableOf(table)} (_row, ${names})
    select distinct on (${keys}) _row, ${names} from ${given} as rows order by ${keys}, _row desc
    on conflict (${keys}) do update set ${sql.join(set, sql`, `)}`);
}

/** Condition that two relations have the same key. */
export function sameKey(key: readonly string[], left: SQL, right: SQL): SQL {
  const pairs = key.map((name) => {
    const column = sql.identifier(name);
    return sql`${left}.${column} = ${right}.${column}`;
  });
  return sql.join(pairs, sql` and `);
}
