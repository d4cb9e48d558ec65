import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { Log } from "../../lib/log.ts";

/** Logs once that the collector does not accept spans, and once that it does again. */
export function sayFailures(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false;
  return {
    export(spans: ReadableSpan[], done) {
      exporter.export(spans, (result) => {
        // 0 is success.
        const failed = result.code !== 0;
        if (failed !== isFailing) {
          if (failed)
            log.warn({ cause: causeOf(result.error) }, "traces cannot be sent to the collector");
          else log.info("traces are sent to the collector again");
        }
        isFailing = failed;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

/** Returns the kind of failure; its message may contain the address. */
function causeOf(error: Error | undefined): string {
  if (error === undefined) return "unknown";
  return "code" in error ? `${error.name} ${String(error.code)}` : error.name;
}
