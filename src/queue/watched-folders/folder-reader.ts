import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { LineReader } from "../../lib/text/line-reader.ts";
import { within } from "../../lib/time/within.ts";

const PROGRAM = fileURLToPath(new URL("./read-folder.mjs", import.meta.url));
/** Several times the size of the largest part. */
const ANSWER_MAX_BYTES = 32 * 1024 * 1024;

/** The folder is unavailable, so nothing is known of its files. */
export class FolderAway extends Error {
  override readonly name = "FolderAway";
}

/** A file as the file system describes it. */
export interface SeenFile {
  /** Relative to the folder, with slashes. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Unix milliseconds, from 1970 to 9999. */
  readonly modifiedMs: number;
}

/** Counts of entries that are not reported. */
export interface LeftOut {
  /** Folders and files that could not be read. */
  readonly unreadable: number;
  /** Folders that are on another file system. */
  readonly mounts: number;
  /** Files whose path is longer than 1,500 bytes or is not UTF-8. */
  readonly names: number;
}

/** Some files of a walk. */
export interface FolderPart {
  /** Digest of the paths, sizes and times of its files. */
  readonly digest: string;
  readonly count: number;
  /** Null when the caller already knows the digest. */
  readonly files: readonly SeenFile[] | null;
  readonly isLast: boolean;
  /** Counts so far. */
  readonly leftOut: LeftOut;
}

/** The identity of a folder's root. */
export interface RootFacts {
  readonly device: string;
  readonly inode: number;
}

export interface FoundFiles {
  readonly found: readonly SeenFile[];
  /** Files that could not be read are neither found nor gone. */
  readonly gone: readonly string[];
}

/** Reads one folder, one request after the other. Every answer may reject with FolderAway. */
export interface FolderReader {
  readonly root: () => Promise<RootFacts>;
  /** Yields every file, in parts; parts with a known digest come without their files. */
  readonly walk: (known: Iterable<string>) => AsyncGenerator<FolderPart, void>;
  readonly find: (paths: readonly string[]) => Promise<FoundFiles>;
  readonly close: () => void;
}

type Question =
  | { readonly ask: "root" | "next" }
  | { readonly ask: "walk"; readonly known: readonly string[] }
  | { readonly ask: "find"; readonly paths: readonly string[] };

type Child = ChildProcessByStdio<Writable, Readable, null>;

/**
 * Creates a reader of the folder, whose process starts with the first request and again after it was lost.
 * @param timeoutMs WATCH_ANSWER_TIMEOUT_MS. A part of a slow mount takes seconds.
 */
export function createFolderReader(folder: string, timeoutMs: number): FolderReader {
  let child: Child | undefined;
  let answered: Promise<unknown> = Promise.resolve();

  const ask = async <Answer>(question: Question): Promise<Answer> => {
    // A reader that hangs is waited for, not replaced: each new one would hang, too.
    await inTime(
      answered.catch(() => undefined),
      timeoutMs,
    );
    child ??= start(folder, () => {
      child = undefined;
    });
    const answer = answerOf(child);
    answered = answer;
    child.stdin.write(`${JSON.stringify(question)}\n`);
    const reply = await inTime(answer, timeoutMs);
    if ("failure" in reply) throw new FolderAway(String(reply["failure"]));
    return reply as Answer;
  };

  return {
    root: () => ask({ ask: "root" }),
    async *walk(known) {
      let part = await ask<FolderPart>({ ask: "walk", known: [...known] });
      for (;;) {
        yield part;
        if (part.isLast) return;
        part = await ask({ ask: "next" });
      }
    },
    find: (paths) => ask({ ask: "find", paths }),
    close: () => void child?.kill("SIGKILL"),
  };
}

/** Bun would read the secrets of a .env by itself. */
const FLAGS = "Bun" in globalThis ? ["--no-env-file"] : [];

function start(folder: string, onEnd: () => void): Child {
  const child = spawn(process.execPath, [...FLAGS, PROGRAM, folder], {
    // The child needs no environment, and must not see the server's secrets.
    env: {},
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.once("error", onEnd);
  child.once("exit", onEnd);
  child.stdin.on("error", () => undefined);
  return child;
}

/** Resolves with the next line that the child writes. */
function answerOf(child: Child): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    const lines = new LineReader(ANSWER_MAX_BYTES);
    const read = (bytes: Uint8Array) => {
      const [line] = lines.read(bytes);
      if (line !== undefined) end(() => resolve(JSON.parse(line)));
      else if (lines.tooLong)
        end(() => reject(new FolderAway("the process that reads it wrote too much")));
    };
    const fail = () => end(() => reject(new FolderAway("the process that reads it ended")));
    const end = (settle: () => void) => {
      child.stdout.off("data", read);
      child.off("error", fail);
      child.off("exit", fail);
      settle();
    };
    child.stdout.on("data", read);
    child.once("error", fail);
    child.once("exit", fail);
  });
}

function inTime<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  const seconds = timeoutMs / 1_000;
  return within(work, timeoutMs, () => new FolderAway(`no answer within ${seconds} s`));
}
