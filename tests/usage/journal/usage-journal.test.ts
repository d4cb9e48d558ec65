import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { HeartbeatWatch } from "../../../src/lib/process-lock/heartbeat-watch.ts";
import { adoptJournals } from "../../../src/usage/journal/adopt-journals.ts";
import type { OpenUsageJournal } from "../../../src/usage/journal/open-usage-journal.ts";
import { createQuarantine } from "../../../src/usage/journal/quarantine.ts";
import { scanRecords } from "../../../src/usage/journal/scan-records.ts";
import { SEGMENT_BYTES } from "../../../src/usage/journal/segment.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  countRows,
  eventually,
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
let journal: OpenUsageJournal;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

beforeEach(async () => {
  ({ root, remove } = journalRoot());
  journal = await openTestJournal(root, database);
});
afterEach(async () => {
  await journal.drain(5_000);
  await database.db.execute(sql`truncate usage_records, journal_checkpoints`);
  remove();
});

const journals = () => readdirSync(root).filter((name) => name.endsWith(".journal"));
const segments = () =>
  journals().flatMap((name) =>
    readdirSync(join(root, name)).filter((file) => file.endsWith(".segment")),
  );

describe("the usage journal", () => {
  it("brings every field of a finished call to the database", async () => {
    const change = {
      outcome: "aborted",
      latencyMs: 1_233.6,
      firstTokenMs: null,
      assistantId: "asst_1",
      toolName: "find_files",
      runId: "run_1",
    } as const;
    const record = usageRecord("a", change);
    await (await journal.open(usageStart("a"))).close(record);
    await journal.flush();
    const rows = await database.db.execute(
      sql`select id, key_id, channel, model, outcome, success, status, estimated, first_token_ms,
        (extract(epoch from started_at) * 1000)::bigint::text as started_at,
        input_tokens + 100 * output_tokens + 10000 * cached_tokens + 1000000 * reasoning_tokens as tokens,
        latency_ms, tool_name, assistant_id, run_id from usage_records`,
    );
    expect([...rows]).toEqual([
      {
        id: "a",
        key_id: "key_1",
        channel: "chat",
        model: "modèle ☃",
        outcome: "aborted",
        success: false,
        status: 200,
        estimated: false,
        first_token_ms: null,
        started_at: "1790000000000",
        tokens: "2031107",
        latency_ms: "1234",
        tool_name: "find_files",
        run_id: "run_1",
        assistant_id: "asst_1",
      },
    ]);
  });

  it("has a start on file when its client may receive something, and an end when its call may end", async () => {
    const size = () => statSync(join(root, journals()[0] ?? "", segments()[0] ?? "")).size;
    const call = await startCall(journal, "a");
    const start = size();
    expect(start).toBeGreaterThan(100);
    await call.close(usageRecord("a"));
    const whole = size();
    expect(whole).toBeGreaterThan(start + 200);
    await writeCalls(journal, ["b", "c"]);
    expect(size()).toBe(3 * whole);
  });

  it("writes the records of one turn at its end, together", async () => {
    const opening = ["a", "b"].map((id) => startCall(journal, id));
    expect(segments()).toEqual([]);
    await opening[0];
    const path = join(root, journals()[0] ?? "", segments()[0] ?? "");
    expect(scanRecords(readFileSync(path))).toMatchObject({
      records: [{ kind: "start" }, { kind: "start" }],
      rest: "nothing",
    });
    for (const id of ["a", "b"]) await (await opening.shift())?.close(usageRecord(id));
  });

  it("has a start of a call that lasts, and only an end of one that is over before", async () => {
    const short = await journal.open(usageStart("short"));
    await short.close(usageRecord("short"));
    const long = await journal.open(usageStart("long"));
    const path = join(root, journals()[0] ?? "", segments()[0] ?? "");
    const kinds = () => scanRecords(readFileSync(path)).records.map(({ kind }) => kind);
    expect(kinds()).toEqual(["end"]);
    await eventually(() => kinds().length === 2);
    expect(kinds()).toEqual(["end", "start"]);
    await long.close(usageRecord("long"));
    await journal.flush();
    expect(await ledger(database)).toEqual(["long ok 11", "short ok 11"]);
  });

  it("keeps a segment within its size, whatever one turn brings", async () => {
    const calls = await Promise.all(callIds("open", 80_000).map((id) => startCall(journal, id)));
    const paths = segments().map((file) => join(root, journals()[0] ?? "", file));
    const scans = paths.map((path) => scanRecords(readFileSync(path)));
    expect(scans.length).toBeGreaterThan(1);
    expect(scans.every(({ rest }) => rest === "nothing")).toBe(true);
    expect(scans.flatMap(({ records }) => records)).toHaveLength(80_000);
    expect(Math.max(...paths.map((path) => statSync(path).size))).toBeLessThanOrEqual(
      SEGMENT_BYTES,
    );
    await Promise.all(calls.map((call, index) => call.close(usageRecord(`open-${index}`))));
    await journal.flush();
  }, 60_000);

  it("writes what its last turn brought before it ends", async () => {
    const call = await startCall(journal, "a");
    const cut = await journal.open(usageStart("cut"));
    const opening = cut.recordStart();
    const closing = call.close(usageRecord("a"));
    await journal.drain(500);
    await Promise.all([opening, closing]);
    journal = await openTestJournal(root, database);
    await journal.adopted;
    expect(await ledger(database)).toEqual(["a ok 11", "cut error 0"]);
  });

  it("brings records to the database by itself, and says how many wait and for how long", async () => {
    await writeCalls(journal, ["a"]);
    expect(journal.unflushedRecords).toBe(1);
    expect(journal.oldestUnflushedAgeSeconds).toBeGreaterThan(0);
    await eventually(() => journal.unflushedRecords === 0);
    expect(journal.oldestUnflushedAgeSeconds).toBe(0);
    expect(await ledger(database)).toEqual(["a ok 11"]);
  });

  it("counts a call once, however often it is closed", async () => {
    const call = await startCall(journal, "a");
    const closing = call.close(usageRecord("a"));
    await call.close(usageRecord("a", { outputTokens: 99 }));
    call.progress(5);
    await closing;
    await journal.flush();
    expect(await ledger(database)).toEqual(["a ok 11"]);
  });

  it("brings 100,000 records to the database once each and keeps one segment of them", async () => {
    for (let turn = 0; turn < 200; turn += 1) {
      await writeCalls(journal, callIds(`call-${turn}`, 500));
    }
    await journal.flush();
    expect(await countRows(database)).toBe(100_000);
    expect(journal.unflushedRecords).toBe(0);
    expect(segments()).toHaveLength(1);
  }, 120_000);

  it("keeps a segment as long as a call that began in it goes on", async () => {
    const long = await startCall(journal, "long");
    await writeCalls(journal, callIds("call", 30_000));
    await journal.flush();
    expect(segments()).toHaveLength(2);
    await long.close(usageRecord("long"));
    await journal.flush();
    expect(segments()).toHaveLength(1);
    expect(await countRows(database)).toBe(30_001);
  }, 60_000);

  it("inserts no row whose checkpoint it cannot move, and every row once when it can", async () => {
    await database.db.execute(sql`alter table journal_checkpoints rename to elsewhere`);
    await writeCalls(journal, callIds("call", 1_000));
    await expect(journal.flush()).rejects.toThrow();
    expect(await countRows(database)).toBe(0);
    expect(journal.unflushedRecords).toBe(1_000);
    await database.db.execute(sql`alter table elsewhere rename to journal_checkpoints`);
    await eventually(() => journal.unflushedRecords === 0);
    expect(await countRows(database)).toBe(1_000);
  });

  it("leaves neither folder nor checkpoint behind when it ends", async () => {
    await writeCalls(journal, ["a"]);
    await journal.drain(5_000);
    expect(readdirSync(root)).toEqual([]);
    expect(await ledger(database)).toEqual(["a ok 11"]);
    const checkpoints = await database.db.execute(sql`select 1 from journal_checkpoints`);
    expect([...checkpoints]).toEqual([]);
  });

  it("leaves a call that never ended to the next start, which records it as an error", async () => {
    const call = await startCall(journal, "cut");
    call.progress(5);
    call.progress(9);
    await journal.drain(500);
    expect(journals()).toHaveLength(1);
    journal = await openTestJournal(root, database);
    await journal.adopted;
    expect(await ledger(database)).toEqual(["cut error 9"]);
    expect(journals()).toHaveLength(1);
  });

  it("gives a record that is too large for it to the database, and keeps no segment for that", async () => {
    const call = await startCall(journal, "large");
    await call.close(usageRecord("large", { model: "m".repeat(40_000) }));
    expect(await ledger(database)).toEqual(["large ok 11"]);
    await journal.drain(5_000);
    expect(readdirSync(root)).toEqual([]);
  });

  it("goes on when somebody takes its folder away", async () => {
    await writeCalls(journal, ["a"]);
    rmSync(join(root, journals()[0] ?? ""), { recursive: true });
    await writeCalls(journal, ["b"]);
    await journal.flush();
    expect(await ledger(database)).toEqual(["a ok 11", "b ok 11"]);
  });

  it("begins a new folder when another process has taken its own, and loses no call", async () => {
    const long = await startCall(journal, "long");
    await writeCalls(journal, ["a"]);
    const [taken = ""] = journals();
    rmSync(join(root, taken, "process.lock"));
    const { db } = database;
    const quarantine = createQuarantine(root, silentLog);
    const watch = new HeartbeatWatch();
    const adoption = {
      root,
      own: "none",
      db,
      quarantine,
      limits: uncounted,
      watch,
      log: silentLog,
    };
    await adoptJournals(adoption);
    expect(journals()).toEqual([]);
    await writeCalls(journal, ["b"]);
    await eventually(() => journals().length === 1);
    expect(journals()).not.toContain(taken);
    await long.close(usageRecord("long"));
    await writeCalls(journal, ["c"]);
    expect(segments()).toHaveLength(1);
    await journal.flush();
    // The call that was under way has the row that the other process gave it.
    expect(await ledger(database)).toEqual(["a ok 11", "b ok 11", "c ok 11", "long error 0"]);
    await journal.drain(5_000);
    expect(readdirSync(root)).toEqual([]);
  });

  it("waits for no segment that another process has stored and removed", async () => {
    await database.db.execute(sql`alter table journal_checkpoints rename to elsewhere`);
    await writeCalls(journal, callIds("call", 30_000));
    expect(segments()).toHaveLength(2);
    rmSync(join(root, journals()[0] ?? ""), { recursive: true });
    await database.db.execute(sql`alter table elsewhere rename to journal_checkpoints`);
    await eventually(() => journal.unflushedRecords === 0);
    expect(journal.oldestUnflushedAgeSeconds).toBe(0);
    // What was still open could be read.
    expect(await ledger(database)).toContain("call-29999 ok 11");
    await journal.drain(5_000);
    expect(readdirSync(root)).toEqual([]);
  });

  it("goes on behind bytes that somebody spoilt under its hands, and keeps them aside", async () => {
    await writeCalls(journal, ["a"]);
    const path = join(root, journals()[0] ?? "", segments()[0] ?? "");
    const { size } = statSync(path);
    await writeCalls(journal, ["b"]);
    await writeCalls(journal, ["c"]);
    const spoilt = readFileSync(path);
    spoilt.writeUInt8(spoilt.readUInt8(size + 50) ^ 1, size + 50);
    writeFileSync(path, spoilt);
    await journal.flush();
    expect(journal.unflushedRecords).toBe(0);
    await writeCalls(journal, ["d"]);
    await journal.flush();
    expect(await ledger(database)).toEqual(["a ok 11", "d ok 11"]);
    const [aside = ""] = readdirSync(root).filter((name) => name.endsWith(".damaged"));
    expect(readFileSync(join(root, aside))).toEqual(spoilt.subarray(size));
    rmSync(join(root, aside));
  });

  it("waits for the disk before a call ends when told to", async () => {
    const { root: other, remove: removeOther } = journalRoot();
    const waiting = await openTestJournal(other, database, "wait");
    await writeCalls(waiting, ["a", "b", "c"]);
    await waiting.drain(5_000);
    expect(await ledger(database)).toEqual(["a ok 11", "b ok 11", "c ok 11"]);
    removeOther();
  });
});

