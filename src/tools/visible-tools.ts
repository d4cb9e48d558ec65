import type { Caller } from "../core/callers/caller.ts";
import { coversName } from "../core/name-patterns.ts";
import type { Assistant, KnownAssistants, ToolLevel } from "../knowledge/assistants/assistant.ts";
import type { ToolRegistry } from "./registry.ts";
import type { Tool } from "./tool.ts";

const LEVELS: readonly ToolLevel[] = ["read_only", "write", "full_auto"];

/**
 * Returns the tools that a caller may use through an assistant, by name: those that the assistant names and that are
 * available, within the key's scope, and above neither the key's level nor the assistant's. A session has no key: the
 * assistant bounds it, and for a user who is no administrator the level `write`. Chats, `GET /v1/tools` and `/mcp` ask
 * only here.
 */
export function visibleTools(
  registry: ToolRegistry,
  assistant: Assistant,
  caller: Caller,
): readonly Tool[] {
  if (assistant.tools.length === 0) return [];
  const callerLevel = levelOf(caller);
  const isAllowed = ({ name, level }: Tool) =>
    coversName(assistant.tools, name) &&
    (caller.kind === "session" || coversName(caller.toolScope.tools, name)) &&
    isWithin(level, assistant.maxLevel) &&
    isWithin(level, callerLevel);
  return registry
    .list(assistant)
    .filter(isAllowed)
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The tools of a caller outside a chat, and the assistant that they are used through. */
export interface BoundTools {
  /** Undefined for a key that is bound to none, and for a session. */
  readonly assistant: Assistant | undefined;
  readonly tools: readonly Tool[];
}

/** Returns the tools of the assistant that a key is bound to: those of `GET /v1/tools` and of `/mcp`. */
export function boundTools(
  { registry, known }: { readonly registry: ToolRegistry; readonly known: KnownAssistants },
  caller: Caller,
): BoundTools {
  const isBound = caller.kind === "key" && caller.assistantId !== null;
  const assistant = isBound ? known.find(caller.assistantId, caller) : undefined;
  const tools = assistant === undefined ? [] : visibleTools(registry, assistant, caller);
  return { assistant, tools };
}

function levelOf(caller: Caller): ToolLevel {
  if (caller.kind === "key") return caller.maxLevel;
  return caller.role === "admin" ? "full_auto" : "write";
}

function isWithin(level: ToolLevel, most: ToolLevel): boolean {
  return LEVELS.indexOf(level) <= LEVELS.indexOf(most);
}
