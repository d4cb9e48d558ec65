import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, describe, expect, test, vi } from "vitest";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { Db } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { openDatabase } from "../../../src/db/open-db.ts";
import { files } from "../../../src/db/tables/knowledge.ts";
import { deleteFile } from "../../../src/knowledge/files/delete-files.ts";
import { refuseOtherFolder } from "../../../src/knowledge/files/files-folder.ts";
import { createLog } from "../../../src/lib/log.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { makeBackup } from "../../../src/operations/backup/make-backup.ts";
import { writeBackupFile } from "../../../src/operations/backup/write-backup-file.ts";
import { actorOf, administrator, admitCallers } from "../../support/stages/access/test-callers.ts";
import {
  backUp,
  backUpOpen,
  createBackupStage,
  crossings,
  type Environment,
  makeInstallationWith,
  quickKind,
  readTablesOf,
  restore,
  type StoreKind,
  withDatabase,
} from "../../support/stages/backup-stage.ts";
import { addFile, createFileStore } from "../../support/stages/knowledge/file-store.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
const stage = createBackupStage();
afterAll(() => stage.remove());

const SMALL = "the same content in two files";
const LARGE = randomBytes(3_000_000);

const folderOf = ({ DATA_DIR = "" }: Environment) => DATA_DIR;

type Store = ReturnType<typeof createFileStore>;

async function withStore<Result>(
  environment: Environment,
  work: (store: Store, db: Db) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(loadConfig(environment).settings, createLog("error"));
  try {
    return await work(createFileStore(database, folderOf(environment)), database.db);
  } finally {
    await database.close();
  }
}

/** An installation with three files of two contents, in a store with chunks. */
function makeSource<Result>(
  place: Environment,
  work: (store: Store, database: Database) => Promise<Result>,
): Promise<Result> {
  return makeInstallationWith(place, 0, async (database) => {
    const { db } = database;
    const store = createFileStore(database, folderOf(place));
    await db.execute(sql`insert into users (id, username, role) values ('usr_1', 'one', 'admin')`);
    const added = [SMALL, SMALL, LARGE].map((content) => addFile(store, content));
    const [first] = await Promise.all(added);
    await db.execute(sql`
      insert into vector_stores (id, owner_id, name, embedding_model, dimensions)
      values ('vs_1', 'usr_1', 'one', 'sim-embed', 3)`);
    await db.execute(
      sql`insert into vector_store_files (vector_store_id, file_id) values ('vs_1', ${first?.id})`,
    );
    await db.execute(sql`
      insert into chunks (vector_store_id, generation, file_id, position, text, embedding, words)
      select 'vs_1', 1, ${first?.id}, i, 'text ' || i, array[0.1, -1e-7, i / 7.0]::real[],
        'e-4711:2 it''s:1,3 ''a \\b'':4'::tsvector
      from generate_series(1, 500) i`);
    // A number that was given and never used.
    await db.execute(sql`select nextval('chunks_id_seq')`);
    return work(store, database);
  });
}

/** What the cases back up and none leaves changed: one installation of each kind, with its backup. */
interface Source {
  readonly place: Environment;
  readonly file: string;
  readonly tables: Awaited<ReturnType<typeof readTablesOf>>;
}

const sources = new Map<StoreKind, Promise<Source>>();

function sourceOf(kind: StoreKind): Promise<Source> {
  const known = sources.get(kind) ?? backUpSource(kind);
  sources.set(kind, known);
  return known;
}

async function backUpSource(kind: StoreKind): Promise<Source> {
  const place = await stage.newPlace(kind);
  return makeSource(place, async (_, database) => {
    const file = await backUpOpen(place, database, stage.newFile());
    return { place, file, tables: await readTablesOf(database.db) };
  });
}

const contentsIn = (folder: string) =>
  readdirSync(join(folder, "files"), { recursive: true, encoding: "utf8" })
    .filter((path) => /[0-9a-f]{64}$/.test(path))
    .sort();

