import type { CallIdRule } from "../../shared/fit-call-ids.ts";

/** How a server understands the chat-completion format, where servers differ. */
export interface Dialect {
  /** The role under which it takes system messages. */
  readonly systemRole: "system" | "developer";
  /** It takes what the model thought in earlier turns, as `reasoning_content`. */
  readonly takesThoughts: boolean;
  /** It takes the `name` of a message's author. */
  readonly takesNames: boolean;
  /** It takes images and documents in the result of a tool. Elsewhere they follow in a user message. */
  readonly takesMediaFromTools: boolean;
  /** How a document is given: as a file with its data, or by an address, which may be a data URL. */
  readonly documents: "file" | "document_url";
  /** How sound is given: with its format, or as bare base64. */
  readonly sound: "with-format" | "bare";
  /** What ids of tool calls must be like; undefined takes any. */
  readonly callIds: CallIdRule | undefined;
  /** It has rules of what may follow what: see `keepStrictTurns`. */
  readonly hasStrictTurns: boolean;
  /** Its word for "call some tool". */
  readonly anyTool: "required" | "any";
  /** A tool without arguments must say so with a schema. */
  readonly needsToolParameters: boolean;
  readonly takesParallelToolCalls: boolean;
  /** It must be asked for usage in a stream, and can be. */
  readonly takesStreamOptions: boolean;
  readonly seedField: "seed" | "random_seed";
}

/** The format as vLLM and most servers and clouds that copy it speak it: DeepSeek, xAI, Moonshot, OpenRouter. */
export const PLAIN_DIALECT: Dialect = {
  systemRole: "system",
  takesThoughts: true,
  takesNames: true,
  takesMediaFromTools: false,
  documents: "file",
  sound: "with-format",
  callIds: undefined,
  hasStrictTurns: false,
  anyTool: "required",
  needsToolParameters: false,
  takesParallelToolCalls: true,
  takesStreamOptions: true,
  seedField: "seed",
};

/** The vendor of the format has no field for thoughts in it. All its models take `system`, older ones nothing else. */
export const OPENAI_DIALECT: Dialect = {
  ...PLAIN_DIALECT,
  takesThoughts: false,
  callIds: { pattern: /^.{1,40}$/s, length: 24 },
};

/** For servers that refuse whatever they do not know: only what all of them have in common. */
export const STRICT_DIALECT: Dialect = {
  ...PLAIN_DIALECT,
  takesThoughts: false,
  takesNames: false,
  takesParallelToolCalls: false,
  takesStreamOptions: false,
};

export const MISTRAL_DIALECT: Dialect = {
  ...PLAIN_DIALECT,
  takesThoughts: false,
  takesNames: false,
  takesMediaFromTools: true,
  documents: "document_url",
  sound: "bare",
  callIds: { pattern: /^[A-Za-z0-9]{9}$/, length: 9 },
  hasStrictTurns: true,
  anyTool: "any",
  needsToolParameters: true,
  takesStreamOptions: false,
  seedField: "random_seed",
};
