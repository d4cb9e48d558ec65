import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { Database } from "../../../src/db/database.ts";
import { createLog } from "../../../src/lib/log.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { askServer } from "../../../src/operations/backup/ask-server.ts";
import { checkBackup } from "../../../src/operations/backup/check-backup.ts";
import { openBackups } from "../../../src/operations/backup/open-backups.ts";
import { type BackupServer, serveBackups } from "../../../src/operations/backup/serve-backups.ts";
import {
  createBackupStage,
  leaveJournal,
  openNewInstallation,
} from "../../support/stages/backup-stage.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
/** More than all buffers between the two hold. */
const LARGE_BYTES = 4 * 1024 * 1024;
const BROKEN_OFF = /The server broke the backup off/;

const stage = createBackupStage();
const lines: { msg: string; cause?: string }[] = [];
const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line)) });
const isLogged = (text: string) =>
  vi.waitFor(() => expect(lines.map(({ msg }) => msg)).toEqual([text]), { timeout: 60_000 });
let dataDir: string;
let database: Database;
let server: BackupServer;

beforeAll(async () => {
  const place = await stage.newPlace("embedded");
  dataDir = place["DATA_DIR"] ?? "";
  database = await openNewInstallation(place, 1_000, log);
  leaveJournal(place);
  // The last that is read before the database.
  writeFileSync(join(dataDir, "journal", "gateway-gone.journal.aside"), randomBytes(LARGE_BYTES));
});
afterAll(async () => {
  await database.close();
  await stage.remove();
});
/** @param beginsAfter what a backup waits for before its first byte. */
async function serve(silenceMs?: number, beginsAfter?: () => Promise<void>): Promise<BackupServer> {
  const { settings } = loadConfig({ DATA_DIR: dataDir });
  const parts = { settings, database, log };
  const { begin, close } = openBackups({ ...parts, productVersion: "1.2.3", clock: systemClock });
  const beginLate = () => {
    const begun = begin();
    return begun && Promise.resolve(beginsAfter?.()).then(() => begun);
  };
  return serveBackups({ ...parts, backups: { begin: beginLate, close } }, silenceMs);
}

beforeEach(async () => {
  lines.length = 0;
  server = await serve();
});
afterEach(() => server.close());

async function ask(): Promise<AsyncGenerator<Buffer>> {
  const bytes = await askServer(dataDir);
  if (bytes === undefined) throw new Error("no server is there");
  return bytes;
}

async function readAll(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test("a server hands a whole backup to its own user only", async () => {
  expect(statSync(join(dataDir, "backup.socket")).mode & 0o777).toBe(0o600);
  const file = stage.newFile();
  writeFileSync(file, await readAll(await ask()));
  const { tables } = await checkBackup({ file });
  expect(tables.find(({ name }) => name === "usage_records")?.rows).toBe(1_000);
  await isLogged("a backup was sent");
});

test("a second command is refused while the first reads, and served after it", async () => {
  const first = await ask();
  await first.next();
  await expect(askServer(dataDir)).rejects.toThrow("A backup is being made already");
  await readAll(first);
  await isLogged("a backup was sent");
  expect((await readAll(await ask())).length).toBeGreaterThan(LARGE_BYTES);
});

test("a command that leaves costs nothing, and the next one gets its backup", async () => {
  const left = await ask();
  await left.next();
  await left.return(undefined);
  await isLogged("a backup was cancelled: its reader has left");
  expect((await readAll(await ask())).length).toBeGreaterThan(LARGE_BYTES);
});

test("a command that leaves before its backup has begun costs nothing, and the next one gets its backup", async () => {
  await server.close();
  let begin: () => void = () => undefined;
  const begins = new Promise<void>((resolve) => {
    begin = resolve;
  });
  server = await serve(600_000, () => begins);
  const client = connect(join(dataDir, "backup.socket"));
  client.write("POST / HTTP/1.1\r\nhost: backup\r\ncontent-length: 0\r\n\r\n");
  // It is asked for before anybody else may.
  await expect.poll(() => askServer(dataDir).catch(String)).toContain("is being made already");
  client.destroy();
  await once(client, "close");
  begin();
  await isLogged("a backup was cancelled: its reader has left");
  expect((await readAll(await ask())).length).toBeGreaterThan(LARGE_BYTES);
});

test("a command that takes nothing is given up", async () => {
  await server.close();
  server = await serve(200);
  const stalled = await ask();
  await stalled.next();
  await isLogged("a backup was cancelled: its reader has left");
  await expect(readAll(stalled)).rejects.toThrow(BROKEN_OFF);
});

test("a command waits for the first byte for as long as a backup takes to begin", async () => {
  await server.close();
  const silenceMs = 200;
  server = await serve(silenceMs, () => sleep(5 * silenceMs));
  const bytes = await ask();
  expect((await bytes.next()).value?.length).toBeGreaterThan(0);
  await bytes.return(undefined);
});

test("a server that stops breaks the backup off, and the command knows", async () => {
  const bytes = await ask();
  await bytes.next();
  const isBroken = expect(readAll(bytes)).rejects.toThrow(BROKEN_OFF);
  await server.close();
  await isBroken;
  expect(existsSync(join(dataDir, "backup.socket"))).toBe(false);
  expect(await askServer(dataDir)).toBeUndefined();
});

test("a database that fails half-way breaks the backup off, and the log says why", async () => {
  await database.db.execute(sql`alter table installation rename to elsewhere`);
  try {
    await expect(readAll(await ask())).rejects.toThrow(BROKEN_OFF);
  } finally {
    await database.db.execute(sql`alter table elsewhere rename to installation`);
  }
  await isLogged("a backup failed");
  expect(lines[0]?.cause).toContain("installation");
});

test("what a killed server left behind is no server", async () => {
  await server.close();
  writeFileSync(join(dataDir, "backup.socket"), "");
  expect(await askServer(dataDir)).toBeUndefined();
});

test("an answer in another protocol is refused", async () => {
  await server.close();
  const other = createServer((socket) =>
    socket.resume().end("\u0001\u0002\u0003\u0004\u0005 no http\r\n\r\n"),
  );
  await new Promise<void>((resolve) => other.listen(join(dataDir, "backup.socket"), resolve));
  await expect(ask().then(readAll)).rejects.toThrow(BROKEN_OFF);
  await new Promise((resolve) => other.close(resolve));
});
