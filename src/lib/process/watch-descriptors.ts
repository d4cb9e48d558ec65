import { readFileSync, statSync } from "node:fs";

/**
 * Descriptors are scarce when no more than this share of the limit is free. The reserve is capped at what is ever
 * needed between two checks.
 */
const RESERVE_SHARE = 0.1;
const RESERVE_MAX = 1_000;
/** They stay scarce until this multiple of the reserve is free. */
const PLENTY_TIMES = 2;
const LOOK_EVERY_MS = 100;

/**
 * Reports when the process runs short of file descriptors, and when it no longer does. Without a free one it could
 * neither call an engine nor write a file. Only Linux 6.2 and newer reports the number of open ones; elsewhere nothing
 * is reported.
 *
 * @returns a function that ends the watch.
 */
export function watchDescriptors(onChange: (isScarce: boolean) => void): () => void {
  const limit = descriptorLimit();
  if (limit === undefined || openDescriptors() === 0) return () => undefined;
  const reserve = Math.min(limit * RESERVE_SHARE, RESERVE_MAX);
  let isScarce = false;
  const timer = setInterval(() => {
    const left = limit - openDescriptors();
    const isNowScarce = left <= (isScarce ? PLENTY_TIMES : 1) * reserve;
    if (isNowScarce === isScarce) return;
    isScarce = isNowScarce;
    onChange(isScarce);
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function descriptorLimit(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** Returns 0 where the kernel does not report it. */
function openDescriptors(): number {
  try {
    return statSync("/proc/self/fd").size;
  } catch {
    return 0;
  }
}
