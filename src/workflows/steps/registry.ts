import { chat } from "./chat.ts";
import { classify } from "./classify.ts";
import { embed } from "./embed.ts";
import { extract } from "./extract.ts";
import { fetchHttp } from "./fetch-http.ts";
import { httpRequest } from "./http-request.ts";
import { searchKnowledge } from "./search-knowledge.ts";
import type { StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

/** The only file that knows all kinds of steps. */
const KINDS: readonly ((services: StepServices) => StepKind)[] = [
  // Sources.
  fetchHttp,
  // Transforms.
  // Control.
  // Models.
  chat,
  classify,
  embed,
  extract,
  searchKnowledge,
  // Sinks.
  httpRequest,
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
