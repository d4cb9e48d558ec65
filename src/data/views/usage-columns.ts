import type { ViewColumn } from "./data-view.ts";

/** Columns that the views of usage share: the rows themselves and their sums. */

export const USED_KEY: ViewColumn = {
  name: "key_id",
  type: "text",
  comment: "Id of the API key, as in keys; that of a deleted key stays.",
  nullable: false,
};

export const USED_MODEL: ViewColumn = {
  name: "model",
  type: "text",
  comment: "The model that was called.",
  nullable: false,
};

export const USED_CHANNEL: ViewColumn = {
  name: "channel",
  type: "text",
  comment: "The kind of call: chat, messages, responses, embeddings, audio or mcp.",
  nullable: false,
};

export const TOKENS: readonly ViewColumn[] = [
  { name: "input_tokens", type: "bigint", comment: "Tokens of the prompts.", nullable: false },
  { name: "output_tokens", type: "bigint", comment: "Tokens of the answers.", nullable: false },
  {
    name: "cached_tokens",
    type: "bigint",
    comment: "Input tokens that the model server had in its cache; part of input_tokens.",
    nullable: false,
  },
  {
    name: "reasoning_tokens",
    type: "bigint",
    comment: "Output tokens of reasoning; part of output_tokens.",
    nullable: false,
  },
];

/** The sums of an hour or a day. */
export const USAGE_SUMS: readonly ViewColumn[] = [
  { name: "requests", type: "bigint", comment: "Metered requests.", nullable: false },
  {
    name: "failures",
    type: "bigint",
    comment:
      "Requests that were not answered: by an error, or refused by the model server as too many.",
    nullable: false,
  },
  {
    name: "rate_limited",
    type: "bigint",
    comment: "The failures that the model server refused as too many.",
    nullable: false,
  },
  {
    name: "aborted",
    type: "bigint",
    comment: "Requests whose client disconnected.",
    nullable: false,
  },
  ...TOKENS,
  {
    name: "latency_ms_sum",
    type: "bigint",
    comment: "Sum of the latencies, milliseconds; divided by requests it is the mean.",
    nullable: false,
  },
];
