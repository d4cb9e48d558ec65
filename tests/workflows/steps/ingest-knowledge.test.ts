import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { installation } from "../../../src/db/tables/installation.ts";
import { files, vectorStoreFiles, vectorStores } from "../../../src/db/tables/knowledge.ts";
import { users } from "../../../src/db/tables/users.ts";
import { workflowMarks } from "../../../src/db/tables/workflows.ts";
import type { FileStore } from "../../../src/knowledge/files/files.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { ingestKnowledgeStep } from "../../../src/workflows/steps/ingest-knowledge.ts";
import type { CheckContext } from "../../../src/workflows/steps/step-kind.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { addFile, createFileStore } from "../../support/stages/knowledge/file-store.ts";
import { plainRowProcess } from "../../support/workflows/plain-row-process.ts";
import { runStep, type StepCase } from "../../support/workflows/step-stage.ts";

let database: Database;
let folder: string;
let store: FileStore;
let wakes = 0;

beforeAll(async () => {
  database = await openTestDatabase();
  folder = mkdtempSync(join(tmpdir(), "ingest-knowledge-"));
  store = createFileStore(database, folder);
  await database.db.insert(installation).values({ secretFingerprint: "of the tests" });
  for (const id of ["usr_1", "usr_2"]) {
    await database.db.insert(users).values({ id, username: id, passwordHash: "-", role: "user" });
  }
});
beforeEach(async () => {
  wakes = 0;
  await database.db.execute(
    sql`truncate files, vector_stores, outbox_events, workflow_marks cascade`,
  );
  for (const [id, ownerId] of [
    ["vs_own", "usr_1"],
    ["vs_foreign", "usr_2"],
  ] as const) {
    const row = { id, name: id, ownerId, embeddingModel: "m" };
    await database.db
      .insert(vectorStores)
      .values({ ...row, createdAt: new Date(), lastActiveAt: new Date() });
  }
});
afterAll(async () => {
  await database?.close();
  rmSync(folder, { recursive: true, force: true });
});

const kind = () =>
  ingestKnowledgeStep({
    ...{ database, clock: store.clock, files: store, rowProcess: plainRowProcess },
    stores: { wakeIngestion: () => (wakes += 1) },
  } as unknown as StepServices);
function ingest(settings: JsonObject, more: Partial<StepCase> = {}) {
  const run = { id: "run_9", ownerId: "usr_1", chain: [] };
  return runStep(kind(), {
    settings: { vector_store: "vs_own", ...settings },
    database,
    run,
    ...more,
  });
}
const inStore = () => database.db.select().from(vectorStoreFiles).orderBy(vectorStoreFiles.fileId);

