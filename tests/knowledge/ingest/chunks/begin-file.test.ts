import { afterAll, beforeAll, expect, test } from "vitest";
import { chunks } from "../../../../src/db/tables/knowledge.ts";
import { beginFile } from "../../../../src/knowledge/ingest/chunks/store-chunks.ts";
import { readTarget } from "../../../../src/knowledge/ingest/ingestion-target.ts";
import { ClaimLost } from "../../../../src/queue/topic.ts";
import {
  type IngestStage,
  openIngestStage,
} from "../../../support/stages/knowledge/ingest-stage.ts";
import { chunkRow } from "../../../support/stages/knowledge/store-stage.ts";

let stage: IngestStage;

beforeAll(async () => {
  stage = await openIngestStage();
});
afterAll(() => stage.close());

test("a worker whose claim is lost deletes no chunks of the one that has it", async () => {
  const { db } = stage.database;
  const storeId = await stage.createStore();
  const fileId = await stage.upload("a.txt", "any");
  await stage.add(storeId, [fileId]);
  const target = await readTarget(db, { vectorStoreId: storeId, fileId, generation: 1 });
  if (target === undefined) throw new Error("there is nothing to do");
  // The other worker stores its first chunk after this one has read what there is to do.
  await db.insert(chunks).values(chunkRow({ storeId, fileId, text: "stored", position: 0 }));
  const found = { position: 0, text: "other", heading: null, page: null, sheet: null };
  const begin = (confirm: () => Promise<void>) =>
    beginFile({ db, target, checkpoint: confirm, confirm }, [found]);
  const lost = async () => {
    throw new ClaimLost("The claim is lost.");
  };
  await expect(begin(lost)).rejects.toBeInstanceOf(ClaimLost);
  expect(await stage.chunksOf(storeId, fileId)).toHaveLength(1);
  expect(await stage.fileOf(storeId, fileId)).toMatchObject({ chunksTotal: null });
  expect(await begin(async () => undefined)).toBe(0);
  expect(await stage.chunksOf(storeId, fileId)).toEqual([]);
});
