import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../lib/log.ts";

/** Keeps what cannot be stored, in files beside the journals, for an operator to inspect. */
export interface Quarantine {
  /** Writes usage records that the database refuses, one JSON text per line. */
  readonly keepRefused: (journal: string, record: string) => Promise<void>;
  /** Writes the bytes of a segment that are not a sound record. */
  readonly keepDamaged: (damage: Damage) => Promise<void>;
}

interface Damage {
  readonly journal: string;
  readonly segment: number;
  /** Offset of the damage in the segment. */
  readonly byteOffset: number;
  readonly bytes: Uint8Array;
}

export function createQuarantine(folder: string, log: Log): Quarantine {
  return {
    async keepRefused(journal, record) {
      const file = `${journal}.aside`;
      await append(join(folder, file), "a", Buffer.from(`${record}\n`));
      log.error(
        { journal, file },
        "the database rejects a usage record; it is kept in a separate file",
      );
    },
    async keepDamaged({ journal, segment, byteOffset, bytes }) {
      const file = `${journal}.${segment}.${byteOffset}.damaged`;
      await append(join(folder, file), "w", bytes);
      const damage = { journal, segment, byteOffset, bytes: bytes.length, file };
      log.error(
        damage,
        "a usage journal is damaged; the unreadable part is kept in a separate file",
      );
    },
  };
}

async function append(path: string, flags: "a" | "w", bytes: Uint8Array): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    await file.writeFile(bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
}
