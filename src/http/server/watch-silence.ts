import { ServiceError } from "../../core/service-error.ts";

export interface SilenceLimits {
  /** The silence of the engine after which the stream gets a keepalive. */
  readonly keepaliveMs: number;
  /** The time for which the client may leave available data unread. */
  readonly slowClientMs: number;
}

export interface SilenceWatch {
  readonly waitForEngine: () => void;
  readonly waitForClient: () => void;
  readonly stop: () => void;
}

/**
 * Watches one stream with one lazy timer: events only store the time, and the timer compares it when it fires.
 *
 * @param keepAlive is called when the engine was silent for long enough.
 * @param giveUp is called once when the client stopped reading.
 */
export function watchSilence(
  limits: SilenceLimits,
  keepAlive: () => void,
  giveUp: (error: ServiceError) => void,
): SilenceWatch {
  const lookEveryMs = Math.min(limits.keepaliveMs, limits.slowClientMs);
  let since = performance.now();
  let waitingFor: "engine" | "client" = "engine";

  const look = () => {
    const limitMs = waitingFor === "engine" ? limits.keepaliveMs : limits.slowClientMs;
    if (performance.now() - since >= limitMs) {
      if (waitingFor === "client") {
        giveUp(new ServiceError("request_timeout", "The client stopped reading its stream."));
        return;
      }
      keepAlive();
      since = performance.now();
    }
    const leftMs = limitMs - (performance.now() - since);
    timer = setTimeout(look, Math.max(1, Math.min(leftMs, lookEveryMs)));
  };
  let timer = setTimeout(look, lookEveryMs);

  const waitFor = (whom: "engine" | "client") => () => {
    waitingFor = whom;
    since = performance.now();
  };
  return {
    waitForEngine: waitFor("engine"),
    waitForClient: waitFor("client"),
    stop: () => clearTimeout(timer),
  };
}
