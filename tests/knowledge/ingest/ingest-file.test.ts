import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileBatches, vectorStoreFiles } from "../../../src/db/tables/knowledge.ts";
import { newBatchId } from "../../../src/knowledge/ingest/ingestion-jobs.ts";
import {
  type IngestStage,
  longText,
  openIngestStage,
} from "../../support/stages/knowledge/ingest-stage.ts";

let stage: IngestStage;

beforeAll(async () => {
  stage = await openIngestStage();
});
afterAll(() => stage.close());

describe("a small folder's files", () => {
  test("are read, split, embedded and stored whole, and reported once as a batch", async () => {
    const { ingestion, close } = await stage.startReplica();
    const store = await stage.createStore();
    const ids = [
      await stage.upload("report.txt", longText(40, "report")),
      await stage.upload(
        "notes.md",
        `# Pumps\n\nThe pump E-4711 leaks.\n\n## Repair\n\n${longText(3)}`,
      ),
      await stage.upload("parts.csv", "Name,Price\nBolt,5\nNut,3\n"),
      await stage.upload("picture.bin", new Uint8Array([0, 1, 2, 255, 0, 0, 7])),
    ];
    const batch = await stage.add(store, ids);
    ingestion.wake();
    await stage.untilEnded(store);
    const [report, notes, parts, picture] = await Promise.all(
      ids.map((id) => stage.fileOf(store, id)),
    );
    expect(report).toMatchObject({ status: "completed", generation: 1, errorCode: null });
    expect(report?.chunksDone).toBe(report?.chunksTotal);
    expect(notes?.status).toBe("completed");
    expect(parts?.status).toBe("completed");
    expect(picture).toMatchObject({ status: "failed", errorCode: "unsupported_file" });
    const chunks = await stage.chunksOf(store, ids[0] ?? "");
    expect(chunks.length).toBeGreaterThan(30);
    expect(chunks.map(({ position }) => position)).toEqual(chunks.map((_, index) => index));
    for (const { embedding } of chunks) {
      expect(embedding).toHaveLength(256);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
    }
    const bytes = chunks.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 256 * 4, 0);
    expect(report?.usageBytes).toBe(bytes);
    const headings = (await stage.chunksOf(store, ids[1] ?? "")).map(({ heading }) => heading);
    expect(new Set(headings)).toEqual(new Set(["Pumps", "Pumps > Repair"]));
    expect(await stage.storeOf(store)).toMatchObject({ dimensions: 256, version: 3 });
    expect(await stage.reports(store)).toEqual([
      {
        vector_store_id: store,
        vector_store_name: "a store",
        batch_id: batch,
        file_id: null,
        completed: 3,
        failed: 1,
        cancelled: 0,
      },
    ]);
    await close();
  });
});

describe("a file that a later batch takes over while it is read", () => {
  test.each([
    ["completed", "The pump runs at night.", { completed: 1, failed: 0 }],
    ["failed", " ", { completed: 0, failed: 1 }],
  ])("is reported with that batch as soon as it is %s", async (_, text, counts) => {
    const store = await stage.createStore();
    const id = await stage.upload("a.txt", text);
    const later = newBatchId();
    const takeOver = async () => {
      const { db } = stage.database;
      await db.insert(fileBatches).values({ id: later, vectorStoreId: store });
      const isMeant = eq(vectorStoreFiles.vectorStoreId, store);
      await db.update(vectorStoreFiles).set({ batchId: later }).where(isMeant);
    };
    const { ingestion, close } = await stage.startReplica({
      around: {
        readChunks:
          (real) =>
          async (...call) => {
            await takeOver();
            return real(...call);
          },
      },
    });
    await stage.add(store, [id]);
    ingestion.wake();
    await stage.untilEnded(store);
    expect(await stage.reports(store)).toMatchObject([{ batch_id: later, ...counts }]);
    await close();
  });
});
