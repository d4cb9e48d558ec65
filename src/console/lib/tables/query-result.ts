/** The result of `query_sql`: a sentence about it, the names of the columns, and a line of JSON for each row. */

export interface QueryResult {
  /** How many rows there are, and whether there are more. */
  readonly note: string;
  readonly columns: readonly string[];
  readonly rows: ReadonlyArray<readonly unknown[]>;
}

/** Reads a result; undefined for a text of another form. */
export function readQueryResult(text: string): QueryResult | undefined {
  const [note, head, ...lines] = text.split("\n");
  const columns = readLine(head);
  if (note === undefined || columns === undefined) return undefined;
  const rows: unknown[][] = [];
  for (const line of lines) {
    const row = readLine(line);
    if (row === undefined) return undefined;
    rows.push(row);
  }
  return { note, columns: columns.map(String), rows };
}

function readLine(line: string | undefined): unknown[] | undefined {
  if (line === undefined || !line.startsWith("[")) return undefined;
  try {
    const read: unknown = JSON.parse(line);
    return Array.isArray(read) ? read : undefined;
  } catch {
    return undefined;
  }
}
