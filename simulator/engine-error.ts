/** An error response of an engine; `body` is sent unchanged. */
export class EngineError extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    super(`engine error ${status}`);
    this.status = status;
    this.body = body;
  }
}
