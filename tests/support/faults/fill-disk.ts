import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Fills a disk to the last kilobyte; `free` gives it back. */
export function fillDisk(folder: string): { readonly free: () => void } {
  const path = join(folder, "ballast");
  const file = openSync(path, "w");
  for (const bytes of [1_048_576, 1_024]) {
    const block = Buffer.alloc(bytes, 1);
    try {
      for (;;) writeSync(file, block);
    } catch {
      // Full, to within a block.
    }
  }
  closeSync(file);
  return { free: () => rmSync(path) };
}
