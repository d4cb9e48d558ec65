import { readFileSync, writeFileSync } from "node:fs";
import { openDocumentReader } from "../../../src/knowledge/readers/open-document-reader.ts";

/** What a server sees of one file. */
export interface ReadReport {
  /** Characters of its text, until it failed. */
  readonly characters: number;
  /** The code and sentence of its failure, or null. */
  readonly failure: string | null;
  /** Memory of this process, at most, above what it was before. */
  readonly growthMb: number;
  readonly durationMs: number;
}

/** Reads the files of its arguments one after another, and writes a report of each, as a line of JSON. */
const reader = openDocumentReader({ processes: 1 });
const [warmUp = "", ...paths] = process.argv.slice(2);
for (let round = 0; round < 3; round += 1) await readOne(warmUp);
for (const path of paths) process.stdout.write(`${JSON.stringify(await readOne(path))}\n`);
reader.close();

async function readOne(path: string): Promise<ReadReport> {
  const before = memoryMb("VmRSS");
  // From here the system counts the peak anew.
  writeFileSync("/proc/self/clear_refs", "5");
  const startedMs = performance.now();
  let characters = 0;
  let failure: string | null = null;
  try {
    const { signal } = new AbortController();
    for await (const batch of reader.read({ path, filename: path }, signal))
      for (const block of batch)
        characters += block.kind === "row" ? block.cells.length : block.text.length;
  } catch (thrown) {
    if (!(thrown instanceof Error && "code" in thrown)) throw thrown;
    failure = `${thrown.code}: ${thrown.message}`;
  }
  const growthMb = Math.round(memoryMb("VmHWM") - before);
  return { characters, failure, growthMb, durationMs: Math.round(performance.now() - startedMs) };
}

function memoryMb(figure: string): number {
  const status = readFileSync("/proc/self/status", "latin1");
  return Number(new RegExp(`^${figure}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1024;
}
