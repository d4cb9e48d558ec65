import type { Origin } from "../access/actor.ts";
import type { Caller } from "../core/callers/caller.ts";
import type { Assistant, ToolLevel } from "../knowledge/assistants/assistant.ts";
import type { Passage } from "../knowledge/retrieve/passage.ts";
import type { JsonObject, JsonValue } from "../lib/json/json.ts";

/** Something that a model can do, defined once for chats, `/v1/tools` and `/mcp`. */
export interface Tool {
  /** `[A-Za-z0-9_-]{1,64}`. */
  readonly name: string;
  /** For the model. */
  readonly description: string;
  readonly level: ToolLevel;
  /** Where it comes from; undefined: it is built in. */
  readonly source?: "builtin" | "mcp";
  /** The JSON Schema of its arguments, an object. */
  readonly parameters: JsonObject;
  /** The JSON Schema of `content.structured`, an object; only of tools of tool servers. */
  readonly outputSchema?: JsonObject | undefined;
  /** Whether it can be offered here at all; a tool without it always can. */
  readonly isAvailable?: (assistant: Assistant) => boolean;
  /**
   * Runs it. The arguments have passed the schema. A failure that the model should know of is a result with `isError`
   * or a `ServiceError`; any other exception is hidden from the model. It must end soon after its signal aborts.
   */
  readonly run: (args: JsonObject, context: ToolContext) => Promise<ToolResult>;
}

export interface ToolContext {
  readonly caller: Caller;
  readonly assistant: Assistant;
  readonly signal: AbortSignal;
  /** The request that causes the call, for the audit log. */
  readonly origin?: Origin | undefined;
}

/** What is cleaned and bounded of a tool server's result. */
export interface ToolContent {
  /** Texts, images, audio, links and resources, as the Model Context Protocol has them. */
  readonly parts: readonly JsonObject[];
  /** By the tool's `outputSchema`, if it has one. */
  readonly structured?: JsonValue | undefined;
  /** Its JSON text, where it has numbers that parsing changed. */
  readonly structuredText?: string | undefined;
  /** True where it is too long; a part says so. */
  readonly isStructuredLeftOut?: boolean;
}

export interface ToolResult {
  readonly text: string;
  readonly isError?: boolean;
  /** The argument that is wrong, such as `by[0].field`, where one is. */
  readonly argument?: string | undefined;
  /** For clients of `/mcp`, where a tool server has sent more than a text; models are given `text`. */
  readonly content?: ToolContent | undefined;
  /** What a search found, for the sources of the answer; `text` has them too. */
  readonly passages?: readonly Passage[];
}
