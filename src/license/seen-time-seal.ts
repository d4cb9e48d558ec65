import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "../access/secret.ts";
import type { SeenTime } from "./raise-seen-time.ts";

/** What is kept of the time. Unix milliseconds. */
export interface StoredTime extends SeenTime {
  /** The first start. */
  readonly installedAt: number;
}

/** Times as text that only who holds the installation's secret can write. */
export interface SeenTimeSeal {
  readonly close: (time: StoredTime) => string;
  /** Undefined when the text is anything else than `close` has made. */
  readonly open: (text: string) => StoredTime | undefined;
}

const SEALED = /^(\d{1,15}) (\d{1,15}) (\d{1,15}) ([\w-]{43})$/;

export function createSeenTimeSeal(secret: Secret): SeenTimeSeal {
  const key = secret.derive("seen-time");
  const write = ({ installedAt, provenAt, latestAt }: StoredTime): string => {
    const times = `${installedAt} ${provenAt} ${latestAt}`;
    return `${times} ${createHmac("sha256", key).update(times).digest("base64url")}`;
  };
  return {
    close: write,
    open(text) {
      const [, installedAt, provenAt, latestAt] = SEALED.exec(text) ?? [];
      const time = {
        installedAt: Number(installedAt),
        provenAt: Number(provenAt),
        latestAt: Number(latestAt),
      };
      const [given, right] = [Buffer.from(text), Buffer.from(write(time))];
      return given.length === right.length && timingSafeEqual(given, right) ? time : undefined;
    },
  };
}
