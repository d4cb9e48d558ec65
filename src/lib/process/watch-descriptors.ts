import { readFileSync, statSync } from "node:fs";

/** When so few are left they are scarce: a share of all, but no more than is ever needed between two looks. */
const RESERVE_SHARE = 0.1;
const RESERVE_MAX = 1_000;
/** They stay scarce until so many times the reserve is left. */
const PLENTY_TIMES = 2;
const LOOK_EVERY_MS = 100;

/**
 * Tells when the process runs short of file descriptors, and when no longer: with none left it could neither call an
 * engine nor write to a file. Only Linux 6.2 or newer says how many are open; elsewhere nothing is ever told.
 *
 * @returns ends the watch.
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

/** 0 where the kernel does not say. */
function openDescriptors(): number {
  try {
    return statSync("/proc/self/fd").size;
  } catch {
    return 0;
  }
}