describe.each(crossings)("a backup of files in the %s database", (from, to) => {
  test(`brings each back into the ${to} one, with chunks and numbers`, async () => {
    const { place, file, tables } = await sourceOf(from);
    const target = await stage.newPlace(to);
    await restore(target, file);
    const [there, here] = [folderOf(target), folderOf(place)];
    expect(contentsIn(there)).toEqual(contentsIn(here));
    expect(contentsIn(there)).toHaveLength(2);
    for (const path of contentsIn(here)) {
      const restored = join(there, "files", path);
      expect(readFileSync(restored).equals(readFileSync(join(here, "files", path)))).toBe(true);
      expect(statSync(restored).mode & 0o777).toBe(0o600);
    }
    await withStore(target, async (store, db) => {
      expect(await readTablesOf(db)).toEqual(tables);
      await refuseOtherFolder(db, store.originals.folder);
      expect((await addFile(store, "after the restore")).bytes).toBe(17);
      const [chunk] = await db.execute<{ id: string }>(sql`
        insert into chunks (vector_store_id, generation, file_id, position, text, embedding, words)
        values ('vs_1', 1, 'file-1', 0, '', '{1}', '') returning id`);
      expect(Number(chunk?.id)).toBe(502);
    });
  });

  test("has the content of a file that is deleted while it is made", async () => {
    const source = await stage.newPlace(from);
    const file = stage.newFile();
    await makeSource(source, async (store, database) => {
      const { settings } = loadConfig(source);
      const made = { settings, database, productVersion: "1", now: systemClock.now() };
      const { bytes, close } = makeBackup(made);
      const read = bytes[Symbol.asyncIterator]();
      const first = await read.next();
      await admitCallers(database.db);
      for (const { id } of await database.db.select().from(files)) {
        await deleteFile(store, actorOf(administrator), id);
      }
      expect(contentsIn(folderOf(source))).toHaveLength(2);
      const all = async function* () {
        if (!first.done) yield first.value;
        yield* { [Symbol.asyncIterator]: () => read };
      };
      await writeBackupFile({ file, bytes: all() });
      await close();
    });
    const target = await stage.newPlace(quickKind);
    await restore(target, file);
    // Of as many as were there at the moment that the backup shows.
    const named = await withDatabase(target, (db) =>
      db.selectDistinct({ sha256: files.sha256 }).from(files),
    );
    const restored = contentsIn(folderOf(target)).map((path) => basename(path));
    expect(restored.sort()).toEqual(named.map(({ sha256 }) => sha256).sort());
  });
});

test("the entry of a content is named by its SHA-256, once", async () => {
  const { place, file } = await sourceOf(quickKind);
  const listed = execFileSync("tar", ["-tzf", file], { encoding: "utf8" }).split("\n");
  expect(listed.filter((path) => path.startsWith("originals/"))).toHaveLength(2);
  expect(
    readdirSync(join(folderOf(place), "files")).filter((name) => name.endsWith(".hold")),
  ).toEqual([]);
});

test.each(["missing", "not whole", "damaged"])(
  "a content that is %s fails the backup, which names it and leaves no file",
  async (state) => {
    const { place } = await sourceOf(quickKind);
    const [path = ""] = contentsIn(folderOf(place));
    const content = join(folderOf(place), "files", path);
    const bytes = readFileSync(content);
    if (state === "missing") rmSync(content);
    else if (state === "not whole") writeFileSync(content, bytes.subarray(1));
    else writeFileSync(content, Buffer.alloc(bytes.length));
    const file = stage.newFile();
    const failure = await backUp(place, file).catch((thrown: unknown) => String(thrown));
    writeFileSync(content, bytes, { mode: 0o600 });
    expect(failure).toContain(`is ${state}`);
    expect(failure).toContain(content);
    expect(existsSync(file)).toBe(false);
  },
);

test("a restore overwrites no file in FILES_DIR", async () => {
  const { file } = await sourceOf(quickKind);
  const occupied = join(folderOf(await stage.newPlace(quickKind)), "elsewhere");
  const target = await stage.newPlace(quickKind, { FILES_DIR: occupied });
  execFileSync("mkdir", ["-p", occupied]);
  writeFileSync(join(occupied, "folder-id"), "of another installation");
  await expect(restore(target, file)).rejects.toThrow("FILES_DIR");
});
