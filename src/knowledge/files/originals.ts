import type { Dirent } from "node:fs";
import { opendir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../../lib/folders/make-folder.ts";
import { randomBase62 } from "../../lib/id.ts";
import { createDraft, type OriginalDraft } from "./original-draft.ts";
import { isRemovalHeld } from "./removal-hold.ts";

/** The folder of contents that are being written. */
const DRAFTS = "drafts";
const DRAFT = /^[0-9A-Za-z]{22}\.draft$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** The contents of uploaded files, each once, in a folder that all replicas share. */
export interface Originals {
  /** FILES_DIR, absolute. */
  readonly folder: string;
  readonly pathOf: (sha256: string) => string;
  /** Begins to write a content. Its owner discards the draft at the end, also after it was moved. */
  readonly begin: () => Promise<OriginalDraft>;
  /** Yields the SHA-256 of contents that were written before a time in Unix milliseconds. */
  readonly listBefore: (time: number) => AsyncGenerator<string>;
  /** Removes a content, unless a backup that may need it is being made. */
  readonly remove: (sha256: string) => Promise<void>;
  /**
   * Removes drafts that were last written before a time in Unix milliseconds. Those of this process count as written
   * now.
   */
  readonly removeDraftsBefore: (time: number, now: number) => Promise<void>;
}

/** The path of a content, in one of 65,536 folders. */
export function originalPath(folder: string, sha256: string): string {
  if (!SHA256.test(sha256)) throw new Error("not a SHA-256");
  return join(folder, sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}

export function createOriginals(folder: string): Originals {
  const drafts = new Set<string>();
  const pathOf = (sha256: string) => originalPath(folder, sha256);
  return {
    folder,
    pathOf,
    async begin() {
      const place = join(folder, DRAFTS);
      await makeFolder(place);
      const path = join(place, `${randomBase62(22)}.draft`);
      drafts.add(path);
      const onEnd = () => void drafts.delete(path);
      return createDraft({ path, root: folder, onEnd }).catch((thrown: unknown) => {
        onEnd();
        throw thrown;
      });
    },
    async *listBefore(time) {
      for await (const sha256 of contentsOf(folder)) {
        if ((await writtenAt(pathOf(sha256))) < time) yield sha256;
      }
    },
    async remove(sha256) {
      if (await isRemovalHeld(folder)) return;
      await rm(pathOf(sha256), { force: true });
    },
    async removeDraftsBefore(time, now) {
      const moment = new Date(now);
      for (const path of drafts) await utimes(path, moment, moment).catch(() => undefined);
      for await (const { name } of entriesOf(join(folder, DRAFTS))) {
        const path = join(folder, DRAFTS, name);
        if (!DRAFT.test(name) || drafts.has(path)) continue;
        if ((await writtenAt(path)) < time) await rm(path, { force: true });
      }
    },
  };
}

/** Yields the names of all contents. */
async function* contentsOf(folder: string): AsyncGenerator<string> {
  const levels = /^[0-9a-f]{2}$/;
  for await (const first of entriesOf(folder)) {
    if (!levels.test(first.name)) continue;
    for await (const second of entriesOf(join(folder, first.name))) {
      for await (const { name } of entriesOf(join(folder, first.name, second.name))) {
        if (SHA256.test(name)) yield name;
      }
    }
  }
}

/** Yields nothing where there is no such folder. */
async function* entriesOf(folder: string): AsyncGenerator<Dirent> {
  try {
    yield* await opendir(folder);
  } catch (thrown) {
    if (!hasCode(thrown, "ENOENT") && !hasCode(thrown, "ENOTDIR")) throw thrown;
  }
}

/** Returns when a file was last written, in Unix milliseconds; infinity where it is gone. */
async function writtenAt(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found?.mtimeMs ?? Number.POSITIVE_INFINITY;
}

function hasCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === code;
}
