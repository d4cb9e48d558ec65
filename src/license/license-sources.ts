import { readFile, stat } from "node:fs/promises";
import { gt } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import type { Database } from "../db/database.ts";
import { uploadedLicense } from "../db/tables/license.ts";
import type { Log } from "../lib/log.ts";
import { repeat } from "../lib/time/repeat.ts";
import { LICENSE_MAX_BYTES, LicenseRefusal, type LicenseTerms } from "./license-file.ts";

/** The origin of a license. */
type LicenseSource = "uploaded" | "placed";

export interface HeldLicense {
  readonly source: LicenseSource;
  readonly terms: LicenseTerms;
}

/** The available licenses: the uploaded one, for all replicas, and the one placed beside this replica. */
export interface LicenseSources {
  /** Returns another array when they have changed. */
  readonly all: () => readonly HeldLicense[];
  /** Loads an upload that has been committed. Never rejects. */
  readonly catchUp: () => Promise<void>;
  readonly close: () => void;
}

export interface LicenseSourcesOptions {
  readonly database: Pick<Database, "db" | "askOwn" | "kind">;
  /** The placed file. */
  readonly path: string;
  /** The operator has named it, so it should exist. */
  readonly isNamed: boolean;
  /** Throws a `LicenseRefusal`. */
  readonly accept: (file: string) => LicenseTerms;
  readonly log: Log;
}

/** Pause between two checks for an upload to another replica. */
const POLL_INTERVAL_MS = 500;

/**
 * Reads both licenses and follows the uploaded one until closed. A license that does not verify is logged and ignored.
 */
export async function openLicenseSources(options: LicenseSourcesOptions): Promise<LicenseSources> {
  const { database, accept, log } = options;
  const take = (source: HeldLicense["source"], file: string): readonly HeldLicense[] => {
    try {
      return [{ source, terms: accept(file) }];
    } catch (thrown) {
      if (!(thrown instanceof LicenseRefusal)) throw thrown;
      log.warn({ source, reason: thrown.message }, "a license was rejected");
      return [];
    }
  };
  const placedFile = await readPlaced(options);
  const placed = placedFile === undefined ? [] : take("placed", placedFile);
  let held = placed;
  let upTo = 0;

  const read = async (db: Db): Promise<void> => {
    const [row] = await db
      .select()
      .from(uploadedLicense)
      .where(gt(uploadedLicense.changeSeq, upTo));
    // A read that began later may have finished first.
    if (row === undefined || row.changeSeq <= upTo) return;
    upTo = row.changeSeq;
    held = [...take("uploaded", row.text), ...placed];
  };
  // The embedded database has no other writer than this process.
  const isSoleWriter = database.kind === "embedded";
  let isBehind = false;
  const catchUp = async (): Promise<void> => {
    try {
      await database.askOwn(read);
      isBehind = false;
    } catch (thrown) {
      isBehind = true;
      const cause = thrown instanceof Error ? thrown.message : String(thrown);
      log.debug({ cause }, "the license could not be read; the one last read stays in force");
    }
  };

  await read(database.db);
  const polling = repeat(POLL_INTERVAL_MS, async () => {
    if (!isSoleWriter || isBehind) await catchUp();
  });
  return {
    all: () => held,
    catchUp,
    close: () => polling.stop(),
  };
}

/** Reads the placed file as Latin-1, which preserves every byte; undefined when it is missing or unreadable. */
async function readPlaced({
  path,
  isNamed,
  log,
}: LicenseSourcesOptions): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    if (size <= LICENSE_MAX_BYTES) return await readFile(path, "latin1");
    log.warn({ file: path }, "the license file is too large to be a license");
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    if (isNamed || code !== "ENOENT")
      log.warn({ file: path, code }, "the license file could not be read");
  }
  return undefined;
}
