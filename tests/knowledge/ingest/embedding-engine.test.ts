import { once } from "node:events";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { ServiceError } from "../../../src/core/service-error.ts";
import { createBatchEmbedder } from "../../../src/knowledge/ingest/embed-in-batches.ts";
import {
  type IngestStage,
  longText,
  openIngestStage,
} from "../../support/stages/knowledge/ingest-stage.ts";

const PATH = "/v1/embeddings";
let stage: IngestStage;

beforeAll(async () => {
  stage = await openIngestStage();
});
beforeEach(() => stage.simulator.reset());
afterAll(() => stage.close());

async function ingest(text: string) {
  const replica = await stage.startReplica();
  const store = await stage.createStore();
  const id = await stage.upload("file.txt", text);
  await stage.add(store, [id]);
  replica.ingestion.wake();
  await stage.untilEnded(store);
  await replica.close();
  return { store, id, file: await stage.fileOf(store, id) };
}

describe("an embedding engine", () => {
  test("that is unavailable for a while is waited for", async () => {
    stage.simulator.script({
      match: { path: PATH },
      times: 6,
      respond: { status: 503, body: { error: { message: "loading" } } },
    });
    const { file } = await ingest(longText(5));
    expect(file).toMatchObject({ status: "completed", errorCode: null });
  });

  test("that stays unavailable fails the file with a reason for people", async () => {
    const replica = await stage.startReplica({
      around: {
        embedder: () => ({
          async embedPassages() {
            throw new ServiceError("upstream_error", "The model server is not reachable.");
          },
        }),
      },
    });
    const store = await stage.createStore();
    const id = await stage.upload("file.txt", longText(5));
    await stage.add(store, [id]);
    replica.ingestion.wake();
    await stage.untilEnded(store);
    const file = await stage.fileOf(store, id);
    expect(file).toMatchObject({ status: "failed", errorCode: "server_error" });
    expect(file?.errorMessage).toBe("The model server is not reachable.");
    expect(await stage.reports(store)).toMatchObject([{ completed: 0, failed: 1 }]);
    await replica.close();
  });

  test("that answers 500 to one text fails the file after three tries from there", async () => {
    let tries = 0;
    const replica = await stage.startReplica({
      around: {
        readChunks: (real) => (file, signal) => {
          tries += 1;
          return real(file, signal);
        },
        embedder: (real) => ({
          async embedPassages(model, texts, signal) {
            if (texts.some((text) => text.includes("poison 99:"))) {
              throw new ServiceError("upstream_error", "The model server failed with 500.");
            }
            return real.embedPassages(model, texts, signal);
          },
        }),
      },
    });
    const store = await stage.createStore();
    const id = await stage.upload("file.txt", longText(120, "poison"));
    await stage.add(store, [id]);
    replica.ingestion.wake();
    await stage.untilEnded(store);
    const file = await stage.fileOf(store, id);
    expect(file).toMatchObject({ status: "failed", errorCode: "server_error" });
    expect(file?.chunksDone).toBeGreaterThan(0);
    expect(tries).toBe(3);
    await replica.close();
  });

  test("that takes few texts at a time gets few, and more again later", async () => {
    const most = 10;
    const sizes: number[] = [];
    const embedFirst = createBatchEmbedder({
      isBusy: () => false,
      scale: 0,
      embedder: {
        async embedPassages(_model, texts) {
          sizes.push(texts.length);
          if (texts.length > most) throw new ServiceError("request_too_large", "too many texts");
          return texts.map(() => new Float32Array([1]));
        },
      },
    });
    const { signal } = new AbortController();
    const texts = Array.from({ length: 64 }, () => "text");
    expect(await embedFirst("any", texts, signal)).toHaveLength(8);
    for (let request = 0; request < 16; request += 1) await embedFirst("any", texts, signal);
    expect(sizes.slice(0, 4)).toEqual([64, 32, 16, 8]);
    expect(sizes.filter((size) => size > most)).toHaveLength(4);
  });

  describe("that is slow", () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    /** Embeds texts on an engine that answers in time up to a number of them, and returns the sizes of the requests. */
    async function embedSlowly(most: number) {
      const sizes: number[] = [];
      const embedFirst = createBatchEmbedder({
        isBusy: () => false,
        scale: 0,
        embedder: {
          async embedPassages(_model, texts, signal) {
            sizes.push(texts.length);
            if (texts.length > most) {
              const late = once(signal, "abort");
              await vi.advanceTimersByTimeAsync(120_000);
              await late;
              throw signal.reason;
            }
            return texts.map(() => new Float32Array([1]));
          },
        },
      });
      const texts = Array.from({ length: 64 }, () => "text");
      const embedding = embedFirst("any", texts, new AbortController().signal);
      const [result] = await Promise.allSettled([embedding]);
      return { sizes, result };
    }

    test("gets fewer texts at a time", async () => {
      const { sizes, result } = await embedSlowly(20);
      expect(sizes).toEqual([64, 32, 16]);
      expect(result.status).toBe("fulfilled");
    });

    test("to a single text is waited for as one that is away, and the reason is for people", async () => {
      const { sizes, result } = await embedSlowly(0);
      expect(sizes).toEqual([64, 32, 16, 8, 4, 2, ...Array.from({ length: 9 }, () => 1)]);
      expect(result).toMatchObject({
        reason: { message: "The embedding engine did not answer within 120 s." },
      });
    });
  });

  test("gets fewer texts at a time while chat calls are in progress", async () => {
    let isBusy = true;
    const embedFirst = createBatchEmbedder({
      isBusy: () => isBusy,
      scale: 0,
      embedder: { embedPassages: async (_, texts) => texts.map(() => new Float32Array([1])) },
    });
    const { signal } = new AbortController();
    const texts = Array.from({ length: 64 }, () => "text");
    expect(await embedFirst("any", texts, signal)).toHaveLength(16);
    isBusy = false;
    expect(await embedFirst("any", texts, signal)).toHaveLength(64);
  });

  test("whose model reads less than a chunk gets the chunk's beginning", async () => {
    // More tokens than the model of 2,048 reads.
    const words = Array.from({ length: 2_400 }, (_, index) => `w${index % 10}`).join(" ");
    const replica = await stage.startReplica({
      environment: { RAG_CHUNK_SIZE: "20000", RAG_CHUNK_OVERLAP: "0" },
    });
    const store = await stage.createStore();
    const id = await stage.upload("long.txt", words);
    await stage.add(store, [id]);
    replica.ingestion.wake();
    await stage.untilEnded(store);
    const [chunk, ...others] = await stage.chunksOf(store, id);
    expect(others).toEqual([]);
    expect(chunk?.text).toBe(words);
    await replica.close();
  });

  test("that returns vectors of another length than the store's fails the file", async () => {
    const { store } = await ingest(longText(2));
    stage.simulator.script({ match: { path: PATH }, times: "always", dimensions: 64 });
    const replica = await stage.startReplica();
    const id = await stage.upload("other.txt", longText(2));
    await stage.add(store, [id]);
    replica.ingestion.wake();
    await stage.untilEnded(store);
    const file = await stage.fileOf(store, id);
    expect(file).toMatchObject({ status: "failed", errorCode: "server_error" });
    expect(file?.errorMessage).toContain("length 64");
    expect(file?.errorMessage).toContain("Reindex");
    await replica.close();
  });

  test("gets one request at a time while chat calls are in progress", async () => {
    let running = 0;
    let most = 0;
    const replica = await stage.startReplica({
      isBusy: () => true,
      around: {
        embedder: (real) => ({
          async embedPassages(...call) {
            running += 1;
            most = Math.max(most, running);
            const vectors = await real.embedPassages(...call);
            running -= 1;
            return vectors;
          },
        }),
      },
    });
    const store = await stage.createStore();
    const ids = [
      await stage.upload("a.txt", longText(150, "a")),
      await stage.upload("b.txt", longText(150, "b")),
    ];
    await stage.add(store, ids);
    replica.ingestion.wake();
    await stage.untilEnded(store);
    expect(most).toBe(1);
    await replica.close();
  });

  test("that hangs holds nothing up when the server stops", async () => {
    stage.simulator.script({ match: { path: PATH }, times: "always", stall: { at: "headers" } });
    const replica = await stage.startReplica();
    const store = await stage.createStore();
    const id = await stage.upload("file.txt", longText(2));
    await stage.add(store, [id]);
    replica.ingestion.wake();
    await stage.simulator.awaitEntry(({ path }) => path === PATH);
    await replica.close();
    expect(await stage.fileOf(store, id)).toMatchObject({ status: "in_progress" });
    stage.simulator.reset();
    const next = await stage.startReplica();
    next.ingestion.wake();
    await vi.waitFor(async () => {
      expect(await stage.fileOf(store, id)).toMatchObject({ status: "completed" });
    }, 30_000);
    await next.close();
  });
});
