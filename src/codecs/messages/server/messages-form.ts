/** What a messages request asks of the shape of its answer. */
export interface MessagesForm {
  /** Thinking blocks come without their words, with the seal alone. */
  readonly omitsThinking: boolean;
  /** The prompt is only to be read into the cache: the answer has no content. */
  readonly fillsCacheOnly: boolean;
}
