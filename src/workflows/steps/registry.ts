import { aggregateStep } from "./aggregate.ts";
import { chatStep } from "./chat.ts";
import { classifyStep } from "./classify.ts";
import { datasetReadStep } from "./dataset-read.ts";
import { datasetWriteStep } from "./dataset-write.ts";
import { dedupeStep } from "./dedupe.ts";
import { embedStep } from "./embed.ts";
import { explodeStep } from "./explode.ts";
import { extractStep } from "./extract.ts";
import { fetchHttpStep } from "./fetch-http.ts";
import { filterStep } from "./filter.ts";
import { flowBreakStep } from "./flow-break.ts";
import { httpRequestStep } from "./http-request.ts";
import { ifStep } from "./if.ts";
import { ingestKnowledgeStep } from "./ingest-knowledge.ts";
import { inputStep } from "./input.ts";
import { joinStep } from "./join.ts";
import { limitStep } from "./limit.ts";
import { mapStep } from "./map.ts";
import { notifyStep } from "./notify.ts";
import { querySqlStep } from "./query-sql.ts";
import { readFileStep } from "./read-file.ts";
import { rowsStep } from "./rows.ts";
import { runWorkflowStep } from "./run-workflow.ts";
import { searchKnowledgeStep } from "./search-knowledge.ts";
import { selectStep } from "./select.ts";
import { sortStep } from "./sort.ts";
import { sqlStep } from "./sql.ts";
import type { StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";
import { validateStep } from "./validate.ts";
import { writeFileStep } from "./write-file.ts";
import { writeSqlStep } from "./write-sql.ts";

/** The only file that knows all kinds of steps. */
const KINDS: readonly ((services: StepServices) => StepKind)[] = [
  // Sources.
  inputStep,
  readFileStep,
  rowsStep,
  fetchHttpStep,
  datasetReadStep,
  querySqlStep,
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
  runWorkflowStep,
  flowBreakStep,
  ifStep,
  // Models.
  chatStep,
  classifyStep,
  embedStep,
  extractStep,
  searchKnowledgeStep,
  // Sinks.
  httpRequestStep,
  datasetWriteStep,
  ingestKnowledgeStep,
  notifyStep,
  writeFileStep,
  writeSqlStep,
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
