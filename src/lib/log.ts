import { type DestinationStream, type Logger, pino } from "pino";

export type Log = Logger;

/** One JSON line an event on standard output. Secrets are redacted by name as a last net: they are not to be logged at all. */
export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: [
        "authorization",
        "cookie",
        "password",
        "key",
        "secret",
        "token",
        "*.authorization",
        "*.cookie",
        "*.password",
        "*.key",
        "*.secret",
        "*.token",
      ],
      censor: "[hidden]",
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
