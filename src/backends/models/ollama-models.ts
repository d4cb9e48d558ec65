import { z } from "zod";
import { inGroups } from "../../lib/in-groups.ts";
import type { Model } from "../backend.ts";
import { askUpstream } from "../upstream/ask-upstream.ts";
import { parseReply } from "../upstream/parse-reply.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { isChatModelName } from "./model-traits.ts";

const capabilities = z.array(z.string()).optional().catch(undefined);
const tags = z.object({
  models: z.array(
    z.object({
      name: z.string().min(1),
      digest: z.string().catch(""),
      modified_at: z.string().catch(""),
      simulated: z.literal(true).optional().catch(undefined),
      capabilities,
    }),
  ),
});
const details = z.object({
  capabilities,
  template: z.string().catch(""),
  model_info: z.record(z.string(), z.unknown()).catch({}),
});

type Tag = z.output<typeof tags>["models"][number];
type Details = z.output<typeof details>;

const QUESTIONS_AT_ONCE = 4;
/** More than any single machine has; the rest is skipped. */
const MAX_MODELS = 500;

/** Lists the chat models of one engine. Capabilities are requested once for each version of a model. */
export function createOllamaModels(
  upstream: Upstream,
  backend: { readonly name: string; readonly contextLength: number },
): (signal: AbortSignal) => Promise<readonly Model[]> {
  let known = new Map<string, Details>();

  const detailsOf = async (tag: Tag, signal: AbortSignal): Promise<Details | undefined> => {
    const before = known.get(keyOf(tag));
    if (before !== undefined) return before;
    try {
      const body = JSON.stringify({ model: tag.name });
      return parseReply(details, await askUpstream(upstream, { path: "/api/show", body, signal }));
    } catch {
      signal.throwIfAborted();
      // The model is still listed, with the traits of its name and tag.
      return undefined;
    }
  };

  return async (signal) => {
    const reply = await askUpstream(upstream, { path: "/api/tags", signal });
    const listed = parseReply(tags, reply).models.slice(0, MAX_MODELS);
    const found = await mapInGroups(listed, (tag) => detailsOf(tag, signal));
    known = new Map();
    const models: Model[] = [];
    for (const [index, tag] of listed.entries()) {
      const shown = found[index];
      if (shown !== undefined) known.set(keyOf(tag), shown);
      const model = toModel(tag, shown, backend);
      if (model !== undefined) models.push(model);
    }
    return models;
  };
}

/** Returns undefined for a model that does not chat. */
function toModel(
  tag: Tag,
  shown: Details | undefined,
  backend: { readonly name: string; readonly contextLength: number },
): Model | undefined {
  const able = shown?.capabilities ?? tag.capabilities;
  if (!(able?.includes("completion") ?? isChatModelName(tag.name))) return undefined;
  const modifiedAt = Date.parse(tag.modified_at);
  return {
    id: tag.name,
    backend: backend.name,
    created: Number.isNaN(modifiedAt) ? 0 : Math.floor(modifiedAt / 1000),
    ownedBy: backend.name,
    isSimulated: tag.simulated,
    contextLength: Math.min(contextLengthOf(shown) ?? Infinity, backend.contextLength),
    // Old engines do not report these. The template shows whether it takes tools, and a refusal to think is corrected
    // by a retry.
    tools: able?.includes("tools") ?? shown?.template.includes(".Tools") ?? true,
    vision: able?.includes("vision") ?? false,
    documents: false,
    structuredOutputs: true,
    audio: false,
    thinking: able?.includes("thinking") ?? true,
  };
}

/** Reads the context length, whose key starts with the model's architecture: `qwen3.context_length`. */
function contextLengthOf(shown: Details | undefined): number | undefined {
  for (const [name, value] of Object.entries(shown?.model_info ?? {})) {
    if (name.endsWith(".context_length") && typeof value === "number" && value > 0) return value;
  }
  return undefined;
}

function keyOf({ name, digest }: Tag): string {
  return `${name} ${digest}`;
}

async function mapInGroups<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const group of inGroups(items, QUESTIONS_AT_ONCE)) {
    results.push(...(await Promise.all(group.map(map))));
  }
  return results;
}
