/** The part of a chat-completions request that determines the shape of its answer. */
export interface ChatForm {
  /** Report usage at the end of the stream. It is always metered. */
  readonly includeUsage: boolean;
  /** The answer may have no token: none of its content is forwarded. */
  readonly isEmpty?: boolean | undefined;
}
