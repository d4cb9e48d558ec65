import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { HeartbeatWatch } from "../../../src/lib/process-lock/heartbeat-watch.ts";
import { adoptJournals, type LeftJournals } from "../../../src/usage/journal/adopt-journals.ts";
import { createQuarantine } from "../../../src/usage/journal/quarantine.ts";
import {
  encodeRecord,
  MAX_RECORD_BYTES,
  type RecordKind,
} from "../../../src/usage/journal/record-format.ts";
import { insertUsage } from "../../../src/usage/journal/usage-store.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  countRows,
  journalRoot,
  ledger,
  openTestJournal,
  silentLog,
  startCall,
  uncounted,
  usageRecord,
  usageStart,
} from "../../support/stages/usage/usage-journal.ts";
import { callIds, writeCalls } from "../../support/stages/usage/write-calls.ts";

let database: Database;
let root: string;
let remove: () => void;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

beforeEach(() => {
  ({ root, remove } = journalRoot());
});
afterEach(async () => {
  await empty();
  remove();
});

const empty = () => database.db.execute(sql`truncate usage_records, journal_checkpoints`);

function encode(kind: RecordKind, content: object): Buffer {
  const target = Buffer.alloc(MAX_RECORD_BYTES);
  return target.subarray(0, encodeRecord(kind, JSON.stringify(content), target));
}

/** Leaves the journal of a process that is gone, with these segments. */
function leaveJournal(name: string, ...segments: Buffer[]): void {
  mkdirSync(join(root, `${name}.journal`));
  segments.forEach((bytes, index) => {
    writeFileSync(join(root, `${name}.journal`, `0000000${index + 1}.segment`), bytes);
  });
}

async function adopt(): Promise<LeftJournals> {
  const quarantine = createQuarantine(root, silentLog);
  const { db } = database;
  const watch = new HeartbeatWatch();
  return adoptJournals({
    root,
    own: "none",
    db,
    quarantine,
    limits: uncounted,
    watch,
    log: silentLog,
  });
}

async function totalRequests(): Promise<number> {
  const [row] = await database.db.execute<{ requests: number }>(
    sql`select coalesce(sum(requests), 0)::int as requests from usage_months`,
  );
  return row?.requests ?? 0;
}

/** Files that were kept aside, by name. */
function kept(): Map<string, Buffer> {
  const names = readdirSync(root).filter((name) => !name.endsWith(".journal"));
  return new Map(names.map((name) => [name, readFileSync(join(root, name))]));
}

const ids = ["a", "b", "c"];
const records = ids.flatMap((id) => [
  encode("start", usageStart(id)),
  encode("end", usageRecord(id)),
]);
const whole = Buffer.concat(records);

/** The rows that follow from the first `count` of these records. */
function rowsOf(count: number): string[] {
  return ids
    .slice(0, Math.ceil(count / 2))
    .map((id, index) => (index * 2 + 1 < count ? `${id} ok 11` : `${id} error 0`));
}

/** Where the record with this number begins. */
const beginOf = (number: number) => Buffer.concat(records.slice(0, number)).length;

