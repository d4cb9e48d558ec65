import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readArchive } from "../../../src/operations/backup/archive/read-archive.ts";
import {
  type ArchiveWriter,
  writeArchive,
} from "../../../src/operations/backup/archive/write-archive.ts";
import type { Manifest } from "../../../src/operations/backup/backup-format.ts";
import { checkBackup } from "../../../src/operations/backup/check-backup.ts";
import {
  backUp,
  createBackupStage,
  leaveJournal,
  makeInstallation,
  quickKind,
  readTables,
  restore,
} from "../../support/stages/backup-stage.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
const LONG = `${"a-long-name-".repeat(10)}0123456789.journal`;
const FLIPS = 60;

const stage = createBackupStage();
const folder = mkdtempSync(join(tmpdir(), "backup-format-"));
let file: string;
let sound: Buffer;

beforeAll(async () => {
  const source = await stage.newPlace(quickKind);
  await makeInstallation(source, 3_000);
  leaveJournal(source);
  leaveJournal(source, LONG);
  file = await backUp(source, stage.newFile());
  sound = readFileSync(file);
});
afterAll(async () => {
  await stage.remove();
  await rm(folder, { recursive: true, force: true });
});

/** The refusal of a file with these bytes, by a restore that changes nothing. */
async function refusal(bytes: Uint8Array): Promise<string> {
  const damaged = join(folder, "damaged");
  writeFileSync(damaged, bytes);
  const target = await stage.newPlace("embedded");
  const answer = await restore(target, damaged).then(
    () => "restored",
    (thrown: Error) => (thrown.name === "BackupError" ? thrown.message : String(thrown.stack)),
  );
  expect(existsSync(target["DATA_DIR"] ?? "")).toBe(false);
  return answer;
}

type Entries = Map<string, Buffer>;

/** The backup with other entries, as sound as a backup can be made of them. */
async function rewritten(change: (entries: Entries) => void): Promise<Buffer> {
  const entries: Entries = new Map();
  for await (const { path, content } of readArchive(file)) {
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(part);
    entries.set(path, Buffer.concat(parts));
  }
  change(entries);
  const { bytes } = writeArchive(0, async (archive) => {
    for (const [path, content] of entries) {
      const isManifest = path === "manifest.json";
      await archive.add(path, isManifest ? withSums(content, archive) : content);
    }
  });
  const compressed: Buffer[] = [];
  for await (const chunk of bytes) compressed.push(chunk);
  return Buffer.concat(compressed);
}

function withSums(manifest: Buffer, { sums }: ArchiveWriter): Buffer {
  const content = JSON.parse(manifest.toString()) as Manifest;
  return Buffer.from(JSON.stringify({ ...content, entries: sums }));
}

function changeJson(entries: Entries, path: string, change: (value: never) => object): void {
  const value = JSON.parse(entries.get(path)?.toString() ?? "") as never;
  entries.set(path, Buffer.from(JSON.stringify(change(value))));
}

test("a backup is for its owner alone, and any tar shows what is in it", () => {
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const listed = execFileSync("tar", ["-tzf", file], { encoding: "utf8" }).split("\n");
  expect(listed[0]).toBe("format.json");
  expect(listed.at(-2)).toBe("manifest.json");
  expect(listed).toContain(`journal/${LONG}/00000001.segment`);
  expect(listed).toContain("tables/usage_records/000001.jsonl");
  const manifest = execFileSync("tar", ["-xOzf", file, "manifest.json"], { encoding: "utf8" });
  expect(JSON.parse(manifest)).toMatchObject({
    productVersion: "1.2.3",
    database: { kind: quickKind },
    secret: { keptIn: "file" },
    tables: expect.arrayContaining([
      expect.objectContaining({ name: "usage_records", rows: 3_000 }),
    ]),
  });
});

test("what is put together again as it was is taken", async () => {
  writeFileSync(join(folder, "same"), await rewritten(() => undefined));
  const { tables } = await checkBackup({ file: join(folder, "same") });
  expect(tables.find(({ name }) => name === "usage_records")?.rows).toBe(3_000);
});

