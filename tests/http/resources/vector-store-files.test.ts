import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileBatches } from "../../../src/db/tables/knowledge.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import {
  openStoreStage,
  type Person,
  type StoreStage,
} from "../../support/stages/knowledge/store-stage.ts";

const DATABASES = [
  ["PostgreSQL", databaseServerUrl],
  ["the embedded database", undefined],
] as const;
const PATH = "/v1/vector_stores";

describe.each(DATABASES)("the files of /v1/vector_stores on %s", (name, serverUrl) => {
  let stage: StoreStage;
  let owner: Person;
  let other: Person;
  const isMissing = name === "PostgreSQL" && serverUrl === undefined;

  beforeAll(async () => {
    if (isMissing) return;
    stage = await openStoreStage(serverUrl);
    ({ owner, other } = stage);
  }, 180_000);
  afterAll(() => stage?.close());

  const createStore = async (count = 0) => {
    const files: string[] = [];
    for (let made = 0; made < count; made += 1) files.push(await stage.addFile(owner));
    const store = await owner.openai.vectorStores.create({ name: "manuals" });
    return { id: store.id, files };
  };
  const post = (path: string, body: unknown, person = owner) =>
    person.call({ method: "POST", path: `${PATH}/${path}`, body });
  /** The files that jobs were stored for, and the batches to be settled. */
  const jobsOf = (storeId: string) =>
    stage.inDatabase((db) =>
      db.execute<{ kind: string; body: Record<string, unknown> }>(
        sql`select kind, body from outbox_events where sink like 'ingest%'
          and (body->>'vectorStoreId' = ${storeId}
            or body->>'batchId' in (select id from vector_store_file_batches where vector_store_id = ${storeId}))
          order by created_at, id`,
      ),
    );

  describe.skipIf(isMissing)("one by one", () => {
    it("are added, shown, changed and taken out by the official client", async () => {
      const { id, files } = await createStore(1);
      const [file = ""] = files;
      const api = owner.openai.vectorStores.files;
      const added = await api.create(id, {
        file_id: file,
        attributes: { department: "sales", year: 2026, final: true },
        chunking_strategy: {
          type: "static",
          static: { max_chunk_size_tokens: 300, chunk_overlap_tokens: 150 },
        },
      });
      expect(added).toEqual({
        id: file,
        object: "vector_store.file",
        created_at: expect.any(Number),
        vector_store_id: id,
        usage_bytes: 0,
        status: "in_progress",
        last_error: null,
        attributes: { department: "sales", year: 2026, final: true },
        chunking_strategy: {
          type: "static",
          static: { max_chunk_size_tokens: 300, chunk_overlap_tokens: 150 },
        },
        ext: {
          filename: "manual.md",
          bytes: 10,
          progress: { chunks_done: 0, chunks_total: null },
        },
      });
      expect(await jobsOf(id)).toEqual([
        { kind: "file", body: { vectorStoreId: id, fileId: file, generation: 1 } },
      ]);
      const polled = await api.retrieve(file, { vector_store_id: id }).withResponse();
      expect(polled.data).toEqual(added);
      expect(polled.response.headers.get("openai-poll-after-ms")).toBe("500");
      await stage.setFile(id, file, { chunksDone: 3, chunksTotal: 8 });
      expect(await api.retrieve(file, { vector_store_id: id })).toMatchObject({
        ext: { progress: { chunks_done: 3, chunks_total: 8 } },
      });
      await stage.complete(id, file, ["one", "two"]);
      const completed = await api.poll(id, file);
      expect(completed).toMatchObject({ status: "completed", usage_bytes: 100 });
      const changed = await api.update(file, { vector_store_id: id, attributes: { year: 2027 } });
      expect(changed).toEqual({ ...completed, attributes: { year: 2027 } });
      const gone = { id: file, object: "vector_store.file.deleted", deleted: true };
      expect(await api.delete(file, { vector_store_id: id })).toEqual(gone);
      const path = `${PATH}/${id}/files/${file}`;
      for (const rest of ["", "/content"]) {
        expect(await owner.call({ path: path + rest })).toMatchObject({ status: 404 });
      }
      expect(await owner.call({ method: "DELETE", path })).toMatchObject({ status: 404 });
    });

    it("show their texts in order once they are completed", async () => {
      const { id, files } = await createStore(1);
      const [file = ""] = files;
      await owner.openai.vectorStores.files.create(id, { file_id: file });
      const read = () => owner.openai.vectorStores.files.content(file, { vector_store_id: id });
      expect((await read()).data).toEqual([]);
      // More than one query reads.
      const texts = [...Array(1_203).keys()].map((place) => `text ${place}`);
      await stage.complete(id, file, texts);
      const content = await read();
      expect(content.object).toBe("vector_store.file_content.page");
      expect(content.data).toEqual(texts.map((text) => ({ type: "text", text })));
      expect(content.hasNextPage()).toBe(false);
    });

    it("show why they failed", async () => {
      const { id, files } = await createStore(1);
      const [file = ""] = files;
      await owner.openai.vectorStores.files.create(id, { file_id: file });
      const error = { errorCode: "unsupported_file", errorMessage: "It has no text." } as const;
      await stage.setFile(id, file, { status: "failed", ...error });
      expect(await owner.openai.vectorStores.files.poll(id, file)).toMatchObject({
        status: "failed",
        last_error: { code: "unsupported_file", message: "It has no text." },
      });
      expect(await owner.openai.vectorStores.retrieve(id)).toMatchObject({
        status: "completed",
        file_counts: { failed: 1, total: 1 },
      });
    });

    it("are listed exactly, in both orders, by status", async () => {
      const { id, files } = await createStore(25);
      await owner.openai.vectorStores.fileBatches.create(id, { file_ids: files });
      const done = files.slice(0, 7);
      for (const file of done) await stage.complete(id, file, ["a text"]);
      const read = async (query: object) => {
        const listed: string[] = [];
        for await (const file of owner.openai.vectorStores.files.list(id, query)) {
          listed.push(file.id);
        }
        return listed;
      };
      const ascending = await read({ order: "asc", limit: 4 });
      expect([...ascending].sort()).toEqual([...files].sort());
      expect(await read({ order: "desc", limit: 100 })).toEqual([...ascending].reverse());
      expect((await read({ filter: "completed", limit: 2 })).sort()).toEqual([...done].sort());
      expect(await read({ filter: "failed" })).toEqual([]);
      for (const query of ["filter=done", "limit=101", "after=file-unknown"]) {
        const answer = await owner.call({ path: `${PATH}/${id}/files?${query}` });
        expect(answer).toMatchObject({ status: 400 });
      }
    });

    it("are read again only when they failed or are to be split in another way", async () => {
      const { id, files } = await createStore(1);
      const [file_id = ""] = files;
      const api = owner.openai.vectorStores.files;
      await api.create(id, { file_id });
      const jobs = async () => (await jobsOf(id)).length;
      await api.create(id, { file_id, attributes: { year: 1 } });
      expect(await jobs()).toBe(1);
      await stage.complete(id, file_id, ["a text"]);
      const again = await api.create(id, { file_id, attributes: { year: 2 } });
      expect(again).toMatchObject({ status: "completed", attributes: { year: 2 } });
      expect(await jobs()).toBe(1);
      const chunking_strategy = {
        type: "static",
        static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 },
      } as const;
      const split = await api.create(id, { file_id, chunking_strategy });
      expect(split).toMatchObject({ status: "in_progress", usage_bytes: 0, chunking_strategy });
      expect(await jobs()).toBe(2);
      await stage.setFile(id, file_id, {
        status: "failed",
        errorCode: "server_error",
        errorMessage: "no engine",
      });
      const retried = await api.create(id, { file_id });
      expect(retried).toMatchObject({ status: "in_progress", last_error: null });
      expect(await jobs()).toBe(3);
    });

    it("are refused with wrong fields, and when they are another's", async () => {
      const { id } = await createStore();
      const foreign = await stage.addFile(other);
      for (const [body, status, param] of [
        [{}, 400, "file_id"],
        [{ file_id: foreign }, 404, "file_id"],
        [{ file_id: "file-unknown" }, 404, "file_id"],
        [{ file_id: foreign, attributes: { a: null } }, 400, "attributes.a"],
        [{ file_id: foreign, attributes: { a: "v".repeat(513) } }, 400, "attributes.a"],
        [{ file_id: foreign, attributes: { a: { b: 1 } } }, 400, "attributes.a"],
        [{ file_id: foreign, unknown: 1 }, 400, "unknown"],
      ] as const) {
        const answer = await post(`${id}/files`, body);
        expect([answer.status, answer.body.error.param]).toEqual([status, param]);
      }
    });
  });

  describe.skipIf(isMissing)("in batches", () => {
    it("are added, polled and listed by the official client", async () => {
      const { id, files } = await createStore(3);
      const api = owner.openai.vectorStores.fileBatches;
      const batch = await api.create(id, { file_ids: files, attributes: { year: 2026 } });
      expect(batch).toEqual({
        id: expect.stringMatching(/^vsfb_[0-9A-Za-z]{22}$/),
        object: "vector_store.files_batch",
        created_at: expect.any(Number),
        vector_store_id: id,
        status: "in_progress",
        file_counts: { in_progress: 3, completed: 0, failed: 0, cancelled: 0, total: 3 },
        ext: { folder: null, remaining: 0 },
      });
      const shown = await api.retrieve(batch.id, { vector_store_id: id }).withResponse();
      expect(shown.data).toEqual(batch);
      expect(shown.response.headers.get("openai-poll-after-ms")).toBe("500");
      const listed = await api.listFiles(batch.id, { vector_store_id: id, limit: 2 });
      expect(listed.data).toHaveLength(2);
      expect(listed.hasNextPage()).toBe(true);
      expect(listed.data[0]?.attributes).toEqual({ year: 2026 });
      const [first = "", ...rest] = files;
      await stage.setFile(id, first, { status: "failed", errorCode: "invalid_file" });
      for (const file of rest) await stage.complete(id, file, ["a text"]);
      expect(await api.poll(id, batch.id)).toMatchObject({
        status: "completed",
        file_counts: { completed: 2, failed: 1, total: 3 },
      });
    });

    it("take attributes and strategies of their own", async () => {
      const { id, files } = await createStore(2);
      const [one = "", two = ""] = files;
      const chunking_strategy = {
        type: "static",
        static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 50 },
      } as const;
      await owner.openai.vectorStores.fileBatches.create(id, {
        files: [
          { file_id: one, attributes: { n: 1 } },
          { file_id: two, chunking_strategy },
        ],
      });
      const read = (file: string) =>
        owner.openai.vectorStores.files.retrieve(file, { vector_store_id: id });
      expect(await read(one)).toMatchObject({
        attributes: { n: 1 },
        chunking_strategy: { static: { max_chunk_size_tokens: 125, chunk_overlap_tokens: 25 } },
      });
      expect(await read(two)).toMatchObject({ attributes: {}, chunking_strategy });
    });

    it("are failed when none could be read", async () => {
      const { id, files } = await createStore(1);
      const batch = await owner.openai.vectorStores.fileBatches.create(id, { file_ids: files });
      await stage.setFile(id, files[0] ?? "", { status: "failed", errorCode: "invalid_file" });
      const polled = await owner.openai.vectorStores.fileBatches.poll(id, batch.id);
      expect(polled.status).toBe("failed");
    });

    it("are cancelled, and what is completed stays", async () => {
      const { id, files } = await createStore(3);
      const [first = "", second = ""] = files;
      const api = owner.openai.vectorStores;
      const batch = await api.fileBatches.create(id, { file_ids: files });
      await stage.complete(id, first, ["a text"]);
      const cancelled = await api.fileBatches.cancel(batch.id, { vector_store_id: id });
      expect(cancelled).toMatchObject({
        status: "cancelled",
        file_counts: { in_progress: 0, completed: 1, cancelled: 2, total: 3 },
      });
      expect(await api.fileBatches.poll(id, batch.id)).toEqual(cancelled);
      expect(await api.fileBatches.cancel(batch.id, { vector_store_id: id })).toEqual(cancelled);
      const inBatch = await api.fileBatches.listFiles(batch.id, {
        vector_store_id: id,
        filter: "cancelled",
      });
      expect(inBatch.data.map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
      // A client that waits for one file would wait forever on `cancelled`.
      expect(await api.files.poll(id, second)).toMatchObject({
        status: "failed",
        last_error: { code: "server_error", message: expect.stringMatching(/cancelled/) },
      });
      const settled = (await jobsOf(id)).filter(({ kind }) => kind === "settle");
      expect(settled).toEqual([{ kind: "settle", body: { batchId: batch.id } }]);
      const again = await api.files.create(id, { file_id: second });
      expect(again.status).toBe("in_progress");
    });

    it("are reported when they had nothing to do, lost their files, or these were taken out", async () => {
      const { id, files } = await createStore(2);
      const [one = "", two = ""] = files;
      const api = owner.openai.vectorStores;
      const settled = async () =>
        (await jobsOf(id))
          .filter(({ kind }) => kind === "settle")
          .map(({ body }) => body["batchId"]);
      const first = await api.fileBatches.create(id, { file_ids: [one, two] });
      expect(await settled()).toEqual([]);
      await api.files.delete(one, { vector_store_id: id });
      expect(await settled()).toEqual([first.id]);
      const second = await api.fileBatches.create(id, { file_ids: [two] });
      expect((await settled()).sort()).toEqual([first.id, first.id, second.id].sort());
      await stage.complete(id, two, ["a text"]);
      const third = await api.fileBatches.create(id, { file_ids: [two] });
      expect(third).toMatchObject({ status: "completed", file_counts: { completed: 1, total: 1 } });
      expect(await settled()).toContain(third.id);
    });

    it("take 500 files and no more, each once, and refuse wrong bodies", async () => {
      const { id } = await createStore();
      const files = await Promise.all([...Array(500)].map(() => stage.addFile(owner)));
      const attributes = Object.fromEntries(
        [...Array(16).keys()].map((place) => [`attribute ${place}`, "v".repeat(100)]),
      );
      const given = files.map((file_id) => ({ file_id, attributes }));
      const all = await owner.openai.vectorStores.fileBatches.create(id, { files: given });
      expect(all.file_counts.total).toBe(500);
      const twice = [files[0] ?? "", files[0] ?? ""];
      const one = await owner.openai.vectorStores.fileBatches.create(id, { file_ids: twice });
      expect(one.file_counts.total).toBe(1);
      const foreign = await stage.addFile(other);
      for (const [body, status] of [
        [{}, 400],
        [{ file_ids: [] }, 400],
        [{ file_ids: [...files, "file-1"] }, 400],
        [{ file_ids: files.slice(0, 1), files: given.slice(0, 1) }, 400],
        [{ file_ids: files.slice(0, 1), ext: { file_connection: "docs", glob: "*" } }, 400],
        [{ ext: { file_connection: "docs", glob: "*" } }, 403],
        [{ file_ids: [files[0], foreign] }, 404],
      ] as const) {
        expect((await post(`${id}/file_batches`, body)).status).toBe(status);
      }
    });

    it("are those of their store only", async () => {
      const { id, files } = await createStore(1);
      const elsewhere = await createStore();
      const batch = await owner.openai.vectorStores.fileBatches.create(id, { file_ids: files });
      for (const rest of ["", "/files"]) {
        const path = `${PATH}/${elsewhere.id}/file_batches/${batch.id}${rest}`;
        expect(await owner.call({ path })).toMatchObject({ status: 404 });
      }
      const path = `${elsewhere.id}/file_batches/${batch.id}/cancel`;
      expect(await post(path, undefined)).toMatchObject({ status: 404 });
    });

    it("are added, cancelled and taken out by many callers at once without a failure", async () => {
      const { id, files } = await createStore(8);
      const call = (method: string, rest: string, body?: unknown) =>
        owner.call({ method, path: `${PATH}/${id}${rest}`, body });
      const answers = await Promise.all(
        files.flatMap((file, place) => [
          call("POST", "/files", { file_id: file }),
          call("POST", "/file_batches", {
            file_ids: [...files.slice(place), ...files.slice(0, place)].reverse(),
          }),
          call("POST", `/files/${file}`, { attributes: { place } }),
          call("DELETE", `/files/${file}`),
          call("GET", ""),
        ]),
      );
      for (const { status } of answers) expect([200, 404]).toContain(status);
      const { body } = await call("GET", "");
      const { total, in_progress } = body.file_counts;
      expect(in_progress).toBe(total);
    });

    it("of a folder are in progress until they are reported", async () => {
      const { id } = await createStore();
      const row = { id: "vsfb_of_a_folder", vectorStoreId: id, fileConnection: "docs", glob: "**" };
      const listed = { ...row, listedAt: new Date(), remaining: 12 };
      await stage.inDatabase((db) => db.insert(fileBatches).values(listed));
      const path = `${PATH}/${id}/file_batches/${row.id}`;
      expect((await owner.call({ path })).body).toMatchObject({
        status: "in_progress",
        ext: { folder: { file_connection: "docs", glob: "**" }, remaining: 12 },
      });
      await stage.inDatabase((db) =>
        db.update(fileBatches).set({ reportedAt: new Date() }).where(eq(fileBatches.id, row.id)),
      );
      expect((await owner.call({ path })).body.status).toBe("completed");
    });
  });
});
