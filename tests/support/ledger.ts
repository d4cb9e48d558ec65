import type { LedgerEntry } from "../../simulator/ledger.ts";

/** What the comparison reads of a usage row; further fields may stand beside. */
export interface UsageRow {
  readonly id: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly outcome: string;
  readonly model?: string;
}

interface WrongRow {
  readonly entry: LedgerEntry;
  readonly row: UsageRow;
  readonly field: "inputTokens" | "outputTokens" | "model" | "outcome";
}

export interface LedgerComparison {
  readonly matched: number;
  /** Requests the simulator saw that no row tells of. */
  readonly missing: readonly LedgerEntry[];
  /** Rows beyond the first with the same id, or for the same request. */
  readonly duplicate: readonly UsageRow[];
  /** Rows for which the simulator saw no request. */
  readonly unexpected: readonly UsageRow[];
  readonly wrong: readonly WrongRow[];
}

export interface ComparisonOptions {
  /** The ledger entry's id for a row, where the test knows it. */
  readonly entryIdOf?: (row: UsageRow) => string | undefined;
  /** A refused call may have been tried again: its entry needs no row of its own. */
  readonly hasRetries?: boolean;
}

const chatPaths: ReadonlySet<string> = new Set(["/v1/chat/completions", "/api/chat"]);

/**
 * Compares what the simulator saw with the usage rows, both of chat only. A pair is found by the entry's id where
 * the test gives it, else by the told figures, which are unique with the simulator's `uniqueUsage`; what was told
 * no figures is paired with the rows that are left, in their order, and its figures are not compared.
 */
export function compareLedger(
  entries: readonly LedgerEntry[],
  rows: readonly UsageRow[],
  { entryIdOf, hasRetries = false }: ComparisonOptions = {},
): LedgerComparison {
  const pairing = new Pairing(entries, rows);
  if (entryIdOf) pairing.pair((entry, row) => entryIdOf(row) === entry.id);
  pairing.pairByKey(({ told }) => told && figures(told), figures);
  pairing.pairByKey(
    ({ told }) => told && String(told.inputTokens),
    (row) => String(row.inputTokens),
  );
  pairing.findDuplicates();
  pairing.pair((entry, row) => !entry.told && row.outcome !== "ok");
  pairing.pair((entry) => !entry.told);
  const isOptional = (entry: LedgerEntry) => hasRetries && (entry.status ?? 0) >= 400;
  return {
    matched: pairing.pairs.length,
    missing: [...pairing.entries].filter((entry) => !isOptional(entry)),
    duplicate: pairing.duplicate,
    unexpected: [...pairing.rows],
    wrong: pairing.pairs.flatMap(([entry, row]) => wrongFields(entry, row)),
  };
}

function figures(of: { readonly inputTokens: number; readonly outputTokens: number }): string {
  return `${of.inputTokens} ${of.outputTokens}`;
}

class Pairing {
  readonly entries: Set<LedgerEntry>;
  readonly rows: Set<UsageRow>;
  readonly pairs: [LedgerEntry, UsageRow][] = [];
  readonly duplicate: UsageRow[] = [];

  constructor(entries: readonly LedgerEntry[], rows: readonly UsageRow[]) {
    this.entries = new Set(
      entries.filter(({ method, path }) => method === "POST" && chatPaths.has(path)),
    );
    this.rows = new Set();
    const seen = new Set<string>();
    for (const row of rows) {
      if (seen.has(row.id)) this.duplicate.push(row);
      else this.rows.add(row);
      seen.add(row.id);
    }
  }

  pair(fits: (entry: LedgerEntry, row: UsageRow) => boolean): void {
    for (const entry of this.entries) {
      for (const row of this.rows) {
        if (!fits(entry, row)) continue;
        this.#take(entry, row);
        break;
      }
    }
  }

  pairByKey(
    entryKey: (entry: LedgerEntry) => string | undefined,
    rowKey: (row: UsageRow) => string,
  ): void {
    const byKey = new Map<string, UsageRow[]>();
    for (const row of this.rows) byKey.set(rowKey(row), [...(byKey.get(rowKey(row)) ?? []), row]);
    for (const entry of this.entries) {
      const row = byKey.get(entryKey(entry) ?? "")?.shift();
      if (row) this.#take(entry, row);
    }
  }

  /** Rows left over that tell the figures of a row already paired. */
  findDuplicates(): void {
    const paired = new Set(this.pairs.flatMap(([{ told }]) => (told ? [figures(told)] : [])));
    for (const row of this.rows) {
      if (!paired.has(figures(row))) continue;
      this.rows.delete(row);
      this.duplicate.push(row);
    }
  }

  #take(entry: LedgerEntry, row: UsageRow): void {
    this.entries.delete(entry);
    this.rows.delete(row);
    this.pairs.push([entry, row]);
  }
}

function wrongFields(entry: LedgerEntry, row: UsageRow): WrongRow[] {
  const { told } = entry;
  const fields: WrongRow["field"][] = [];
  if (told && told.inputTokens !== row.inputTokens) fields.push("inputTokens");
  if (told && told.outputTokens !== row.outputTokens) fields.push("outputTokens");
  const plain = (name: string) => name.replace(/:latest$/, "");
  const isOtherModel =
    row.model !== undefined && entry.model !== undefined && plain(row.model) !== plain(entry.model);
  if (isOtherModel) fields.push("model");
  const wasCut = entry.end === "reset" || entry.end === "fin" || entry.end === "cut";
  if (row.outcome === "ok" && (wasCut || (entry.status ?? 0) >= 400)) fields.push("outcome");
  return fields.map((field) => ({ entry, row, field }));
}
