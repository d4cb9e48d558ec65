import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { Db } from "../../../src/db/context.ts";
import { thisProcess } from "../../../src/lib/process-lock/process-identity.ts";
import { placeMigratedDatabase } from "../../support/servers/databases/prepared-database.ts";
import {
  backUp,
  createBackupStage,
  type Environment,
  leaveJournal,
  makeInstallation,
  makeInstallationWith,
  quickKind,
  readTablesOf,
  restore,
  type StoreKind,
  storeKinds,
  withDatabase,
} from "../../support/stages/backup-stage.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
const stage = createBackupStage();
afterAll(() => stage.remove());

const LONG_JOURNAL = `${"a-long-name-of-a-replica-".repeat(3)}0123456789.journal`;
const ODD_TEXT = `a "quote", a back\\slash, a {brace}, NULL, a tab\tand
a line, and 日本語 🎉`;
/** Beyond what a JavaScript number holds. */
const HUGE = "9007199254740993";

/** Rows with everything that a text can get wrong, in and between days that have a partition. */
async function fill(db: Db): Promise<void> {
  const json = JSON.stringify({ text: ODD_TEXT, none: null, deep: [[1.5, HUGE], {}] });
  await db.execute(
    sql`insert into users (id, username, role) values ('usr_1', ${ODD_TEXT.toLowerCase()}, 'admin')`,
  );
  await db.execute(sql`
    insert into api_keys (id, name, key_hash, last_four, owner_id, tool_scope, ip_allow, token_limit, change_seq)
    values ('key_1', ${ODD_TEXT}, 'hash', 'abcd', 'usr_1', ${json}::jsonb, array[${ODD_TEXT}, '', 'NULL'], ${HUGE}::bigint, 1),
      ('key_2', '', 'other hash', 'abcd', 'usr_1', 'null'::jsonb, '{}', null, 2)`);
  await db.execute(
    sql`insert into bi_keys (id, name, key_hash, last_four, owner_id) values ('bik_1', 'one', 'h', 'abcd', 'usr_1')`,
  );
  await db.execute(
    sql`insert into sessions (id, token_hash, user_id, expires_at) values ('sid_1', 't', 'usr_1', 'infinity')`,
  );
  await db.execute(
    sql`insert into bootstrap_keys (key_hash) values ('hash'), ('of a key that is gone')`,
  );
  await db.execute(sql`
    insert into connections (id, name, name_key, kind, host, port, user_name, tls, sealed_password, change_seq)
    values ('conn_1', ${ODD_TEXT}, 'odd', 'mysql', 'db.test', 3306, 'u', 'verify', 'v1.sealed', 3)`);
  await db.execute(sql`insert into change_counters values ('api_keys', 12)`);
  await db.execute(sql`
    insert into audit_log (via, action, target_kind, details)
    select 'service', 'user.create', 'user', ${json}::jsonb from generate_series(1, 3)`);
  // A number that was given and never used.
  await db.execute(sql`select nextval('audit_log_id_seq')`);
  await db.execute(
    sql`insert into outbox_events (id, sink, kind, body) values ('evt_1', 'alert_webhook', 'k', ${json}::jsonb)`,
  );
  await db.execute(
    sql`insert into usage_hours values ('2026-11-01 10:00:00.123456+00', 'key_1', 'm', 'chat', ${HUGE}::bigint, 0, 0, 0, 0, 0)`,
  );
  await db.execute(
    sql`insert into usage_months values ('key_1', '2026-11-01', 4, ${HUGE}::bigint)`,
  );
}

async function partitionSizes(db: Db): Promise<readonly object[]> {
  const rows = await db.execute(sql`
    select tableoid::regclass::text as partition, count(*)::int as rows from usage_records group by 1 order by 1`);
  return [...rows];
}

function journalOf({ DATA_DIR = "" }: Environment): readonly string[] {
  return readdirSync(join(DATA_DIR, "journal"), { recursive: true, encoding: "utf8" }).sort();
}

