import { createDatasetRead } from "./dataset-read.ts";
import { createDatasetWrite } from "./dataset-write.ts";
import type { StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

/** The only file that knows all kinds of steps. */
const KINDS: readonly ((services: StepServices) => StepKind)[] = [
  // Sources.
  createDatasetRead,
  // Transforms.
  // Control.
  // Models.
  // Sinks.
  createDatasetWrite,
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
