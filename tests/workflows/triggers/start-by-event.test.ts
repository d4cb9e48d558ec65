import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import { datasets } from "../../../src/db/tables/datasets.ts";
import { files, vectorStores } from "../../../src/db/tables/knowledge.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { workflowMarks, workflows } from "../../../src/db/tables/workflows.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import type { DeliveredEvent, FileFacts, InternalEvent } from "../../../src/queue/subscriptions.ts";
import { createKnownTriggers } from "../../../src/workflows/triggers/known-triggers.ts";
import { markFile, markKnowledge, pruneMarks } from "../../../src/workflows/triggers/marks.ts";
import { startByEvent } from "../../../src/workflows/triggers/start-by-event.ts";
import { openTriggerStage, START, type TriggerStage } from "../../support/stages/trigger-stage.ts";

const STORE = "vs_one";
const DATASET = "ds_one";
const INBOX = "/data/inbox";

let stage: TriggerStage;

beforeAll(async () => {
  stage = await openTriggerStage();
  stage.folders.push(
    { name: "inbox", folder: INBOX, isWatched: true },
    { name: "outbox", folder: "/data/outbox", isWatched: true },
  );
  const { db } = stage.database;
  const model = { embeddingModel: "an-embedder" };
  await db
    .insert(vectorStores)
    .values([{ id: STORE, name: "one", ownerId: "usr_owner", ...model }]);
  const columns = [{ name: "a", type: "text" as const }];
  await db
    .insert(datasets)
    .values([{ id: DATASET, name: "sales", ownerId: "usr_owner", columns, tableName: "t1" }]);
});
beforeEach(async () => {
  await stage.database.db.delete(workflows);
  stage.clock.at = START;
});
afterAll(() => stage.close());

type Body<Source extends FileFacts["source"]> = Partial<Extract<FileFacts, { source: Source }>>;

function watched(path: string, more: Body<"watched_folder"> = {}): InternalEvent {
  return {
    kind: "file.uploaded",
    body: {
      ...{ folder: INBOX, path, name: path.split("/").at(-1) ?? "", size: 12 },
      modified_at: new Date().toISOString(),
      ...{ source: "watched_folder", change: "created" },
      ...more,
    },
  };
}

function upload(path: string, owner: string | null, fileId = "file-1"): InternalEvent {
  return {
    kind: "file.uploaded",
    body: {
      ...{ file_id: fileId, path, name: path, size: 3, sha256: "0".repeat(64) },
      ...{ owner_id: owner, source: "upload", change: "created" },
    },
  };
}

function ingested(more: JsonObject = {}): InternalEvent {
  const body = {
    ...{ vector_store_id: STORE, vector_store_name: "one", batch_id: "batch_1", file_id: null },
    ...{ completed: 3, failed: 0, cancelled: 0, ...more },
  };
  return { kind: "knowledge.ingested", body } as InternalEvent;
}

function updated(chain: readonly string[] = [], more: JsonObject = {}): InternalEvent {
  const body = {
    ...{ dataset: DATASET, dataset_name: "sales", change: "append", rows: 2, version: 7 },
    ...{ run_id: null, chain, ...more },
  };
  return { kind: "dataset.updated", body } as InternalEvent;
}

const started = async (id: string) => (await stage.runs(id)).length;