/** An installation with everything, which is backed up and not changed afterwards. */
interface Source {
  readonly place: Environment;
  readonly file: string;
  readonly tables: Awaited<ReturnType<typeof readTablesOf>>;
  readonly partitions: Awaited<ReturnType<typeof partitionSizes>>;
}

const sources = new Map<StoreKind, Promise<Source>>();

function sourceOf(kind: StoreKind): Promise<Source> {
  const known = sources.get(kind) ?? makeSource(kind);
  sources.set(kind, known);
  return known;
}

async function makeSource(kind: StoreKind): Promise<Source> {
  const place = await stage.newPlace(kind);
  const content = await makeInstallationWith(place, 5_000, async ({ db }) => {
    await fill(db);
    return { tables: await readTablesOf(db), partitions: await partitionSizes(db) };
  });
  leaveJournal(place);
  leaveJournal(place, LONG_JOURNAL);
  const folder = place["DATA_DIR"] ?? "";
  writeFileSync(join(folder, "license.lic"), "a license");
  writeFileSync(join(folder, "seen-time"), "a time");
  return { place, file: await backUp(place, stage.newFile()), ...content };
}

/** That references, sequences and the audit log's guard are as strict as they were. */
async function expectStrict(db: Db): Promise<void> {
  const added = await db.execute<{ id: string }>(
    sql`insert into audit_log (via, action, target_kind) values ('service', 'a', 'b') returning id`,
  );
  // Three rows, and the number that was given and never used.
  expect(Number(added[0]?.id)).toBe(5);
  await expect(db.execute(sql`delete from audit_log`)).rejects.toThrow();
  await expect(
    db.execute(
      sql`insert into sessions (id, token_hash, user_id, expires_at) values ('s', 't2', 'nobody', now())`,
    ),
  ).rejects.toThrow();
  await db.execute(sql`delete from users`);
  expect(await db.execute(sql`select from api_keys`)).toHaveLength(0);
}

/** That a folder that was never used stays so when it is to be backed up. */
async function expectNoBackup(unused: Environment): Promise<void> {
  await expect(backUp(unused, stage.newFile())).rejects.toThrow(
    /nothing to back up: no database is in .*Give this command the DATA_DIR/,
  );
  expect(existsSync(unused["DATA_DIR"] ?? "")).toBe(false);
}

describe.each(storeKinds)("a backup of the %s database", (from) => {
  test.each(storeKinds)(
    "brings everything back into the %s one, as strict as it was",
    async (to) => {
      const { place: source, file, tables, partitions } = await sourceOf(from);
      const folder = source["DATA_DIR"] ?? "";
      const target = await stage.newPlace(to);
      if (to === "embedded") await expectNoBackup(target);
      await restore(target, file);
      await withDatabase(target, async (db) => {
        expect(await readTablesOf(db)).toEqual(tables);
        const sizes = await partitionSizes(db);
        expect(sizes).toEqual(partitions);
        expect(sizes).toContainEqual({ partition: "usage_records_20261102", rows: 1_440 });
        await expectStrict(db);
      });

      const restored = target["DATA_DIR"] ?? "";
      for (const name of ["secret", "license.lic", "seen-time"]) {
        expect(readFileSync(join(restored, name), "utf8")).toBe(
          readFileSync(join(folder, name), "utf8"),
        );
        expect(statSync(join(restored, name)).mode & 0o777).toBe(0o600);
      }
      expect(journalOf(target)).toEqual(journalOf(source));
      const name = `journal/${LONG_JOURNAL}.2.170.damaged`;
      expect(readFileSync(join(restored, name))).toEqual(readFileSync(join(folder, name)));
      expect(existsSync(join(restored, "restore.unfinished"))).toBe(false);
    },
  );
});

