import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MIGRATIONS = new URL("../../drizzle", import.meta.url);
const JOURNAL = "meta/_journal.json";
const BREAKPOINT = "--> statement-breakpoint";

interface Journal {
  entries: { readonly tag: string; readonly when: number }[];
}

export interface ChangedMigrations {
  readonly folder: string;
  readonly remove: () => void;
}

/** The statements of each of the program's migrations, in their order. */
export function migrationStatements(): readonly (readonly string[])[] {
  return readJournal().entries.map(({ tag }) =>
    readFileSync(new URL(`${MIGRATIONS.href}/${tag}.sql`), "utf8").split(BREAKPOINT),
  );
}

/** A copy of the program's migrations with other statements: one list a migration; fewer lists, fewer migrations. */
export function writeMigrations(statements: readonly (readonly string[])[]): ChangedMigrations {
  const folder = mkdtempSync(join(tmpdir(), "migrations-"));
  cpSync(MIGRATIONS, folder, { recursive: true });
  const journal = readJournal();
  journal.entries = journal.entries.slice(0, statements.length);
  for (const [index, { tag }] of journal.entries.entries()) {
    writeFileSync(join(folder, `${tag}.sql`), (statements[index] ?? []).join(`;${BREAKPOINT}`));
  }
  writeFileSync(join(folder, JOURNAL), JSON.stringify(journal));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

function readJournal(): Journal {
  return JSON.parse(readFileSync(new URL(`${MIGRATIONS.href}/${JOURNAL}`), "utf8"));
}
