/** What a chat-completions request asks of the shape of its answer. */
export interface ChatForm {
  /** Show usage at the end of the stream. It is measured always. */
  readonly includeUsage: boolean;
  /** The answer may have no token: nothing of it is given on. */
  readonly isEmpty?: boolean | undefined;
}
