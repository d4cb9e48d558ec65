import { createIngestKnowledge } from "./ingest-knowledge.ts";
import { createNotify } from "./notify.ts";
import { createQuerySql } from "./query-sql.ts";
import type { StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";
import { createWriteFile } from "./write-file.ts";
import { createWriteSql } from "./write-sql.ts";

/** The only file that knows all kinds of steps. */
const KINDS: readonly ((services: StepServices) => StepKind)[] = [
  // Sources.
  createQuerySql,
  // Transforms.
  // Control.
  // Models.
  // Sinks.
  createIngestKnowledge,
  createNotify,
  createWriteFile,
  createWriteSql,
];

export interface StepKinds {
  readonly list: readonly StepKind[];
  readonly find: (kind: string) => StepKind | undefined;
}

export function createStepKinds(services: StepServices): StepKinds {
  const list = KINDS.map((create) => create(services));
  const byKind = new Map(list.map((kind) => [kind.kind, kind]));
  return { list, find: (kind) => byKind.get(kind) };
}