test("APP_SECRET is told of and never part of a backup, and a restore wants the same one", async () => {
  const APP_SECRET = "the secret of this installation";
  const source = await stage.newPlace(quickKind, { APP_SECRET });
  await makeInstallation(source);
  const file = await backUp(source, stage.newFile());
  const target = await stage.newPlace(quickKind);
  await expect(restore(target, file)).rejects.toThrow(/Set APP_SECRET to the same value/);
  const other = { ...target, APP_SECRET: "the secret of another installation" };
  await expect(restore(other, file)).rejects.toThrow(/APP_SECRET is not the secret of the backup/);
  expect(existsSync(target["DATA_DIR"] ?? "")).toBe(false);
  await restore({ ...target, APP_SECRET }, file);
  expect(existsSync(join(target["DATA_DIR"] ?? "", "secret"))).toBe(false);
  await expect(backUp(source, file)).rejects.toThrow(/overwrites nothing/);
  await expect(
    backUp({ ...source, APP_SECRET: "a wrong one, long enough" }, stage.newFile()),
  ).rejects.toThrow(/not the one that this database was set up with/);
});

test("a restore overwrites neither a folder nor a database that holds anything", async () => {
  const { file } = await sourceOf(quickKind);
  const withDatabaseFiles = await stage.newPlace("embedded");
  await placeMigratedDatabase(withDatabaseFiles["DATA_DIR"] ?? "");
  await expect(restore(withDatabaseFiles, file)).rejects.toThrow(/is not empty \(database/);

  const withJournal = await stage.newPlace(quickKind, { JOURNAL_DIR: stage.newFile() });
  leaveJournal(withJournal);
  await expect(restore(withJournal, file)).rejects.toThrow(/another folder by JOURNAL_DIR/);

  if (!storeKinds.includes("postgres")) return;
  const occupied = await stage.newPlace("postgres");
  await withDatabase(occupied, (db) => db.execute(sql`create table mine (id int)`));
  await expect(restore(occupied, file)).rejects.toThrow(/database is not empty \(mine\)/);
  // It has changed nothing: with another database the same folder is as good as new.
  const { DATABASE_URL = "" } = await stage.newPlace("postgres");
  await restore({ ...occupied, DATABASE_URL }, file);
});

test("the folder of backups and a license that was placed are no obstacle", async () => {
  const { place: source } = await sourceOf(quickKind);
  const target = await stage.newPlace(quickKind);
  const folder = target["DATA_DIR"] ?? "";
  mkdirSync(folder);
  writeFileSync(join(folder, "license.lic"), "placed by the operator");
  const file = await backUp(source, join(folder, "backups", "one.tar.gz"));
  await restore(target, file);
  expect(readFileSync(join(folder, "license.lic"), "utf8")).toBe("placed by the operator");
});

test("a database on which no gateway has started is not backed up", async () => {
  const empty = await stage.newPlace(quickKind, { APP_SECRET: "the secret of this installation" });
  await withDatabase(empty, (db) => db.execute(sql`select 1`));
  await expect(backUp(empty, stage.newFile())).rejects.toThrow(/nothing to back up/);
});

test("what killed backups left in a folder is removed by the next one, and no other file", async () => {
  const { place: source } = await sourceOf(quickKind);
  const file = stage.newFile();
  const { place, startedAt, pid } = thisProcess();
  const { pid: gone } = spawnSync(process.execPath, ["--version"]);
  const partial = (owner: string) => `${file}.${owner}.abcdefgh.partial`;
  const [left, reused] = [`${gone}.1.${place}`, `${pid}.1${startedAt}.${place}`].map(partial);
  const [own, elsewhere] = [`${pid}.${startedAt}.${place}`, `${gone}.1.elsewhere1`].map(partial);
  const other = `${file}.of-somebody.partial`;
  const all = [left, reused, own, elsewhere, other] as string[];
  for (const path of all) writeFileSync(path, "half");
  await backUp(source, file);
  expect(all.filter((path) => existsSync(path))).toEqual([own, elsewhere, other]);
});

test("a file that is there already is refused before anything is asked for", async () => {
  const file = stage.newFile();
  writeFileSync(file, "another");
  await expect(backUp(await stage.newPlace(quickKind), file)).rejects.toThrow(/is there already/);
});
