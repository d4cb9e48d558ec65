// Drives a usage journal on a disk of 4 MB that is filled and freed again, and says what came of it as one line
// of JSON. The disk is mounted at the folder given, seen by this program alone; so it starts itself anew.
import { spawnSync } from "node:child_process";
import {
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../../src/core/service-error.ts";
import { scanRecords } from "../../../src/usage/journal/scan-records.ts";
import { openTestDatabase } from "../servers/databases/test-database.ts";
import {
  countRows,
  eventually,
  ledger,
  openTestJournal,
  startCall,
  usageRecord,
  usageStart,
} from "../stages/usage/usage-journal.ts";

const MOUNT = 'mount -t tmpfs -o size=4m,mode=700 tmpfs "$0" && exec "$@"';

const [runtime = "", script = "", disk = "", isMounted] = process.argv;
if (isMounted === undefined) {
  const self = [runtime, ...process.execArgv, script, disk, "mounted"];
  const { status } = spawnSync("unshare", ["-m", "sh", "-c", MOUNT, disk, ...self], {
    stdio: "inherit",
  });
  process.exit(status ?? 1);
}

const ballast = join(disk, "ballast");
const database = await openTestDatabase();
const journal = await openTestJournal(disk, database, "group");
let calls = 0;

/** Whether the call, from its start to its end, went around the journal. */
async function call(): Promise<{ readonly wentAround: boolean }> {
  const id = `call-${calls}`;
  calls += 1;
  const entry = await startCall(journal, id);
  await entry.close(usageRecord(id));
  return { wentAround: journal.isRefusing };
}

/** Leaves `bytes` of the disk free. */
function fillDisk(bytes: number): void {
  const file = openSync(ballast, "w");
  const block = Buffer.alloc(4_096, 1);
  let size = 0;
  try {
    for (;;) size += writeSync(file, block);
  } catch {
    ftruncateSync(file, size - bytes);
  }
  closeSync(file);
}

/** True when every byte of every segment belongs to a whole record. */
function areSegmentsWhole(): boolean {
  const folders = readdirSync(disk).filter((name) => name.endsWith(".journal"));
  return folders.every((name) =>
    readdirSync(join(disk, name))
      .filter((file) => file.endsWith(".segment"))
      .every((file) => scanRecords(readFileSync(join(disk, name, file))).rest === "nothing"),
  );
}

async function rejection(work: () => unknown): Promise<string> {
  try {
    await work();
    return "none";
  } catch (thrown) {
    return thrown instanceof ServiceError ? thrown.code : String(thrown);
  }
}

const begunInJournal = await startCall(journal, "across");
const beforeFull = await call();

fillDisk(16 * 1_024);
let around = 0;
for (let index = 0; index < 30; index += 1) {
  // Those of the turn in which the disk is full are refused together.
  const together = await Promise.all(Array.from({ length: 10 }, call));
  around += together.filter(({ wentAround }) => wentAround).length;
}
const isRefusing = journal.isRefusing;
const isWholeWhileFull = areSegmentsWhole();
await begunInJournal.close(usageRecord("across"));

await database.db.execute("alter table journal_checkpoints rename to elsewhere");
const bothGone = await rejection(() => journal.open(usageStart("refused")));
const mayRecordWithout = await journal.canRecord();
rmSync(ballast);
// A server that says no gets no calls that would find out.
await eventually(() => journal.canRecord());
await database.db.execute("alter table elsewhere rename to journal_checkpoints");

await eventually(async () => !(await call()).wentAround);
const afterwards = await call();
await eventually(() => journal.unflushedRecords === 0);
const rows = await countRows(database);
const wrong = (await ledger(database)).filter((line) => !line.endsWith(" ok 11"));
await journal.drain(5_000);
const left = readdirSync(disk);
await database.close();

writeSync(
  1,
  `${JSON.stringify({
    wentAroundBefore: beforeFull.wentAround,
    wentAround: around > 100,
    isRefusing,
    isWholeWhileFull,
    bothGone,
    mayRecordWithout,
    wentAroundAfter: afterwards.wentAround,
    isEveryCallThereOnce: rows === calls + 1,
    wrong,
    left,
  })}\n`,
);
