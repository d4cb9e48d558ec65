/**
 * The W3C Trace Context headers that a call passes on to its engine, so that the engine's spans join the client's
 * trace.
 */
export interface CallTrace {
  readonly traceparent: string;
  readonly tracestate?: string;
}