describe("events that start workflows", () => {
  it("bring one row with their facts, and are shown with the run", async () => {
    const id = await stage.addWorkflow({
      triggers: [{ kind: "file", path: "*.pdf", folder: "inbox" }],
    });
    await stage.fire(watched("march.pdf"));
    const [run] = await stage.runs(id);
    expect(run).toMatchObject({ status: "running", rowsReceived: 1, chain: [] });
    expect(run?.trigger).toEqual({
      ...{ kind: "file", event: "file.uploaded", event_id: expect.stringMatching(/^evt_/) },
      ...{ path: "march.pdf", folder: "inbox" },
    });
    expect(await stage.rows(run)).toEqual([
      {
        ...{ event: "file.uploaded", occurred_at: new Date(START).toISOString() },
        ...{ folder: "inbox", path: "march.pdf", name: "march.pdf", size: 12 },
        ...{ modified_at: expect.any(String), source: "watched_folder", change: "created" },
      },
    ]);
  });

  it.each<readonly [string, JsonObject, InternalEvent, boolean]>([
    ["a path outside the glob", { path: "*.pdf" }, watched("march.csv"), false],
    ["a path that begins as the glob does", { path: "./in/*.csv" }, watched("in/a/b.csv"), false],
    ["slashes that count as one", { path: "/in//a/*.csv" }, watched("in/a/b.csv"), true],
    ["a path below the folder of the glob", { path: "in/**" }, watched("in/a/b.csv"), true],
    ["another folder", { path: "**", folder: "outbox" }, watched("a.csv"), false],
    ["any folder", { path: "**" }, watched("a.csv"), true],
    [
      "an upload, where a folder is named",
      { path: "**", folder: "inbox" },
      upload("a.csv", null),
      false,
    ],
    [
      "a deletion, where uploads are meant",
      { path: "**" },
      { ...watched("a.csv"), kind: "file.deleted" } as InternalEvent,
      false,
    ],
    [
      "a deletion",
      { path: "**", on: "deleted" },
      { ...watched("a.csv"), kind: "file.deleted" } as InternalEvent,
      true,
    ],
  ])("for files: %s", async (_, trigger, event, starts) => {
    const id = await stage.addWorkflow({ triggers: [{ kind: "file", ...trigger }] });
    await stage.deliver(event);
    expect(await started(id)).toBe(starts ? 1 : 0);
  });

  it("of another user, or of the server's folders, start only what may know of them", async () => {
    const triggers = [{ kind: "file", path: "**" }];
    const [admin, owner, other] = [
      await stage.addWorkflow({ triggers, owner: "admin" }),
      await stage.addWorkflow({ triggers, owner: "owner" }),
      await stage.addWorkflow({ triggers, owner: "other" }),
    ];
    const counts = async () => [await started(admin), await started(owner), await started(other)];
    await stage.deliver(watched("a.csv"));
    expect(await counts()).toEqual([1, 0, 0]);
    await stage.deliver(upload("a.csv", "usr_owner"));
    expect(await counts()).toEqual([2, 1, 0]);
    const file = { filename: "b", purpose: "assistants", bytes: 1, sha256: "0".repeat(64) };
    await stage.database.db
      .insert(files)
      .values({ id: "file-shared", ownerId: "usr_owner", visibility: "everyone", ...file });
    await stage.deliver(upload("b.csv", "usr_owner", "file-shared"));
    expect(await counts()).toEqual([3, 2, 1]);
  });

  it.each([
    ["a vector store", { kind: "knowledge", vector_store: STORE }, ingested()],
    ["a dataset by its id", { kind: "dataset", dataset: DATASET }, updated()],
    ["a dataset by its name", { kind: "dataset", dataset: "sales" }, updated()],
  ])("about %s start the workflows of those who may use it", async (_, trigger, event) => {
    const [owner, other, elsewhere] = [
      await stage.addWorkflow({ triggers: [trigger], owner: "owner" }),
      await stage.addWorkflow({ triggers: [trigger], owner: "other" }),
      await stage.addWorkflow({
        triggers: [
          { kind: "dataset", dataset: "other" },
          { kind: "knowledge", vector_store: "vs_2" },
        ],
      }),
    ];
    await stage.deliver(event);
    expect([await started(owner), await started(other), await started(elsewhere)]).toEqual([
      1, 0, 0,
    ]);
  });

  it("about a dataset start workflows by its name only where they are its owner's, or it is shared", async () => {
    const byName = { kind: "dataset", dataset: "sales" };
    const byId = { kind: "dataset", dataset: DATASET };
    const ids = [
      await stage.addWorkflow({ owner: "owner", triggers: [byName] }),
      // An administrator may use the dataset, and somebody else has taken the name that is followed.
      await stage.addWorkflow({ owner: "admin", triggers: [byName] }),
      await stage.addWorkflow({ owner: "admin", triggers: [byId] }),
    ];
    await stage.deliver(updated());
    expect(await Promise.all(ids.map(started))).toEqual([1, 0, 1]);
    const share = (visibility: "private" | "everyone") =>
      stage.database.db.update(datasets).set({ visibility }).where(eq(datasets.id, DATASET));
    await share("everyone");
    await stage.deliver(updated());
    expect(await Promise.all(ids.map(started))).toEqual([2, 1, 2]);
    await share("private");
  });

  it("about runs start those who follow the workflow, or all they may see", async () => {
    const seen = await stage.addWorkflow({ owner: "owner", visibility: "everyone" });
    const hidden = await stage.addWorkflow({ owner: "owner" });
    const follow = (workflow: string, on?: readonly string[]) =>
      stage.addWorkflow({
        owner: "other",
        triggers: [{ kind: "workflow", workflow, ...(on && { on }) }],
      });
    const [one, failures, all, secret] = [
      await follow(seen),
      await follow(seen, ["failed"]),
      await follow("*"),
      await follow(hidden),
    ];
    const counts = async () => Promise.all([one, failures, all, secret].map(started));
    await finish(seen);
    expect(await counts()).toEqual([1, 0, 1, 0]);
    const error = { step: "s", code: "c", message: "it broke" };
    await finish(seen, { status: "failed", error });
    expect(await counts()).toEqual([1, 1, 1, 0]);
    await finish(hidden);
    expect(await counts()).toEqual([1, 1, 1, 0]);
    const [run] = await stage.runs(failures);
    expect(await stage.rows(run)).toMatchObject([
      { event: "workflow.failed", workflow_id: seen, failed_step: "s", error: "it broke" },
    ]);
  });

  it("that nobody wants cost one look at the change counter, with a thousand workflows", async () => {
    const { database } = stage;
    let asked = 0;
    const askOwn = ((work) => {
      asked += 1;
      return database.askOwn(work);
    }) as typeof database.askOwn;
    const store = { ...stage.store, database: { ...database, askOwn } };
    const triggers = [{ kind: "file", path: "in/*.pdf" }];
    const rows = Array.from({ length: 1_000 }, (_, index) => ({
      ...{ id: `wf_${index}`, name: `${index}`, ownerId: "usr_admin" },
      definition: { triggers, steps: [] },
    }));
    await database.db.insert(workflows).values(rows);
    await stage.addWorkflow({ triggers });
    const parts = {
      store,
      known: createKnownTriggers({ askOwn }),
      fileConnections: { list: () => [] },
    };
    const { signal } = new AbortController();
    const event = (id: number) => ({ id: `evt_${id}`, ...watched("out/a.pdf") }) as DeliveredEvent;
    await startByEvent(parts, event(0), signal);
    asked = 0;
    for (let id = 1; id <= 50; id += 1) await startByEvent(parts, event(id), signal);
    expect(asked).toBe(50);
    // All that come at once share it.
    asked = 0;
    await Promise.all(
      Array.from({ length: 50 }, (_, id) => startByEvent(parts, event(id), signal)),
    );
    expect(asked).toBe(2);
    // One that is saved is read by itself, and none of the others again.
    await stage.addWorkflow({ triggers });
    asked = 0;
    await startByEvent(parts, event(51), signal);
    expect(asked).toBe(3);
  });

  it("that come twice start once, also after a discard", async () => {
    const id = await stage.addWorkflow({ triggers: [{ kind: "dataset", dataset: DATASET }] });
    for (let time = 0; time < 3; time += 1) await stage.deliver(updated(), "evt_1");
    expect(await started(id)).toBe(1);
    for (let time = 0; time < 3; time += 1) await stage.deliver(updated([id]), "evt_2");
    expect(await stage.discarded(id)).toEqual({ loop: 1 });
  });

  it("start once though they are redriven weeks later", async () => {
    const id = await stage.addWorkflow({ triggers: [{ kind: "dataset", dataset: DATASET }] });
    const job = { sink: "internal", kind: "dataset.updated", body: {} };
    const createdAt = new Date(stage.clock.at);
    await stage.database.db
      .insert(outboxEvents)
      .values({ ...job, id: "evt_dead", createdAt, nextAttemptAt: createdAt });
    for (const days of [0, 2, 30]) {
      stage.clock.at = START + days * 86_400_000;
      await stage.deliver(updated(), "evt_dead");
    }
    expect(await started(id)).toBe(1);
    await stage.database.db.delete(outboxEvents).where(eq(outboxEvents.id, "evt_dead"));
  });

  it("join the run that waits, with `coalesce`, up to 10,000 rows", async () => {
    const trigger = { kind: "dataset", dataset: DATASET, coalesce: true };
    const id = await stage.addWorkflow({ triggers: [trigger] });
    for (let version = 1; version <= 5; version += 1) await stage.deliver(updated([], { version }));
    const runs = await stage.runs(id);
    expect(runs.map(({ rowsReceived }) => rowsReceived)).toEqual([1, 4]);
    expect((await stage.rows(runs[1])).map((row) => row["version"])).toEqual([2, 3, 4, 5]);
    await stage.database.db.execute(
      `update workflow_runs set rows_received = 10000 where id = '${runs[1]?.id}'`,
    );
    await stage.deliver(updated([], { version: 6 }));
    expect((await stage.runs(id)).map(({ rowsReceived }) => rowsReceived)).toEqual([1, 10_000, 1]);
  });

  it("find triggers as they are at once after a change, and nobody when they are gone", async () => {
    const id = await stage.addWorkflow({ triggers: [{ kind: "dataset", dataset: "other" }] });
    await stage.deliver(updated());
    expect(await started(id)).toBe(0);
    await stage.change(id, { triggers: [{ kind: "dataset", dataset: DATASET }] });
    await stage.deliver(updated());
    expect(await started(id)).toBe(1);
    await stage.change(id, { enabled: false });
    await stage.deliver(updated());
    await stage.change(id, { enabled: true, triggers: [] });
    await stage.deliver(updated());
    expect(await started(id)).toBe(1);
    await stage.database.db.delete(workflows).where(eq(workflows.id, id));
    await stage.deliver(updated());
  });
});

