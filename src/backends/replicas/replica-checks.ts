import { z } from "zod";

/** How replicas of one kind are looked at, as data. */
export interface ReplicaCheck {
  /** Fails with a 5xx while the engine is dead, though its server lives; not every server has it. */
  readonly healthPath: string | undefined;
  readonly modelsPath: string;
  /** The names of its models; undefined when the reply tells none. */
  readonly readModels: (reply: unknown) => ReadonlySet<string> | undefined;
  /** Calls that one replica has at once before its conversations go elsewhere. */
  readonly spillAbove: number;
}

const cards = z.object({ data: z.array(z.object({ id: z.string() })) });
const tags = z.object({ models: z.array(z.object({ name: z.string() })) });

export const REPLICA_CHECKS: Readonly<Record<"vllm" | "ollama", ReplicaCheck>> = {
  vllm: {
    healthPath: "/health",
    modelsPath: "/v1/models",
    readModels: (reply) => namesOf(cards.safeParse(reply).data?.data.map(({ id }) => id)),
    // It computes calls together: a few more cost less than a prompt without its cache.
    spillAbove: 16,
  },
  ollama: {
    healthPath: undefined,
    modelsPath: "/api/tags",
    readModels: (reply) => namesOf(tags.safeParse(reply).data?.models.map(({ name }) => name)),
    // Beyond a few at once its calls wait for each other.
    spillAbove: 4,
  },
};

function namesOf(names: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return names === undefined ? undefined : new Set(names);
}