describe("a restore refuses, and changes nothing, for", () => {
  test("a file that ends early, wherever", async () => {
    const lengths = [0, 1, 9, 10, 100, sound.length >> 1, sound.length - 9, sound.length - 1];
    for (const length of lengths) {
      expect(await refusal(sound.subarray(0, length))).toMatch(/damaged/);
    }
  });

  test("a byte that was flipped, wherever", async () => {
    const damaged = join(folder, "flipped");
    for (let flip = 0; flip < FLIPS; flip += 1) {
      // The first ten bytes hold a time and a system's name, which say nothing.
      const at = 10 + Math.floor(((sound.length - 11) * flip) / (FLIPS - 1));
      const bytes = Buffer.from(sound);
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (flip % 8)), at);
      writeFileSync(damaged, bytes);
      await expect(checkBackup({ file: damaged }), `byte ${at}`).rejects.toThrow(/damaged/);
    }
  });

  test.each([
    ["text", Buffer.from("not a backup at all")],
    ["another compressed file", gzipSync("not a backup at all".repeat(200))],
    ["an empty archive", gzipSync(Buffer.alloc(1_024))],
  ])("%s", async (_, bytes) => {
    expect(await refusal(bytes)).toMatch(/no backup of the gateway|its end is missing/);
  });

  test("another tar archive", async () => {
    execFileSync("tar", ["-czf", join(folder, "other.tar.gz"), "package.json"]);
    const refused = await refusal(readFileSync(join(folder, "other.tar.gz")));
    expect(refused).toMatch(/no backup of the gateway/);
  });

  test("a later format, a later schema, and tables or files that it does not know", async () => {
    const later = await rewritten((entries) =>
      changeJson(entries, "format.json", (format: object) => ({ ...format, version: 3 })),
    );
    expect(await refusal(later)).toMatch(/format 3.*up to 2.*newer one/);
    const schema = await rewritten((entries) =>
      changeJson(entries, "manifest.json", (manifest: Manifest) => ({
        ...manifest,
        productVersion: "9.0.0",
        database: { ...manifest.database, migration: manifest.database.migration + 1 },
      })),
    );
    expect(await refusal(schema)).toMatch(/release 9\.0\.0.*does not know/);
    const foreign = await rewritten((entries) => {
      const manifest = entries.get("manifest.json") ?? Buffer.alloc(0);
      entries.delete("manifest.json");
      entries.set("journal/../../etc/passwd", Buffer.from("x"));
      entries.set("manifest.json", manifest);
    });
    expect(await refusal(foreign)).toMatch(/does not know/);
  });

  test("a statement where a partition's bounds should stand", async () => {
    const bound = "DEFAULT; drop table users; --";
    const evil = await rewritten((entries) =>
      changeJson(entries, "manifest.json", (manifest: Manifest) => ({
        ...manifest,
        partitions: [{ table: "usage_records", name: "p", bound }],
      })),
    );
    expect(await refusal(evil)).toMatch(/manifest cannot be read/);
  });

  test("an entry or a row that is missing", async () => {
    const without = await rewritten((entries) =>
      entries.delete("tables/usage_records/000001.jsonl"),
    );
    expect(await refusal(without)).toMatch(/rows are missing/);
    const shorter = await rewritten((entries) => {
      const rows = entries.get("tables/usage_records/000001.jsonl")?.toString() ?? "";
      const cut = Buffer.from(rows.slice(rows.indexOf("\n") + 1));
      entries.set("tables/usage_records/000001.jsonl", cut);
    });
    expect(await refusal(shorter)).toMatch(/rows are missing/);
  });
});

test("a backup of the first release of the format restores to the last row, byte and file", async () => {
  const first = fileURLToPath(new URL("../../fixtures/backups/format-1.backup", import.meta.url));
  const target = await stage.newPlace(quickKind);
  await restore(target, first);
  const dataDir = target["DATA_DIR"] ?? "";
  const longName = `${"a-long-name-of-a-replica-".repeat(4)}0123456789.journal`;
  for (const journal of [longName, "gateway-gone.journal"]) {
    const path = join(dataDir, "journal", journal);
    expect(statSync(join(path, "00000001.segment")).size).toBeGreaterThan(300);
    expect(readFileSync(`${path}.aside`, "utf8")).toBe('{"id":"refused"}\n');
    expect(readFileSync(`${path}.2.170.damaged`)).toEqual(Buffer.from([1, 2, 3, 0, 255]));
  }
  expect(readFileSync(join(dataDir, "license.lic"), "utf8")).toBe("a license");
  expect(readFileSync(join(dataDir, "seen-time"), "utf8")).toBe("a time");
  expect(readFileSync(join(dataDir, "secret"), "utf8")).toHaveLength(44);
  const tables = await readTables(target);
  expect(tables["usage_records"]).toHaveLength(1_500);
  expect(tables["users"]?.[0]).toContain('größe ""quoted"" 🎉');
  expect(tables["api_keys"]?.[0]).toContain("10.0.0.0/8");
  expect(tables["usage_months"]).toEqual(["(key_1,2026-11-01,4,9007199254740993)"]);
  expect(tables["audit_log"]).toHaveLength(1);
  expect(tables["installation"]).toHaveLength(1);
});
