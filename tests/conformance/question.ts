/** What a client asks, said once and put into each family's own words by its driver. */
export interface Question {
  readonly model: string;
  readonly system?: string;
  readonly turns: readonly Turn[];
  readonly tools?: readonly Tool[];
  readonly maxTokens?: number;
  readonly stop?: readonly string[];
  readonly effort?: "none" | "high";
}

export type Turn =
  | { readonly who: "user"; readonly text: string; readonly image?: Picture }
  /** An earlier answer, given back exactly as the family's client got it. */
  | { readonly who: "assistant"; readonly answer: Answer }
  | { readonly who: "tools"; readonly results: readonly ToolResult[] };

export interface ToolResult {
  readonly callId: string;
  readonly text: string;
  readonly image?: Picture;
}

export interface Picture {
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** What the family's official library made of the answer. */
export interface Answer {
  readonly model: string;
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly end: End;
  readonly usage: Usage;
  /** The answer in the family's own form, to be given back in a later turn. */
  readonly replay: unknown;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** The text of the arguments where the family carries text, else that of the object. */
  readonly arguments: string;
}

/** Why an answer ended; not every family tells a stop string from a natural end. */
export type End = "stop" | "stop-sequence" | "length" | "tool-calls" | "refusal";

/** As the family shows it; input includes what came from the cache. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
}

/** One client family, driven through its official library. */
export interface Family {
  readonly name: "chat" | "messages" | "responses";
  /** Asks, streaming or not. Throws what the library throws. */
  readonly ask: (line: Line, question: Question) => Promise<Answer>;
}

/** How to reach the gateway, and how the answer is to come. */
export interface Line {
  readonly url: string;
  readonly key: string;
  readonly stream: boolean;
  readonly fetch: typeof fetch;
  readonly signal?: AbortSignal;
}
