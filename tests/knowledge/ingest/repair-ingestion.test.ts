import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import { fileBatches } from "../../../src/db/tables/knowledge.ts";
import { createFolderBatch } from "../../../src/knowledge/ingest/ingestion-jobs.ts";
import { repairIngestion } from "../../../src/knowledge/ingest/repair-ingestion.ts";
import { type IngestStage, openIngestStage } from "../../support/stages/knowledge/ingest-stage.ts";

let stage: IngestStage;

beforeAll(async () => {
  stage = await openIngestStage();
});
afterAll(() => stage.close());

/** A batch of a folder whose files no worker has listed. */
async function newFolderBatch(): Promise<{ store: string; batch: string }> {
  const store = await stage.createStore();
  const folder = { vectorStoreId: store, fileConnection: "workspace", glob: "**" };
  const batch = await withTransaction(stage.database.db, (transaction) =>
    createFolderBatch(transaction, folder, Date.now()),
  );
  return { store, batch };
}

/** The listing jobs of a batch that wait, and those that were given up. */
async function listingsOf(batch: string) {
  const rows = await stage.database.db.execute<{ dead: boolean }>(sql`
    select dead_at is not null as dead from outbox_events
    where kind = 'folder' and body ->> 'batchId' = ${batch} and delivered_at is null`);
  return {
    waiting: rows.filter(({ dead }) => !dead).length,
    dead: rows.filter(({ dead }) => dead).length,
  };
}

const ofBatch = (batch: string) => sql`kind = 'folder' and body ->> 'batchId' = ${batch}`;

describe("the listing of a folder", () => {
  test("that was given up ends its batch, which is reported once", async () => {
    const { db } = stage.database;
    const { store, batch } = await newFolderBatch();
    await db.execute(sql`update outbox_events set dead_at = now() where ${ofBatch(batch)}`);
    await repairIngestion(db, Date.now());
    await repairIngestion(db, Date.now());
    const [row] = await db.select().from(fileBatches).where(eq(fileBatches.id, batch));
    expect(row?.listedAt).toBeInstanceOf(Date);
    expect(row?.reportedAt).toBeInstanceOf(Date);
    expect(await stage.reports(store)).toEqual([
      expect.objectContaining({ batch_id: batch, completed: 0, failed: 0, cancelled: 0 }),
    ]);
    expect(await listingsOf(batch)).toEqual({ waiting: 0, dead: 1 });
  });

  test("whose job is lost gets a new one, and one that waits is left as it is", async () => {
    const { db } = stage.database;
    const { batch } = await newFolderBatch();
    await repairIngestion(db, Date.now());
    expect(await listingsOf(batch)).toEqual({ waiting: 1, dead: 0 });
    await db.execute(sql`delete from outbox_events where ${ofBatch(batch)}`);
    await repairIngestion(db, Date.now());
    await repairIngestion(db, Date.now());
    expect(await listingsOf(batch)).toEqual({ waiting: 1, dead: 0 });
    const [row] = await db.select().from(fileBatches).where(eq(fileBatches.id, batch));
    expect(row?.listedAt).toBeNull();
  });
});
