/** The headers of W3C Trace Context that a call passes on to its engine, whose spans then join the client's trace. */
export interface CallTrace {
  readonly traceparent: string;
  readonly tracestate?: string;
}
