import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { makeFolder } from "../../lib/folders/make-folder.ts";
import { causeOf, type Log } from "../../lib/log.ts";
import type { Model } from "../backend.ts";

/** The local engine's last list, kept over a restart, because an engine may load for minutes after a reboot. */
export interface KeptModels {
  /** The list that the engine of this backend had given before the start; undefined when none is kept. */
  readonly before: (backend: string) => readonly Model[] | undefined;
  /** Writes the list when it has changed. Never throws, and waits for nothing. */
  readonly keep: (backend: string, models: readonly Model[]) => void;
  /** Resolves when nothing is being written. Never rejects. */
  readonly settled: () => Promise<void>;
}

const FILE_NAME = "local-models.json";

/** A model as a local engine lists it. Traits of clouds are no part of it. */
const model = z
  .object({
    id: z.string().min(1),
    backend: z.string(),
    created: z.number(),
    ownedBy: z.string(),
    isSimulated: z.boolean().optional(),
    structuredOutputs: z.boolean().optional(),
    contextLength: z.number().positive().optional(),
    tools: z.boolean(),
    vision: z.boolean(),
    documents: z.boolean(),
    audio: z.boolean(),
    thinking: z.boolean(),
  })
  .transform((read): Model => ({ ...read, contextLength: read.contextLength }));
const keptList = z.object({ backend: z.string(), models: z.array(model) });

/** Reads what is kept in the folder. A file that cannot be read counts as none: the engine's next list replaces it. */
export async function openKeptModels(folder: string, log: Log): Promise<KeptModels> {
  const path = join(folder, FILE_NAME);
  const found = await readFile(path, "utf8").catch(() => undefined);
  const kept = found === undefined ? undefined : parseList(found);
  let written = found;
  let writing = Promise.resolve();

  const write = async (text: string): Promise<void> => {
    const draft = `${path}.${process.pid}.draft`;
    try {
      await makeFolder(folder);
      await writeFile(draft, text, { mode: 0o600 });
      await rename(draft, path);
    } catch (thrown) {
      if (written === text) written = undefined;
      log.warn(
        { cause: causeOf(thrown) },
        "the list of local models could not be kept; the next one is tried again",
      );
    }
  };
  return {
    before: (backend) => (kept?.backend === backend ? kept.models : undefined),
    keep(backend, models) {
      const text = JSON.stringify({ backend, models });
      if (text === written) return;
      written = text;
      writing = writing.then(() => write(text));
    },
    settled: () => writing,
  };
}

function parseList(text: string): z.output<typeof keptList> | undefined {
  try {
    return keptList.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