describe("the journal of a process that is gone", () => {
  it("is replayed once and removed", async () => {
    leaveJournal("x", whole);
    await adopt();
    expect(await ledger(database)).toEqual(rowsOf(6));
    expect(readdirSync(root)).toEqual([]);
    leaveJournal("x", whole);
    await adopt();
    expect(await ledger(database)).toEqual(rowsOf(6));
  });

  it("is left as it is while its process lives", async () => {
    const journal = await openTestJournal(root, database);
    await writeCalls(journal, ["a"]);
    const call = await startCall(journal, "open");
    await adopt();
    expect(await ledger(database)).not.toContain("open error 0");
    await call.close(usageRecord("open"));
    await journal.drain(5_000);
    expect(await ledger(database)).toEqual(["a ok 11", "open ok 11"]);
  });

  it("is replayed once by several who find it", async () => {
    leaveJournal("x", whole);
    leaveJournal("y", Buffer.concat([encode("start", usageStart("d"))]));
    await Promise.all([adopt(), adopt(), adopt()]);
    expect(await ledger(database)).toEqual([...rowsOf(6), "d error 0"]);
    await adopt();
    expect(readdirSync(root)).toEqual([]);
  });

  it("adds nothing to what was stored before the end of the process", async () => {
    const journal = await openTestJournal(root, database);
    await writeCalls(journal, callIds("call", 2_000));
    (await startCall(journal, "cut")).progress(4);
    await new Promise((resolve) => setImmediate(resolve));
    const [name = ""] = readdirSync(root);
    const copy = (to: string) => {
      cpSync(join(root, name), join(root, to), {
        recursive: true,
        filter: (path) => !path.endsWith(".lock"),
      });
    };
    copy("first.tmp");
    await journal.flush();
    copy("second.tmp");
    await journal.drain(300);
    cpSync(join(root, "first.tmp"), join(root, "first.journal"), { recursive: true });
    cpSync(join(root, "second.tmp"), join(root, "second.journal"), { recursive: true });
    await adopt();
    expect(await countRows(database)).toBe(2_001);
    expect(await ledger(database)).toContain("cut error 4");
  });

  it("begins where its checkpoint says", async () => {
    await database.db.execute(
      sql`insert into journal_checkpoints values ('x.journal', 1, ${whole.length}, now())`,
    );
    const later = Buffer.concat([
      encode("start", usageStart("d")),
      encode("end", usageRecord("d")),
    ]);
    leaveJournal("x", whole, later);
    await adopt();
    expect(await ledger(database)).toEqual(["d ok 11"]);
  });

  it("counts no call again whose row was stored and has gone since", async () => {
    const usedBefore = await totalRequests();
    leaveJournal("x", whole);
    const stored = ["a", "b"].map((id) => JSON.stringify(usageRecord(id)));
    const checkpoint = { journal: "x.journal", segment: 1, byteOffset: beginOf(4) };
    await insertUsage(database.db, stored, checkpoint);
    await database.db.execute(sql`truncate usage_records`);
    await adopt();
    expect(await ledger(database)).toEqual(["c ok 11"]);
    expect((await totalRequests()) - usedBefore).toBe(3);
  });

  it("takes the row that is there over its own view of a call", async () => {
    leaveJournal("x", encode("end", usageRecord("a")));
    await adopt();
    leaveJournal("y", encode("start", usageStart("a")));
    await adopt();
    expect(await ledger(database)).toEqual(["a ok 11"]);
  });

  it("knows the assistant of a cut call, and of records from before assistants that there was none", async () => {
    const call = {
      ...usageStart("cut"),
      assistantId: "asst_1",
      toolName: "find_files",
      runId: "run_1",
    };
    const old = [encode("end", usageRecord("old")), encode("start", usageStart("old cut"))];
    leaveJournal("x", Buffer.concat([encode("start", call), ...old]));
    await adopt();
    const rows = await database.db.execute(
      sql`select id, assistant_id, tool_name, run_id from usage_records order by id`,
    );
    expect([...rows]).toEqual([
      { id: "cut", assistant_id: "asst_1", tool_name: "find_files", run_id: "run_1" },
      { id: "old", assistant_id: null, tool_name: null, run_id: null },
      { id: "old cut", assistant_id: null, tool_name: null, run_id: null },
    ]);
  });

  it("gives a cut call the tokens of its last progress and the time its process was last seen", async () => {
    const { startedAt } = usageStart("cut");
    leaveJournal(
      "x",
      Buffer.concat([
        encode("start", usageStart("cut")),
        encode("progress", { id: "cut", outputTokens: 40, at: startedAt + 1_000 }),
        encode("end", usageRecord("other", { startedAt, latencyMs: 2_500 })),
      ]),
    );
    await adopt();
    const rows = await database.db.execute(
      sql`select outcome, success, status, output_tokens, input_tokens, latency_ms, estimated
        from usage_records where id = 'cut'`,
    );
    expect([...rows]).toEqual([
      {
        outcome: "error",
        success: false,
        status: 0,
        output_tokens: "40",
        input_tokens: "7",
        latency_ms: "2500",
        estimated: true,
      },
    ]);
  });

  it("waits for the next time when the database is away", async () => {
    leaveJournal("x", whole);
    await database.db.execute(sql`alter table usage_records rename to elsewhere`);
    await adopt();
    await database.db.execute(sql`alter table elsewhere rename to usage_records`);
    expect(await countRows(database)).toBe(0);
    await adopt();
    expect(await ledger(database)).toEqual(rowsOf(6));
  });

  it("is at fault itself when its files cannot be read, and nothing waits for the database", async () => {
    leaveJournal("x");
    mkdirSync(join(root, "x.journal", "00000001.segment"));
    leaveJournal("y", whole);
    expect(await adopt()).toEqual({ forDatabase: false, forOwner: false });
    expect(await ledger(database)).toEqual(rowsOf(6));
  });

  it("does not touch folders that are no journals", async () => {
    mkdirSync(join(root, "database"));
    writeFileSync(join(root, "database", "00000001.segment"), whole);
    await adopt();
    expect(readdirSync(join(root, "database"))).toEqual(["00000001.segment"]);
    expect(await countRows(database)).toBe(0);
  });
});

