import type { Part } from "../core/part.ts";
import type { Base } from "../db/base.ts";
import type { Db } from "../db/context.ts";
import type { FileConnections } from "../knowledge/file-connections.ts";
import type { Search } from "../knowledge/retrieve/passage.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { type Connections, openConnections } from "./connections/open-connections.ts";
import { createToolRegistry, type ToolRegistry } from "./registry.ts";
import { createToolFigures, type ToolFigures } from "./tool-figures.ts";

export interface Tools extends Part {
  readonly tools: ToolRegistry;
  readonly connections: Connections;
  /** Counts a call that has ended. */
  readonly countToolCall: ToolFigures["countCall"];
}

export interface ToolParts {
  readonly search: Search;
  readonly fileConnections: FileConnections;
  /** Seals the passwords of saved connections and the headers of tool servers. */
  readonly secretBox: SecretBox;
  /** Registers each part as soon as it is open, so that a failing start closes it. */
  readonly add: <Opened extends Part<Db>>(part: Opened) => Opened;
}

/** What models can do beside answering. */
export async function openTools(
  base: Base,
  { search, fileConnections, secretBox, add }: ToolParts,
): Promise<Tools> {
  const { settings, clock } = base;
  const connections = add(await openConnections(base, { secretBox, fileConnections }));
  const { saved } = connections;
  const querySql = { saved, settings, clock };
  const tools = createToolRegistry({ search, settings, saved, querySql });
  const { countCall, metrics } = createToolFigures(tools.builtIn);
  return { tools, connections, countToolCall: countCall, metrics };
}
