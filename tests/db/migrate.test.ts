import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { migrate, SchemaTooNewError } from "../../src/db/migrate.ts";
import { openEmptyDatabase } from "../support/servers/databases/test-database.ts";

const open: Database[] = [];
const folders: string[] = [];

async function emptyDatabase(): Promise<Database> {
  const database = await openEmptyDatabase();
  open.push(database);
  return database;
}

async function tables({ db }: Database): Promise<string[]> {
  const rows = await db.execute<{ name: string }>(
    sql`select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  );
  return rows.map((row) => row.name);
}

/** A copy of the program's migrations with one more, of a later release. */
function laterMigrations(statements: string): string {
  const folder = mkdtempSync(join(tmpdir(), "migrations-"));
  folders.push(folder);
  cpSync(new URL("../../drizzle", import.meta.url), folder, { recursive: true });
  const path = join(folder, "meta/_journal.json");
  const journal = JSON.parse(readFileSync(path, "utf8"));
  journal.entries.push({
    idx: journal.entries.length,
    version: "7",
    when: journal.entries.at(-1).when + 1_000,
    tag: "later",
    breakpoints: true,
  });
  writeFileSync(path, JSON.stringify(journal));
  writeFileSync(join(folder, "later.sql"), statements);
  return folder;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

describe("migrations at start", () => {
  it("bring an empty database to the latest schema, and change nothing the second time", async () => {
    const database = await emptyDatabase();
    await migrate(database);
    const made = await tables(database);
    await migrate(database);
    expect(made).toEqual(await tables(database));
    expect(made).toEqual([
      "alert_suppressions",
      "api_keys",
      "assistants",
      "audit_log",
      "bi_keys",
      "bi_statements",
      "bi_statements_other",
      "bootstrap_keys",
      "change_counters",
      "chats",
      "chunks",
      "connections",
      "datasets",
      "deleted_api_keys",
      "files",
      "former_api_keys",
      "identities",
      "installation",
      "journal_checkpoints",
      "latency_hours",
      "limit_refusals",
      "login_failures",
      "mcp_server_tools",
      "mcp_servers",
      "model_hours",
      "outbox_events",
      "service_tokens",
      "session_months",
      "sessions",
      "uploaded_license",
      "usage_days",
      "usage_hours",
      "usage_months",
      "usage_records",
      "usage_records_other",
      "usage_slots",
      "users",
      "vector_store_file_batches",
      "vector_store_files",
      "vector_stores",
      "watched_files",
      "watched_folders",
      "workflow_active_runs",
      "workflow_facts",
      "workflow_facts_other",
      "workflow_marks",
      "workflow_queues",
      "workflow_rows",
      "workflow_rows_other",
      "workflow_runs",
      "workflow_runs_other",
      "workflow_schedules",
      "workflow_secrets",
      "workflow_steps",
      "workflow_steps_other",
      "workflow_versions",
      "workflows",
    ]);
  });

  it("give each foreign key an index, so that what it refers to is deleted without reading the whole table", async () => {
    const database = await emptyDatabase();
    await migrate(database);
    const unindexed = await database.db.execute<{ name: string }>(sql`
      select conrelid::regclass::text as name from pg_constraint
      where contype = 'f' and connamespace = 'public'::regnamespace and not exists (
        select from pg_index
        where indrelid = conrelid and indpred is null
          and (indkey::int2[])[0:cardinality(conkey) - 1] @> conkey
      )
      order by 1`);
    // These have few rows: they are kept by hand.
    expect(unindexed.map(({ name }) => name)).toEqual(["assistants", "connections", "mcp_servers"]);
  });

  it("refuse a database that a newer release has migrated, and leave it alone", async () => {
    const database = await emptyDatabase();
    await migrate(database, laterMigrations("create table later (id int);"));
    await expect(migrate(database)).rejects.toThrow(SchemaTooNewError);
    expect(await tables(database)).toContain("later");
  });

  it("leave the schema as it was when one statement fails, and complete at the next start", async () => {
    const database = await emptyDatabase();
    const broken =
      "create table later (id int);\n--> statement-breakpoint\ncreate table later (id int);";
    await expect(migrate(database, laterMigrations(broken))).rejects.toThrow();
    expect(await tables(database)).toEqual([]);
    await migrate(database);
    expect(await tables(database)).toContain("api_keys");
  });
});
