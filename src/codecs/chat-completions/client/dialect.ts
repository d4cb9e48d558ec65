import type { CallIdRule } from "../../shared/fit-call-ids.ts";

/** How servers of the chat-completions format differ. */
export interface Dialect {
  /** The role used for system messages. */
  readonly systemRole: "system" | "developer";
  /** System messages before any other are joined: the server may give them to a template that takes one. */
  readonly joinsOpening: boolean;
  /** The server accepts reasoning of earlier turns, as `reasoning_content`. */
  readonly takesThoughts: boolean;
  /** The server accepts the `name` of a message's author. */
  readonly takesNames: boolean;
  /** The server accepts images and documents in a tool result. Otherwise they follow in a user message. */
  readonly takesMediaFromTools: boolean;
  /** How a document is sent: as a file with its data, or as a URL, which may be a data URL. */
  readonly documents: "file" | "document_url";
  /** How audio is sent: with its format, or as bare base64. */
  readonly sound: "with-format" | "bare";
  /** The rule for ids of tool calls; undefined accepts any. */
  readonly callIds: CallIdRule | undefined;
  /** The server restricts the order of messages: see `keepStrictTurns`. */
  readonly hasStrictTurns: boolean;
  /** The server's word for "call any tool". */
  readonly anyTool: "required" | "any";
  /** A tool without arguments needs an empty schema. */
  readonly needsToolParameters: boolean;
  readonly takesParallelToolCalls: boolean;
  /** The server sends usage in a stream only on request, and accepts that request. */
  readonly takesStreamOptions: boolean;
  readonly seedField: "seed" | "random_seed";
}

/** The dialect of vLLM and most compatible servers and clouds: DeepSeek, xAI, Moonshot, OpenRouter. */
export const PLAIN_DIALECT: Dialect = {
  systemRole: "system",
  joinsOpening: true,
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

/** OpenAI's own format has no field for reasoning. All its models accept `system`; older ones accept nothing else. */
export const OPENAI_DIALECT: Dialect = {
  ...PLAIN_DIALECT,
  joinsOpening: false,
  takesThoughts: false,
  callIds: { pattern: /^.{1,40}$/s, length: 24 },
};

/** For servers that refuse unknown fields: only what all servers have in common. */
export const STRICT_DIALECT: Dialect = {
  ...PLAIN_DIALECT,
  takesThoughts: false,
  takesNames: false,
  takesParallelToolCalls: false,
  takesStreamOptions: false,
};

export const MISTRAL_DIALECT: Dialect = {
  ...PLAIN_DIALECT,
  joinsOpening: false,
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
