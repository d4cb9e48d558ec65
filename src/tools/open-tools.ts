import type { Part } from "../core/part.ts";
import type { Base } from "../db/base.ts";
import type { Db } from "../db/context.ts";
import type { FileConnections } from "../knowledge/file-connections.ts";
import type { Search } from "../knowledge/retrieve/passage.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { type AuditCall, createCallAudit } from "./audit-calls.ts";
import { createToolRegistry, type ToolRegistry } from "./registry.ts";
import { createToolFigures, type ToolFigures } from "./tool-figures.ts";

export interface Tools extends Part {
  readonly tools: ToolRegistry;
  /** Counts a call that has ended. */
  readonly countToolCall: ToolFigures["countCall"];
  /** Records a call above `read_only` before it runs. */
  readonly auditToolCall: AuditCall;
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
  { settings, database, log }: Base,
  { search }: ToolParts,
): Promise<Tools> {
  const tools = createToolRegistry({ search, settings });
  const { countCall, metrics } = createToolFigures(tools.builtIn);
  const { audit, settle } = createCallAudit(database, log);
  return { tools, countToolCall: countCall, auditToolCall: audit, metrics, close: settle };
}
