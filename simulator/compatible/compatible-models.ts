import type { Model } from "../models.ts";
import { cohere } from "./cohere.ts";
import type { CompatibleVendor } from "./compatible-vendor.ts";
import { deepseek } from "./deepseek.ts";
import { groq } from "./groq.ts";
import { mistral } from "./mistral.ts";
import { openrouter } from "./openrouter.ts";
import { xai } from "./xai.ts";

/** The vendors. The model's name selects the vendor; a name without a match is Mistral's. */
const vendors: readonly CompatibleVendor[] = [xai, deepseek, groq, openrouter, cohere, mistral];

export function vendorOf({ name }: Model): CompatibleVendor {
  return vendors.find(({ ids }) => ids.test(name)) ?? mistral;
}

const chat = (name: string, contextLength: number, ...more: Model["capabilities"]): Model => ({
  name,
  contextLength,
  capabilities: ["completion", "tools", ...more],
});

export const compatibleModels: readonly Model[] = [
  chat("mistral-large", 131_072, "vision"),
  chat("mistral-small", 131_072, "vision"),
  chat("magistral", 131_072, "vision", "thinking"),
  chat("grok-4", 262_144, "vision", "thinking"),
  chat("deepseek-chat", 131_072),
  chat("deepseek-reasoner", 131_072, "thinking"),
  chat("llama-3.3-70b-versatile", 131_072),
  chat("qwen/qwen3-32b", 131_072, "thinking"),
  chat("openrouter/auto", 200_000, "vision", "thinking"),
  chat("command-a", 256_000),
];
