import { eq } from "drizzle-orm";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { auditLog } from "../../../src/db/tables/audit-log.ts";
import {
  chunks,
  fileBatches,
  vectorStoreFiles,
  vectorStores,
} from "../../../src/db/tables/knowledge.ts";
import { createFolderBatch } from "../../../src/knowledge/ingest/ingestion-jobs.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import {
  EMBEDDING_MODEL,
  openStoreStage,
  type Person,
  type StoreStage,
} from "../../support/stages/knowledge/store-stage.ts";

const DATABASES = [
  ["PostgreSQL", databaseServerUrl],
  ["the embedded database", undefined],
] as const;
const PATH = "/v1/vector_stores";
const UNKNOWN = `${PATH}/vs_0000000000000000000000`;
const DAY_MS = 86_400_000;
const NUL = String.fromCharCode(0);

describe.each(DATABASES)("/v1/vector_stores on %s", (name, serverUrl) => {
  let stage: StoreStage;
  let owner: Person;
  let other: Person;
  let admin: Person;
  const isMissing = name === "PostgreSQL" && serverUrl === undefined;

  beforeAll(async () => {
    if (isMissing) return;
    stage = await openStoreStage(serverUrl);
    ({ owner, other, admin } = stage);
  }, 180_000);
  afterAll(() => stage?.close());

  const create = async (person: Person, body: unknown = { name: "manuals" }) => {
    const answer = await person.call({ method: "POST", path: PATH, body });
    expect(answer).toMatchObject({ status: 200 });
    return answer.body;
  };

  describe.skipIf(isMissing)("with the official client", () => {
    it("creates, shows, changes and deletes a store", async () => {
      const { vectorStores } = owner.openai;
      const created = await vectorStores.create({
        name: "Handbücher 📚",
        description: "all of them",
        expires_after: { anchor: "last_active_at", days: 7 },
        metadata: { team: "support" },
      });
      expect(created).toEqual({
        id: expect.stringMatching(/^vs_[0-9A-Za-z]{22}$/),
        object: "vector_store",
        created_at: expect.any(Number),
        name: "Handbücher 📚",
        description: "all of them",
        usage_bytes: 0,
        file_counts: { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 },
        status: "completed",
        expires_after: { anchor: "last_active_at", days: 7 },
        expires_at: created.created_at + (7 * DAY_MS) / 1_000,
        last_active_at: created.created_at,
        metadata: { team: "support" },
        ext: {
          owner_id: owner.id,
          visibility: "private",
          embedding_model: EMBEDDING_MODEL,
          chunks: 0,
          folder: null,
          reindex: null,
        },
      });
      expect(Math.abs(created.created_at - stage.clock.now() / 1_000)).toBeLessThan(60);
      expect(await vectorStores.retrieve(created.id)).toEqual(created);
      const changed = await vectorStores.update(created.id, {
        name: "renamed",
        metadata: {},
        expires_after: null,
      });
      const change = { name: "renamed", metadata: {}, expires_after: null, expires_at: null };
      expect(changed).toEqual({ ...created, ...change });
      expect(await vectorStores.update(created.id, {})).toEqual(changed);
      expect(await vectorStores.delete(created.id)).toEqual({
        id: created.id,
        object: "vector_store.deleted",
        deleted: true,
      });
      await expect(vectorStores.retrieve(created.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    });

    it("creates a store without any field", async () => {
      expect(await owner.openai.vectorStores.create({})).toMatchObject({
        name: "",
        metadata: {},
        expires_after: null,
      });
    });

    it("lists 250 stores exactly, in both orders and whatever the page's size", async () => {
      // Most of them at once, several in each second: what a call makes differs in nothing.
      const rows = Array.from({ length: 230 }, (_, index) => ({
        id: `vs_${String((index + 1) * 7919).padStart(22, "0")}`,
        ownerId: other.id,
        name: `store ${index}`,
        embeddingModel: EMBEDDING_MODEL,
        createdAt: new Date(Date.UTC(2026, 0, 1) + Math.floor(index / 10) * 1_000),
      }));
      await stage.inDatabase((db) => db.insert(vectorStores).values(rows));
      const ids = new Set(rows.map(({ id }) => id));
      for (let count = ids.size; count < 250; count += 1) {
        ids.add((await other.openai.vectorStores.create({ name: `store ${count}` })).id);
      }
      const read = async (order: "asc" | "desc", limit: number) => {
        const listed: string[] = [];
        for await (const { id } of other.openai.vectorStores.list({ order, limit })) {
          listed.push(id);
        }
        return listed;
      };
      const ascending = await read("asc", 100);
      expect(ascending).toHaveLength(250);
      expect(new Set(ascending)).toEqual(ids);
      expect(await read("desc", 33)).toEqual([...ascending].reverse());
      const first = await other.openai.vectorStores.list();
      expect(first.data.map(({ id }) => id)).toEqual([...ascending].reverse().slice(0, 20));
      const path = `${PATH}?order=asc&limit=10&before=${ascending[100]}`;
      const before = (await other.call({ path })).body;
      expect(before).toMatchObject({
        first_id: ascending[90],
        last_id: ascending[99],
        has_more: true,
      });
      const between = `${PATH}?order=asc&limit=10&after=${ascending[3]}&before=${ascending[6]}`;
      const part = (await other.call({ path: between })).body;
      expect(part.data.map((store: { id: string }) => store.id)).toEqual(ascending.slice(4, 6));
      expect(part.has_more).toBe(false);
    }, 180_000);

    it("adds the files that a new store names, as one batch", async () => {
      const files = [await stage.addFile(owner), await stage.addFile(owner)];
      const store = await owner.openai.vectorStores.create({ file_ids: files });
      const counts = { in_progress: 2, completed: 0, failed: 0, cancelled: 0, total: 2 };
      expect(store).toMatchObject({ status: "in_progress", file_counts: counts });
      const rows = await stage.inDatabase((db) =>
        db.select().from(vectorStoreFiles).where(eq(vectorStoreFiles.vectorStoreId, store.id)),
      );
      expect(new Set(rows.map(({ batchId }) => batchId))).toEqual(
        new Set([expect.stringMatching(/^vsfb_/)]),
      );
      for (const id of files) await stage.complete(store.id, id, ["a text"]);
      expect(await owner.openai.vectorStores.retrieve(store.id)).toMatchObject({
        status: "completed",
        usage_bytes: 200,
        file_counts: { completed: 2, total: 2 },
        ext: { chunks: 2 },
      });
    });

    it("shows a store as in progress until the folder of a batch was listed", async () => {
      const { id } = await create(owner);
      const folder = { vectorStoreId: id, fileConnection: "docs", glob: "**" };
      const batch = await stage.inDatabase((db) =>
        createFolderBatch(db, folder, stage.clock.now()),
      );
      const statusOf = async () => (await owner.openai.vectorStores.retrieve(id)).status;
      expect(await statusOf()).toBe("in_progress");
      await stage.inDatabase((db) =>
        db.update(fileBatches).set({ listedAt: new Date() }).where(eq(fileBatches.id, batch)),
      );
      expect(await statusOf()).toBe("completed");
    });

    it("deletes a store of files at once, and its chunks in the background", async () => {
      const file = await stage.addFile(owner);
      const store = await owner.openai.vectorStores.create({ file_ids: [file] });
      await stage.complete(store.id, file, ["one", "two"]);
      await owner.openai.vectorStores.delete(store.id);
      const left = () =>
        stage.inDatabase((db) => db.$count(chunks, eq(chunks.vectorStoreId, store.id)));
      expect(await left()).toBe(2);
    });
  });

  describe.skipIf(isMissing)("by rights", () => {
    it("shows a private store to its owner, by key and session, and to administrators", async () => {
      const store = await create(owner);
      const path = `${PATH}/${store.id}`;
      for (const token of [owner.session, owner.key, admin.session, admin.key]) {
        expect(await owner.call({ path, token })).toMatchObject({ status: 200, body: store });
        const listed = (await owner.call({ path: `${PATH}?limit=100`, token })).body.data;
        expect(listed.map(({ id }: { id: string }) => id)).toContain(store.id);
      }
      const listed = (await other.call({ path: `${PATH}?limit=100` })).body.data;
      expect(listed.map(({ id }: { id: string }) => id)).not.toContain(store.id);
    });

    it("answers others as if there were no such store", async () => {
      const store = await create(owner);
      const file = await stage.addFile(owner);
      await owner.openai.vectorStores.files.create(store.id, { file_id: file });
      const mine = await stage.addFile(other);
      const calls = [
        ["GET", ""],
        ["POST", "", { name: "mine" }],
        ["DELETE", ""],
        ["POST", "/reindex"],
        ["POST", "/search", { query: "x" }],
        ["GET", "/files"],
        ["POST", "/files", { file_id: mine }],
        ["GET", `/files/${file}`],
        ["POST", `/files/${file}`, { attributes: {} }],
        ["DELETE", `/files/${file}`],
        ["GET", `/files/${file}/content`],
        ["POST", "/file_batches", { file_ids: [mine] }],
        ["GET", "/file_batches/vsfb_1"],
        ["POST", "/file_batches/vsfb_1/cancel"],
        ["GET", "/file_batches/vsfb_1/files"],
      ] as const;
      for (const [method, rest, body] of calls) {
        const foreign = await other.call({ method, path: `${PATH}/${store.id}${rest}`, body });
        const unknown = await other.call({ method, path: `${UNKNOWN}${rest}`, body });
        expect([rest, foreign.status]).toEqual([rest, 404]);
        expect(foreign.body).toEqual(unknown.body);
      }
      expect((await owner.call({ path: `${PATH}/${store.id}` })).body.file_counts.total).toBe(1);
    });

    it("lets all use a store that an administrator shares, and only its owner change it", async () => {
      const store = await create(owner);
      const path = `${PATH}/${store.id}`;
      const share = { ext: { visibility: "everyone" } };
      const refused = { status: 403, body: { error: { code: "insufficient_permission" } } };
      expect(await owner.call({ method: "POST", path, body: share })).toMatchObject(refused);
      expect(await owner.call({ method: "POST", path: PATH, body: share })).toMatchObject(refused);
      const shared = await admin.call({ method: "POST", path, body: share });
      expect(shared.body.ext.visibility).toBe("everyone");
      expect(await other.call({ path })).toMatchObject({ status: 200, body: shared.body });
      const change = { name: "mine" };
      expect(await other.call({ method: "POST", path, body: change })).toMatchObject(refused);
      expect(await other.call({ method: "DELETE", path })).toMatchObject(refused);
      expect(await owner.call({ method: "POST", path, body: change })).toMatchObject({
        status: 200,
        body: { name: "mine", ext: { visibility: "everyone" } },
      });
    });

    it("records what an administrator does to the store of another, and nothing else", async () => {
      const store = await create(owner);
      const path = `${PATH}/${store.id}`;
      await owner.call({ method: "POST", path, body: { name: "by its owner" } });
      await admin.call({ method: "POST", path, body: { name: "by another" } });
      await admin.call({ method: "DELETE", path });
      const entries = await stage.inDatabase((db) =>
        db.select().from(auditLog).where(eq(auditLog.targetId, store.id)),
      );
      expect(entries.map(({ action }) => action).sort()).toEqual([
        "vector_store.delete",
        "vector_store.update",
      ]);
    });

    it("refuses a key that is bound to an assistant", async () => {
      const { body: assistant } = await owner.call({
        method: "POST",
        path: "/v1/assistants",
        body: {},
      });
      const bound = await owner.call({
        method: "POST",
        path: "/v1/api-keys",
        body: { name: "bound", assistant_id: assistant.id },
      });
      const token = bound.body.key;
      const store = await create(owner);
      for (const [method, path] of [
        ["GET", PATH],
        ["POST", PATH],
        ["GET", `${PATH}/${store.id}`],
        ["DELETE", `${PATH}/${store.id}`],
        ["POST", `${PATH}/${store.id}/search`],
        ["GET", `${PATH}/${store.id}/files`],
        ["POST", `${PATH}/${store.id}/file_batches`],
      ] as const) {
        const body = method === "POST" ? {} : undefined;
        expect(await owner.call({ method, path, token, body })).toMatchObject({
          status: 403,
          body: { error: { code: "insufficient_permission" } },
        });
      }
    });
  });

  describe.skipIf(isMissing)("refuses", () => {
    const wrong: readonly (readonly [string, unknown])[] = [
      ["name", { name: 5 }],
      ["name", { name: "n".repeat(257) }],
      ["name", { name: `a${NUL}b` }],
      ["name", { name: "\ud800" }],
      ["metadata", { metadata: Object.fromEntries([...Array(17).keys()].map((n) => [n, "v"])) }],
      ["metadata.k", { metadata: { k: "v".repeat(513) } }],
      ["metadata.k", { metadata: { k: 1 } }],
      ["metadata.k", { metadata: { k: NUL } }],
      ["expires_after.days", { expires_after: { anchor: "last_active_at", days: 0 } }],
      ["expires_after.days", { expires_after: { anchor: "last_active_at", days: 366 } }],
      ["expires_after.anchor", { expires_after: { anchor: "created_at", days: 1 } }],
      ["ext.visibility", { ext: { visibility: "all" } }],
      ["unknown", { unknown: 1 }],
      ["ext.unknown", { ext: { unknown: 1 } }],
    ];
    const wrongNew: readonly (readonly [string, unknown])[] = [
      ["file_ids", { file_ids: Array(501).fill("file-1") }],
      ["file_ids[0]", { file_ids: ["\n"] }],
      ["chunking_strategy.type", { chunking_strategy: { type: "fine" } }],
      [
        "chunking_strategy.static.max_chunk_size_tokens",
        {
          chunking_strategy: {
            type: "static",
            static: { max_chunk_size_tokens: 99, chunk_overlap_tokens: 0 },
          },
        },
      ],
      [
        "chunking_strategy.static",
        {
          chunking_strategy: {
            type: "static",
            static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 51 },
          },
        },
      ],
      ["ext.embedding_model", { ext: { embedding_model: "unheard-of" } }],
    ];

    it("wrong fields, by their names", async () => {
      const store = await create(owner);
      for (const [param, body] of [...wrong, ...wrongNew]) {
        const answer = await owner.call({ method: "POST", path: PATH, body });
        expect([param, answer.status, answer.body.error.param]).toEqual([param, 400, param]);
      }
      for (const [param, body] of wrong) {
        const path = `${PATH}/${store.id}`;
        const answer = await owner.call({ method: "POST", path, body });
        expect([param, answer.status, answer.body.error.param]).toEqual([param, 400, param]);
      }
    });

    it("wrong parameters of a page", async () => {
      for (const [param, query] of [
        ["limit", "limit=0"],
        ["limit", "limit=101"],
        ["order", "order=up"],
        ["after", "after=vs_unknown"],
        ["before", "before=vs_unknown"],
        ["unknown", "unknown=1"],
      ]) {
        const answer = await owner.call({ path: `${PATH}?${query}` });
        expect([query, answer.status, answer.body.error.param]).toEqual([query, 400, param]);
      }
    });

    it("a cursor that is another's store", async () => {
      const foreign = await create(other);
      const answer = await owner.call({ path: `${PATH}?after=${foreign.id}` });
      expect(answer).toMatchObject({ status: 400, body: { error: { param: "after" } } });
    });

    it("files that the caller may not use, and creates nothing then", async () => {
      const mine = await stage.addFile(owner);
      const foreign = await stage.addFile(other);
      const gone = await stage.addFile(owner, { expiresAt: new Date(1) });
      for (const id of [foreign, gone, "file-unknown"]) {
        const body = { name: "of a stranger's file", file_ids: [mine, id] };
        const answer = await owner.call({ method: "POST", path: PATH, body });
        expect(answer).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
      }
      const listed = (await owner.call({ path: `${PATH}?limit=100` })).body.data;
      expect(listed.map((store: { name: string }) => store.name)).not.toContain(
        "of a stranger's file",
      );
      const shared = await stage.addFile(other, { visibility: "everyone" });
      await create(owner, { file_ids: [mine, shared] });
    });

    it("a folder of a user, and one of no file connection", async () => {
      const ext = { folder: { file_connection: "docs", glob: "**" } };
      const refused = await owner.call({ method: "POST", path: PATH, body: { ext } });
      expect(refused).toMatchObject({ status: 403, body: { error: { param: "ext.folder" } } });
      const unknown = await admin.call({ method: "POST", path: PATH, body: { ext } });
      const param = "ext.folder.file_connection";
      expect(unknown).toMatchObject({ status: 400, body: { error: { param } } });
      const unwatched = { folder: { file_connection: "workspace", glob: "**" } };
      const answer = await admin.call({ method: "POST", path: PATH, body: { ext: unwatched } });
      expect(answer).toMatchObject({ status: 400, body: { error: { param } } });
      expect(answer.body.error.message).toContain("WATCH_DIRS");
    });
  });

  describe.skipIf(isMissing)("reindexes", () => {
    it("with the model of new stores or one that is named, and shows how far it is", async () => {
      const file = await stage.addFile(owner);
      const store = await create(owner, { file_ids: [file] });
      await stage.complete(store.id, file, ["one", "two"]);
      const path = `${PATH}/${store.id}`;
      const body = { ext: { embedding_model: "unheard-of" } };
      const unknown = await owner.call({ method: "POST", path: `${path}/reindex`, body });
      expect(unknown).toMatchObject({
        status: 400,
        body: { error: { param: "ext.embedding_model" } },
      });
      const started = await owner.call({ method: "POST", path: `${path}/reindex` });
      const state = {
        status: "in_progress",
        error: null,
        embedding_model: EMBEDDING_MODEL,
        chunks_done: 0,
        chunks_total: 2,
      };
      expect(started.body.ext.reindex).toEqual(state);
      expect(started.body.status).toBe("completed");
      expect(started.headers.get("openai-poll-after-ms")).toBe("500");
      const again = await owner.call({ method: "POST", path: `${path}/reindex`, body: {} });
      expect(again).toMatchObject({ status: 200, body: { ext: { reindex: state } } });
      const jobs = await stage.inDatabase((db) =>
        db.execute<{ body: unknown }>(
          `select body from outbox_events where sink like 'ingest%' and kind = 'reindex'` as never,
        ),
      );
      expect(jobs.map((job) => job.body)).toEqual([{ vectorStoreId: store.id, generation: 2 }]);
      await stage.inDatabase((db) =>
        db
          .update(vectorStores)
          .set({ nextGeneration: null, reindexError: "The engine did not answer." })
          .where(eq(vectorStores.id, store.id)),
      );
      const failed = await owner.call({ path });
      expect(failed.body.ext.reindex.status).toBe("failed");
      expect(failed.headers.has("openai-poll-after-ms")).toBe(false);
    });
  });

  describe.skipIf(isMissing)("expires", () => {
    it("a store that was not used for its days, and takes its files out", async () => {
      const file = await stage.addFile(owner);
      const store = await create(owner, {
        file_ids: [file],
        expires_after: { anchor: "last_active_at", days: 2 },
      });
      await stage.complete(store.id, file, ["a text"]);
      const path = `${PATH}/${store.id}`;
      const search = { method: "POST", path: `${path}/search`, body: { query: "text" } };
      const { served, clock } = stage;
      const server = { port: Number(new URL(served.url).port) };
      await clock.moveTo(1.5 * DAY_MS, [server]);
      expect(await owner.call({ ...search, token: owner.key })).toMatchObject({ status: 200 });
      const used = (await owner.call({ path, token: owner.key })).body;
      expect(used.last_active_at).toBeGreaterThan(store.last_active_at + 86_400);
      expect(used.expires_at).toBe(used.last_active_at + 2 * 86_400);

      await clock.moveTo(3 * DAY_MS, [server]);
      await stage.runJob("expire vector stores");
      const kept = (await owner.call({ path, token: owner.key })).body;
      expect(kept).toMatchObject({ status: "completed", file_counts: { total: 1 } });

      await clock.moveTo(3.6 * DAY_MS, [server]);
      const expired = (await owner.call({ path, token: owner.key })).body;
      expect(expired).toMatchObject({ status: "expired", file_counts: { total: 1 } });
      const refused = { status: 400, body: { error: { code: "invalid_value" } } };
      for (const call of [
        search,
        { method: "POST", path: `${path}/files`, body: { file_id: file } },
        { method: "POST", path: `${path}/file_batches`, body: { file_ids: [file] } },
        { method: "POST", path: `${path}/reindex` },
      ]) {
        const answer = await owner.call({ ...call, token: owner.key });
        expect(answer).toMatchObject(refused);
        expect(answer.body.error.message).toMatch(/has expired/);
      }
      await stage.runJob("expire vector stores");
      expect((await owner.call({ path, token: owner.key })).body).toMatchObject({
        status: "expired",
        file_counts: { total: 0 },
      });
      const update = async (body: object) =>
        (await owner.call({ method: "POST", path, body, token: owner.key })).body;
      const extended = await update({ expires_after: { anchor: "last_active_at", days: 1 } });
      expect(extended.status).toBe("completed");
      expect(extended.last_active_at).toBeGreaterThan(used.last_active_at + 2 * 86_400);
      expect(extended.expires_at).toBe(extended.last_active_at + 86_400);
      expect(await update({ expires_after: null })).toMatchObject({
        status: "completed",
        expires_at: null,
      });
      await clock.moveTo(0, [server]);
    });
  });
});
