import { z } from "zod";

/** How replicas of one kind are checked, as data. */
export interface ReplicaCheck {
  /** Returns a 5xx when the engine is dead although its server runs; not every server has it. */
  readonly healthPath: string | undefined;
  readonly modelsPath: string;
  /** Reads the names of its models; undefined when the reply has none. */
  readonly readModels: (reply: unknown) => ReadonlySet<string> | undefined;
  /** The number of open calls on one replica above which its conversations go to another. */
  readonly spillAbove: number;
}

const cards = z.object({ data: z.array(z.object({ id: z.string() })) });
const tags = z.object({ models: z.array(z.object({ name: z.string() })) });

export const REPLICA_CHECKS: Readonly<Record<"vllm" | "ollama", ReplicaCheck>> = {
  vllm: {
    healthPath: "/health",
    modelsPath: "/v1/models",
    readModels: (reply) => namesOf(cards.safeParse(reply).data?.data.map(({ id }) => id)),
    // It batches calls: a few more cost less than a prompt without its cache.
    spillAbove: 16,
  },
  ollama: {
    healthPath: undefined,
    modelsPath: "/api/tags",
    readModels: (reply) => namesOf(tags.safeParse(reply).data?.models.map(({ name }) => name)),
    // It runs only a few calls at once; further ones queue.
    spillAbove: 4,
  },
};

function namesOf(names: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return names === undefined ? undefined : new Set(names);
}
