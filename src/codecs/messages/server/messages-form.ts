/** The part of a messages request that determines the shape of its answer. */
export interface MessagesForm {
  /** Thinking blocks contain only the seal, without their text. */
  readonly omitsThinking: boolean;
  /** The prompt is only read into the cache: the answer has no content. */
  readonly fillsCacheOnly: boolean;
}
