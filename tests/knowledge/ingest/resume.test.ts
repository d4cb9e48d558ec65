import { once } from "node:events";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Embedder } from "../../../src/knowledge/embed-texts.ts";
import { faultRandom } from "../../support/faults/fault-random.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import {
  type IngestStage,
  longText,
  openIngestStage,
} from "../../support/stages/knowledge/ingest-stage.ts";

let stage: IngestStage;
let undisturbed: readonly string[];
const TEXT = longText(300);

beforeAll(async () => {
  stage = await openIngestStage();
  const replica = await stage.startReplica();
  const store = await stage.createStore();
  const id = await stage.upload("whole.txt", TEXT);
  await stage.add(store, [id]);
  replica.ingestion.wake();
  await stage.untilEnded(store);
  undisturbed = (await stage.chunksOf(store, id)).map(chunkLine);
  await replica.close();
});
afterAll(() => stage.close());

function chunkLine(chunk: { position: number; text: string; embedding: number[] }): string {
  return `${chunk.position} ${chunk.text} ${chunk.embedding.join()}`;
}

/** Calls `interrupt` before the embedding request of this number. */
function interrupting(number: number, interrupt: () => void) {
  let requests = 0;
  return (real: Embedder) => ({
    embedPassages(...call: Parameters<Embedder["embedPassages"]>) {
      requests += 1;
      if (requests === number) interrupt();
      return real.embedPassages(...call);
    },
  });
}

/** Does not go on from the embedding request of this number, until the worker is closed. */
function stoppingAt(number: number, onStop: () => void) {
  let requests = 0;
  return (real: Embedder) => ({
    async embedPassages(...call: Parameters<Embedder["embedPassages"]>) {
      requests += 1;
      if (requests < number) return real.embedPassages(...call);
      onStop();
      const [, , signal] = call;
      if (!signal.aborted) await once(signal, "abort");
      throw signal.reason;
    },
  });
}

/** The leases of workers that are gone end now. */
const endLeases = () =>
  stage.database.db.execute(
    sql`update outbox_events set lease_until = now() - interval '1 s' where lease_until is not null`,
  );

describe("an interrupted ingestion", () => {
  test("continues with the first chunk that is not stored, and ends like an undisturbed one", async () => {
    const random = faultRandom("ingestion, interrupted");
    const store = await stage.createStore();
    const id = await stage.upload("whole.txt", TEXT);
    await stage.add(store, [id]);
    let embedded = 0;
    const count = (real: Embedder) => ({
      async embedPassages(...call: Parameters<Embedder["embedPassages"]>) {
        const vectors = await real.embedPassages(...call);
        embedded += vectors.length;
        return vectors;
      },
    });
    for (let cycle = 0; cycle < trialSize(3, 20); cycle += 1) {
      const number = 1 + Math.floor(random() * 3);
      let interrupted: () => void = () => undefined;
      const isInterrupted = new Promise<void>((resolve) => {
        interrupted = resolve;
      });
      const replica = await stage.startReplica({
        around: {
          embedder: (real) => interrupting(number, interrupted)({ ...real, ...count(real) }),
        },
      });
      replica.ingestion.wake();
      await Promise.race([isInterrupted, stage.untilEnded(store)]);
      await replica.close();
      await endLeases();
    }
    const last = await stage.startReplica();
    last.ingestion.wake();
    await stage.untilEnded(store);
    await last.close();
    expect(await stage.fileOf(store, id)).toMatchObject({ status: "completed" });
    expect((await stage.chunksOf(store, id)).map(chunkLine)).toEqual(undisturbed);
    // Batches that were embedded and not stored are at most one for each interruption.
    expect(embedded).toBeLessThanOrEqual(undisturbed.length + trialSize(3, 20) * 64);
    expect(await stage.reports(store)).toHaveLength(1);
  });

  test("never stores a chunk twice while a worker without a lease still works beside the new one", async () => {
    const store = await stage.createStore();
    const ids = await Promise.all(
      ["a", "b", "c"].map((name) => stage.upload(`${name}.txt`, longText(120, name))),
    );
    await stage.add(store, ids);
    const replicas = [await stage.startReplica(), await stage.startReplica()];
    for (const { ingestion } of replicas) ingestion.wake();
    for (let round = 0; round < 3; round += 1) {
      await endLeases();
      for (const { ingestion } of replicas) ingestion.wake();
    }
    await stage.untilEnded(store);
    for (const id of ids) {
      const file = await stage.fileOf(store, id);
      expect(file?.status).toBe("completed");
      expect(await stage.chunksOf(store, id)).toHaveLength(file?.chunksTotal ?? -1);
    }
    expect(await stage.reports(store)).toMatchObject([{ completed: 3, failed: 0 }]);
    await Promise.all(replicas.map((replica) => replica.close()));
  });

  test("begins again when chunks that it had stored are gone", async () => {
    const store = await stage.createStore();
    const id = await stage.upload("whole.txt", TEXT);
    await stage.add(store, [id]);
    let removed: Promise<unknown> | undefined;
    const replica = await stage.startReplica({
      around: {
        embedder: interrupting(4, () => {
          removed = Promise.resolve(
            stage.database.db.execute(
              sql`delete from chunks where file_id = ${id} and position = 3`,
            ),
          );
        }),
      },
    });
    replica.ingestion.wake();
    await stage.untilEnded(store);
    await removed;
    expect((await stage.chunksOf(store, id)).map(chunkLine)).toEqual(undisturbed);
    await replica.close();
  });

  test("begins again when the settings of splitting have changed in between", async () => {
    const store = await stage.createStore();
    const id = await stage.upload("whole.txt", TEXT);
    await stage.add(store, [id]);
    let interrupted: () => void = () => undefined;
    const isInterrupted = new Promise<void>((resolve) => {
      interrupted = resolve;
    });
    const first = await stage.startReplica({
      environment: { RAG_CHUNK_SIZE: "300", RAG_CHUNK_OVERLAP: "0" },
      around: { embedder: stoppingAt(3, () => interrupted()) },
    });
    first.ingestion.wake();
    await isInterrupted;
    await first.close();
    await endLeases();
    const second = await stage.startReplica();
    second.ingestion.wake();
    await stage.untilEnded(store);
    expect((await stage.chunksOf(store, id)).map(chunkLine)).toEqual(undisturbed);
    await second.close();
  });
});