describe("a torn or damaged journal", () => {
  it("counts up to the tear, wherever in the last record it is", async () => {
    const begin = beginOf(5);
    for (let length = begin; length < whole.length; length += 1) {
      leaveJournal("x", whole.subarray(0, length));
      await adopt();
      expect(await ledger(database)).toEqual(rowsOf(5));
      const torn = kept().get("x.journal.1.".concat(`${begin}.damaged`));
      expect(torn?.length ?? 0).toBe(length - begin);
      await empty();
    }
  }, 120_000);

  it("counts up to the record that holds a flipped byte, once, and keeps the rest aside", async () => {
    // A linear congruential generator: the same positions every run.
    let seed = 20_261_121;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    for (let round = 0; round < trialSize(40, 150); round += 1) {
      const position = random(whole.length);
      const spoilt = Buffer.from(whole);
      spoilt.writeUInt8(spoilt.readUInt8(position) ^ (1 + random(255)), position);
      const sound = records.findIndex((_, number) => position < beginOf(number + 1));
      leaveJournal("x", spoilt);
      await adopt();
      expect(await ledger(database)).toEqual(rowsOf(sound));
      const rest = kept().get(`x.journal.1.${beginOf(sound)}.damaged`);
      expect(rest).toEqual(spoilt.subarray(beginOf(sound)));
      expect(readdirSync(root).filter((name) => name.endsWith(".journal"))).toEqual([]);
      await empty();
    }
  }, 120_000);

  it("counts on from its checkpoint when the damage is before that", async () => {
    const spoilt = Buffer.from(whole);
    for (const number of [1, 2]) spoilt.fill(0, beginOf(number), beginOf(number) + 8);
    leaveJournal("x", spoilt);
    const checkpoint = { journal: "x.journal", segment: 1, byteOffset: beginOf(4) };
    const stored = ["a", "b"].map((id) => JSON.stringify(usageRecord(id)));
    await insertUsage(database.db, stored, checkpoint);
    await adopt();
    expect(await ledger(database)).toEqual(rowsOf(6));
    const damage = spoilt.subarray(beginOf(1), beginOf(4));
    expect([...kept()]).toEqual([[`x.journal.1.${beginOf(1)}.damaged`, damage]]);
  });

  it("loses no later segment by the damage of an earlier one", async () => {
    const later = Buffer.concat([
      encode("start", usageStart("d")),
      encode("end", usageRecord("d")),
    ]);
    leaveJournal("x", whole.subarray(0, whole.length - 1), later);
    await adopt();
    expect(await ledger(database)).toEqual([...rowsOf(5), "d ok 11"]);
  });
});
