import { createRunWorkflow } from "./run-workflow.ts";
import { aggregateStep } from "./aggregate.ts";
import { dedupeStep } from "./dedupe.ts";
import { explodeStep } from "./explode.ts";
import { filterStep } from "./filter.ts";
import { flowBreakStep } from "./flow-break.ts";
import { ifStep } from "./if.ts";
import { inputStep } from "./input.ts";
import { joinStep } from "./join.ts";
import { limitStep } from "./limit.ts";
import { mapStep } from "./map.ts";
import { readFileStep } from "./read-file.ts";
import { rowsStep } from "./rows.ts";
import { selectStep } from "./select.ts";
import { sortStep } from "./sort.ts";
import { sqlStep } from "./sql.ts";
import { chat } from "./chat.ts";
import { classify } from "./classify.ts";
import { embed } from "./embed.ts";
import { extract } from "./extract.ts";
import { fetchHttp } from "./fetch-http.ts";
import { httpRequest } from "./http-request.ts";
import { searchKnowledge } from "./search-knowledge.ts";
import { createDatasetRead } from "./dataset-read.ts";
import { createDatasetWrite } from "./dataset-write.ts";
import type { StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";
import { validateStep } from "./validate.ts";
import { createIngestKnowledge } from "./ingest-knowledge.ts";
import { createNotify } from "./notify.ts";
import { createQuerySql } from "./query-sql.ts";
import { createWriteFile } from "./write-file.ts";
import { createWriteSql } from "./write-sql.ts";

/** The only file that knows all kinds of steps. */
const KINDS: readonly ((services: StepServices) => StepKind)[] = [
  // Sources.
  inputStep,
  readFileStep,
  rowsStep,
  fetchHttp,
  createDatasetRead,
  createQuerySql,
  // Transforms.
  aggregateStep,
  dedupeStep,
  explodeStep,
  filterStep,
  joinStep,
  limitStep,
  mapStep,
  selectStep,
  sortStep,
  sqlStep,
  validateStep,
  // Control.
  createRunWorkflow,
  flowBreakStep,
  ifStep,
  // Models.
  chat,
  classify,
  embed,
  extract,
  searchKnowledge,
  // Sinks.
  httpRequest,
  createDatasetWrite,
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