describe("ingest_knowledge", () => {
  test("adds each row's text as a file of the owner, with attributes, in one batch that bears the run's mark", async () => {
    const rows = [
      { id: 1, body: "# One" },
      { id: 2, body: "# Two" },
    ];
    const settings = {
      text: "{{ row.body }}",
      filename: "a/{{ row.id }}.md",
      attributes: { id: "{{ row.id }}" },
    };
    const done = await ingest(settings, { rows });
    expect(done).toMatchObject({ committed: true, outputs: { main: rows } });
    const added = await inStore();
    expect(added.map(({ status, attributes }) => ({ status, attributes }))).toHaveLength(2);
    expect(added.map(({ attributes }) => attributes["id"]).sort()).toEqual(["1", "2"]);
    const stored = await database.db.select().from(files).orderBy(files.filename);
    expect(stored).toMatchObject([
      { filename: "a_1.md", ownerId: "usr_1", expiresAt: null, visibility: "private" },
      { filename: "a_2.md", ownerId: "usr_1", expiresAt: null },
    ]);
    expect(await readFile(store.originals.pathOf(stored[0]?.sha256 ?? ""), "utf8")).toBe("# One");
    const [batch] = new Set(added.map(({ batchId }) => batchId));
    expect(await database.db.select().from(workflowMarks)).toMatchObject([
      { kind: "knowledge", subject: batch, runId: "run_9", chain: ["wf_stage"] },
    ]);
    expect(wakes).toBe(1);
  });

  test("keeps the limits of the API: a row that the store would refuse is that row's error", async () => {
    const rows = [
      { id: 1, team: "nul \0 and half \ud83d", name: `${"n".repeat(254)}\u{1f600}.md` },
      { id: 2, team: "x".repeat(513), name: "2.md" },
      { id: 3, team: "y".repeat(512), name: "half \ud83d.md" },
    ];
    const settings = {
      text: "text {{ row.id }}",
      filename: "{{ row.name }}",
      attributes: { team: "{{ row.team }}" },
    };
    const done = await ingest(settings, { rows, onRowError: "skip" });
    expect(done).toMatchObject({
      ...{ committed: true, rowErrors: 1, outputs: { main: { length: 2 } } },
      firstRowError: { row: 2, code: "attribute_too_long" },
    });
    const teams = (await inStore()).map(({ attributes }) => attributes["team"]);
    expect(teams.sort()).toEqual(["nul  and half ", "y".repeat(512)]);
    const file = await addFile(store, "content");
    const ids = [{ file: "a\0b" }, { file: "" }, { file: file.id }];
    const byId = await ingest({ file_id: "{{ row.file }}" }, { rows: ids, onRowError: "skip" });
    expect(byId).toMatchObject({ rowErrors: 2, firstRowError: { code: "invalid_file_id" } });
    expect(await inStore()).toHaveLength(3);
  });

  test("adds files that exist, by the ids in the rows", async () => {
    const file = await addFile(store, "content");
    await ingest({ file_id: "{{ row.file }}" }, { rows: [{ file: file.id }] });
    expect(await inStore()).toMatchObject([{ fileId: file.id, status: "in_progress" }]);
    const foreign = await addFile(store, "other", { ownerId: "usr_2" });
    await expect(
      ingest({ file_id: "{{ row.file }}" }, { rows: [{ file: foreign.id }] }),
    ).rejects.toMatchObject({
      name: "StepFailure",
      code: "not_found",
    });
    expect(await inStore()).toHaveLength(1);
  });

  test("adds nothing when the step's transaction fails, and its files expire", async () => {
    const failing = {
      db: {
        transaction: (work: (transaction: unknown) => Promise<unknown>) =>
          database.db.transaction(async (transaction) => {
            await work(transaction);
            throw new Error("the run was taken over");
          }),
      },
    } as unknown as Database;
    const given = { rows: [{ a: 1 }], database: failing };
    await expect(ingest({ text: "x" }, given)).rejects.toThrow("taken over");
    expect(await inStore()).toEqual([]);
    expect(await database.db.select().from(workflowMarks)).toEqual([]);
    expect((await database.db.select().from(files))[0]?.expiresAt).not.toBeNull();
    expect(wakes).toBe(0);
  });

  test("refuses a store that the owner may not change, when saved and when run", async () => {
    const owner = { kind: "session", ownerId: "usr_1", role: "user" };
    for (const vector_store of ["vs_foreign", "vs_none"]) {
      const checked = await kind().check?.({ vector_store, text: "x" }, { owner } as CheckContext);
      expect(checked).toMatchObject([{ field: "vector_store" }]);
      await expect(ingest({ vector_store, text: "x" }, { rows: [{}] })).rejects.toMatchObject({
        name: "StepFailure",
      });
    }
    expect(
      await kind().check?.({ vector_store: "vs_own", text: "x" }, { owner } as CheckContext),
    ).toEqual([]);
  });

  test("rejects a row without its text, tells in a test, and wants a text or a file", async () => {
    const rows = [{ body: "a" }, {}];
    const done = await ingest({ text: "{{ row.body }}" }, { rows, onRowError: "skip" });
    expect([done.rowErrors, done.outputs.main]).toEqual([1, [{ body: "a" }]]);
    expect(await inStore()).toHaveLength(1);
    const told = await ingest({ text: "b" }, { rows, isTest: true });
    expect(told.told).toEqual(["would add 2 files to the vector store vs_own"]);
    expect(await database.db.select().from(files)).toHaveLength(1);
    expect(() => kind().schema.parse({ vector_store: "v" })).toThrow();
    expect(() => kind().schema.parse({ vector_store: "v", text: "a", file_id: "b" })).toThrow();
  });
});
