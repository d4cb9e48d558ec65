import { readFile } from "node:fs/promises";
import { z } from "zod";
import { StartRefusal } from "../../lib/folders/start-refusal.ts";
import { formatPath } from "../../lib/json/value-faults.ts";
import { type ModelTraits, VENDOR_EFFORTS } from "../backend.ts";

/** What the operator says of one model. */
export interface ModelOverride extends Partial<ModelTraits> {
  /** False when it is no chat model, whatever its name suggests. */
  readonly chat?: boolean | undefined;
}

/** The operator's overrides, by model id. */
export type ModelOverrides = ReadonlyMap<string, ModelOverride>;

const tokens = z.number().int().positive();

/**
 * The members of one model in `MODELS_FILE`. Absent ones keep the trait that the engine reports or the name suggests.
 *
 *   {
 *     "qwen3:8b": { "tools": false, "context_length": 16384 },
 *     "acme/vectors-large": { "chat": false },
 *     "my-tuned-claude": { "generation": "older", "sampling": true, "max_output_tokens": 64000 },
 *     "gpt-6-pro": { "interface": "responses", "efforts": ["medium", "high"] }
 *   }
 */
const modelEntry = z.strictObject({
  chat: z.literal(false).optional().describe("It is no chat model, and is not offered as one."),
  context_length: tokens.optional().describe("Tokens of prompt and answer together."),
  max_output_tokens: tokens.optional().describe("Tokens one answer may have at most."),
  tools: z.boolean().optional().describe("It calls tools; without it they are not offered to it."),
  vision: z.boolean().optional().describe("It reads images."),
  documents: z.boolean().optional().describe("It reads documents such as PDFs."),
  audio: z.boolean().optional().describe("It listens to sound."),
  reasoning: z.boolean().optional().describe("It can think before it answers."),
  generation: z
    .enum(["older", "newer"])
    .optional()
    .describe("Anthropic, Gemini: older ones think by a budget of tokens, newer ones by a word."),
  efforts: z
    .array(z.enum(VENDOR_EFFORTS))
    .min(1)
    .optional()
    .describe("Efforts it takes. Without `none` it always thinks."),
  sampling: z
    .boolean()
    .optional()
    .describe("Anthropic: false when it never takes temperature, top_p and top_k."),
  mid_system: z
    .boolean()
    .optional()
    .describe("Anthropic: it takes system messages amid a conversation."),
  interface: z
    .enum(["chat", "responses"])
    .optional()
    .describe("OpenAI: the interface it answers on."),
});

const modelsFile = z.record(z.string().min(1), modelEntry);

/**
 * Reads `MODELS_FILE`. Throws a `StartRefusal` that names the setting and the faulty place, but never the content
 * there.
 */
export async function loadModelsFile(path: string | undefined): Promise<ModelOverrides> {
  if (path === undefined) return new Map();
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) throw new StartRefusal("MODELS_FILE: the file it names cannot be read.");
  const content = parseJson(text);
  if (content === undefined) {
    throw new StartRefusal("MODELS_FILE: the file it names is not valid JSON.");
  }
  const parsed = modelsFile.safeParse(content, { reportInput: false });
  if (!parsed.success) throw new StartRefusal(describe(parsed.error));
  return new Map(Object.entries(parsed.data).map(([id, entry]) => [id, toTraits(entry)]));
}

/** Returns undefined for invalid JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toTraits(entry: z.output<typeof modelEntry>): ModelOverride {
  const { context_length, max_output_tokens, reasoning, mid_system, ...others } = entry;
  const { interface: api, efforts, ...same } = others;
  const traits = {
    ...same,
    contextLength: context_length,
    maxOutputTokens: max_output_tokens,
    thinking: reasoning,
    midSystem: mid_system,
    api,
    efforts: efforts && VENDOR_EFFORTS.filter((effort) => efforts.includes(effort)),
  };
  // Absent members must not override known traits.
  return Object.fromEntries(Object.entries(traits).filter(([, value]) => value !== undefined));
}

function describe({ issues }: z.ZodError): string {
  const lines = issues.flatMap((issue) => {
    if (issue.code !== "unrecognized_keys") return [`  ${place(issue.path)}: ${issue.message}`];
    return issue.keys.map((key) => `  ${place([...issue.path, key])}: is not a trait of a model`);
  });
  return `MODELS_FILE is wrong, nothing was started:\n${lines.join("\n")}`;
}

function place(path: readonly PropertyKey[]): string {
  return path.length === 0 ? "the file" : formatPath(path);
}