describe("a record that the database refuses", () => {
  it("is kept aside, and all others are stored", async () => {
    for (let index = 0; index < 50; index += 1) {
      const isBad = index === 17 || index === 43;
      const model = isBad ? "nul \u0000" : "model";
      const id = `call-${index}`;
      await (await journal.open(usageStart(id))).close(usageRecord(id, { model }));
    }
    await journal.flush();
    expect(await countRows(database)).toBe(48);
    expect(journal.unflushedRecords).toBe(0);
    const [file] = readdirSync(root).filter((name) => name.endsWith(".aside"));
    const kept = readFileSync(join(root, file ?? ""), "utf8")
      .trim()
      .split("\n");
    expect(kept.map((line) => JSON.parse(line).id)).toEqual(["call-17", "call-43"]);
  });

  const rules: readonly [string, string, string][] = [
    [
      "a trigger",
      `create function refuse() returns trigger language plpgsql as
        $$ begin if new.model like 'refused%' then raise exception 'no'; end if; return new; end $$;
       create trigger refuse before insert on usage_records for each row execute function refuse()`,
      "drop trigger refuse on usage_records; drop function refuse()",
    ],
    [
      "a check",
      "alter table usage_records add constraint no_such check (model not like 'refused%')",
      "alter table usage_records drop constraint no_such",
    ],
  ];
  it.each(rules)("by %s is kept aside, and holds up no other", async (_, make, drop) => {
    for (const text of make.split(/;\n\s+(?=create trigger)/))
      await database.db.execute(sql.raw(text));
    try {
      for (let index = 0; index < 20; index += 1) {
        const model = index === 0 || index === 19 ? "refused" : "model";
        const id = `ruled-${index}`;
        await (await journal.open(usageStart(id))).close(usageRecord(id, { model }));
      }
      await journal.flush();
      expect(await countRows(database)).toBe(18);
      expect(journal.unflushedRecords).toBe(0);
    } finally {
      for (const text of drop.split("; ")) await database.db.execute(sql.raw(text));
    }
  });

  it("waits, as all others, while a rule refuses every one", async () => {
    const [[, make = "", drop = ""] = []] = rules;
    for (const text of make.split(/;\n\s+(?=create trigger)/))
      await database.db.execute(sql.raw(text));
    const write = async (id: string) =>
      (await journal.open(usageStart(id))).close(usageRecord(id, { model: "refused for now" }));
    await Promise.all(["one", "two", "three"].map(write));
    await expect(journal.flush()).rejects.toThrow();
    for (const text of drop.split("; ")) await database.db.execute(sql.raw(text));
    await journal.flush();
    expect(await countRows(database)).toBe(3);
    expect(readdirSync(root).filter((name) => name.endsWith(".aside"))).toEqual([]);
  });
});
