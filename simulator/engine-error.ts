/** A refusal in the engine's own words; `body` goes out as it stands. */
export class EngineError extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    super(`engine error ${status}`);
    this.status = status;
    this.body = body;
  }
}