describe("chains", () => {
  it("A completes, B starts, and A is not started again", async () => {
    const [a, b] = await pair();
    await finish(a);
    expect([await started(a), await started(b)]).toEqual([1, 1]);
    await finishNext(b);
    expect([await started(a), await started(b)]).toEqual([1, 1]);
    expect(await stage.discarded(a)).toEqual({ loop: 1 });
    expect((await stage.runs(b))[0]?.chain).toEqual([a]);
  });

  it("with `allow_loop` end ten deep", async () => {
    const [a, b] = await pair({ allow_loop: true });
    await finish(a);
    for (let turn = 0; turn < 20; turn += 1) {
      const open = (await stage.runs(turn % 2 ? a : b)).some(({ status }) => status === "running");
      if (!open) break;
      await finishNext(turn % 2 ? a : b);
    }
    const runs = [...(await stage.runs(a)), ...(await stage.runs(b))];
    expect(Math.max(...runs.map(({ chain }) => chain.length))).toBe(9);
    expect(runs).toHaveLength(10);
    const [discardedA, discardedB] = [await stage.discarded(a), await stage.discarded(b)];
    expect((discardedA["loop"] ?? 0) + (discardedB["loop"] ?? 0)).toBe(1);
  });

  it("`*` does not mean the workflow itself, and says nothing of it", async () => {
    const id = await stage.addWorkflow({ triggers: [{ kind: "workflow", workflow: "*" }] });
    await finish(id);
    expect(await started(id)).toBe(1);
    expect(await stage.discarded(id)).toEqual({});
  });

  it("a dataset that its workflow writes does not start it again", async () => {
    const id = await stage.addWorkflow({ triggers: [{ kind: "dataset", dataset: DATASET }] });
    await stage.fire(updated());
    await stage.fire(updated([id], { run_id: "run_1" }));
    expect(await started(id)).toBe(1);
    expect(await stage.discarded(id)).toEqual({ loop: 1 });
  });

  it("a file that its run writes into the watched folder does not start it again; another's change does", async () => {
    const id = await stage.addWorkflow({
      triggers: [{ kind: "file", path: "**", folder: "inbox" }],
    });
    const other = await stage.addWorkflow({
      triggers: [{ kind: "file", path: "**", folder: "inbox" }],
    });
    const writer = { runId: "run_1", chain: ["wf_first", id] };
    await mark((transaction) => markFile(transaction, { path: `${INBOX}/out/a.csv` }, writer));
    await stage.fire(watched("out/a.csv"));
    expect(await started(id)).toBe(0);
    expect(await stage.discarded(id)).toEqual({ loop: 1 });
    expect((await stage.runs(other))[0]?.chain).toEqual(["wf_first", id]);
    const later = new Date(Date.now() + 3_600_000).toISOString();
    await stage.fire(watched("out/a.csv", { modified_at: later }));
    expect(await started(id)).toBe(1);
    await mark((transaction) => markFile(transaction, { fileId: "file-9" }, writer));
    await stage.fire({ ...upload("x", "usr_owner", "file-9") });
    expect(await stage.discarded(id)).toEqual({ loop: 1 });
  });

  it.each([
    ["a batch", { batchId: "batch_1" }, {}],
    ["one file", { batchId: null, fileId: "file-1" }, { batch_id: null, file_id: "file-1" }],
  ])("knowledge that its run adds as %s does not start it again", async (_, added, event) => {
    const id = await stage.addWorkflow({ triggers: [{ kind: "knowledge", vector_store: STORE }] });
    await mark((transaction) =>
      markKnowledge(
        transaction,
        { vectorStoreId: STORE, ...added },
        { runId: "run_1", chain: [id] },
      ),
    );
    await stage.fire(ingested(event));
    expect(await stage.discarded(id)).toEqual({ loop: 1 });
    await stage.fire(ingested({ batch_id: "batch_2" }));
    expect(await started(id)).toBe(1);
  });

  it("marks go after a week", async () => {
    const { db } = stage.database;
    await db.delete(workflowMarks);
    const row = { kind: "file" as const, runId: "run_1", chain: [] };
    const ago = (days: number) => new Date(Date.now() - days * 86_400_000);
    await db.insert(workflowMarks).values([
      { subject: "/old", createdAt: ago(8), ...row },
      { subject: "/new", createdAt: ago(6), ...row },
    ]);
    await pruneMarks(db);
    expect((await db.select().from(workflowMarks)).map(({ subject }) => subject)).toEqual(["/new"]);
  });
});

function mark(work: Parameters<typeof withTransaction<void>>[1]): Promise<void> {
  return withTransaction(stage.database.db, work);
}

/** Two workflows that follow each other. */
async function pair(more: JsonObject = {}): Promise<readonly [string, string]> {
  const a = await stage.addWorkflow({});
  const b = await stage.addWorkflow({ triggers: [{ kind: "workflow", workflow: a, ...more }] });
  await stage.change(a, { triggers: [{ kind: "workflow", workflow: b, ...more }] });
  return [a, b];
}

/** A run of the workflow, started by nobody else, that ends like this. */
async function finish(workflowId: string, end?: Parameters<TriggerStage["end"]>[1]): Promise<void> {
  await stage.start(workflowId);
  await finishNext(workflowId, end);
}

async function finishNext(workflowId: string, end?: Parameters<TriggerStage["end"]>[1]) {
  await stage.end(
    (await stage.runs(workflowId)).find(({ status }) => status === "running"),
    end,
  );
  await stage.fire();
}
