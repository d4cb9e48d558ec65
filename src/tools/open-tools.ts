import type { Part } from "../core/part.ts";
import type { Base } from "../db/base.ts";
import type { Db } from "../db/context.ts";
import type { FileConnections } from "../knowledge/file-connections.ts";
import type { Search } from "../knowledge/retrieve/passage.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { openFileTools } from "./files/open-file-tools.ts";
import { createToolRegistry, type ToolRegistry } from "./registry.ts";
import { openShell } from "./shell/open-shell.ts";
import { createToolFigures, type ToolFigures } from "./tool-figures.ts";

export interface Tools extends Part {
  readonly tools: ToolRegistry;
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
  { settings, log }: Base,
  { search, fileConnections, add }: ToolParts,
): Promise<Tools> {
  const files = openFileTools(fileConnections, settings);
  add({ close: async () => files.close() });
  const shell = settings.TOOL_SHELL_ENABLED
    ? await openShell({ settings, fileConnections, log })
    : undefined;
  if (shell !== undefined) add({ close: async () => shell.close() });
  const tools = createToolRegistry({ search, settings, files, shell });
  const { countCall, metrics } = createToolFigures(tools.builtIn);
  return { tools, countToolCall: countCall, metrics };
}
