import { objectOf, objectsOf, stringOf } from "./json.ts";

export type Capability = "completion" | "tools" | "vision" | "thinking" | "embedding" | "audio";

export interface Model {
  readonly name: string;
  /** Maximum tokens of prompt and answer together. */
  readonly contextLength: number;
  readonly capabilities: readonly Capability[];
  /** Whether a thinking model thinks when the request does not set it. */
  readonly thinksByDefault?: boolean;
  /** The number of dimensions of an embedding. */
  readonly dimensions?: number;
  readonly parameterSize?: string;
  readonly family?: string;
}

export const defaultModels: readonly Model[] = [
  {
    name: "sim-chat",
    contextLength: 32_768,
    capabilities: ["completion", "tools", "vision", "thinking"],
    parameterSize: "8.2B",
    family: "sim",
  },
  {
    name: "sim-thinker",
    contextLength: 32_768,
    capabilities: ["completion", "tools", "thinking"],
    thinksByDefault: true,
    parameterSize: "30.5B",
    family: "sim",
  },
  {
    name: "sim-small",
    contextLength: 8_192,
    capabilities: ["completion"],
    parameterSize: "1.2B",
    family: "sim",
  },
  {
    name: "sim-embed",
    contextLength: 2_048,
    capabilities: ["embedding"],
    dimensions: 256,
    parameterSize: "137M",
    family: "sim-bert",
  },
  {
    name: "sim-embed-large",
    contextLength: 8_192,
    capabilities: ["embedding"],
    dimensions: 1_024,
    parameterSize: "567M",
    family: "sim-bert",
  },
];

/** Finds a model by name; Ollama's suffix `:latest` is optional. */
export function findModel(models: readonly Model[], name: string | undefined): Model | undefined {
  const wanted = name?.replace(/:latest$/, "");
  return models.find((model) => model.name.replace(/:latest$/, "") === wanted);
}

export function can(model: Model, capability: Capability): boolean {
  return model.capabilities.includes(capability);
}

/** Reads a list of models. Throws an error that names the invalid field. */
export function parseModels(value: unknown): Model[] {
  const list = objectsOf(value);
  if (list.length === 0) throw new Error("the models file must hold a list of models");
  return list.map((item, index) => {
    const name = stringOf(item["name"]);
    const { contextLength, capabilities } = item;
    if (!name) throw new Error(`model ${index}: name is missing`);
    if (!Number.isInteger(contextLength))
      throw new Error(`${name}: contextLength must be an integer`);
    if (!Array.isArray(capabilities)) throw new Error(`${name}: capabilities must be a list`);
    return objectOf(item) as unknown as Model;
  });
}
