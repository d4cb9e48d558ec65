import { useEffect, useState, useSyncExternalStore } from "react";
import { clockAhead, onClock } from "../lib/clock.ts";
import { formatDuration } from "../lib/count.ts";
import { Button } from "../ui/buttons/button.tsx";

const BUILD_POLL_MS = 60_000;
const WATCHED_POLL_MS = 1_000;

/** What concerns the whole console: no network, or a new version. */
export function Notices() {
  const isOnline = useSyncExternalStore(subscribeOnline, () => navigator.onLine);
  const ahead = useSyncExternalStore(onClock, clockAhead);
  const isOutdated = useNewBuild();
  return (
    <div role="status">
      {!isOnline && (
        <p className="border-b border-line bg-warn-soft px-4 py-2 text-warn">
          This device is offline. Unless the gateway runs on it, what is shown may be old and
          nothing can be changed until the network is back.
        </p>
      )}
      {ahead !== 0 && (
        <p className="border-b border-line bg-warn-soft px-4 py-2 text-warn">
          This device's clock is {formatDuration(Math.abs(ahead))}{" "}
          {ahead > 0 ? "ahead of" : "behind"} the gateway's, which counts here.
        </p>
      )}
      {isOutdated && (
        <p className="flex flex-wrap items-center gap-3 border-b border-line bg-accent-soft px-4 py-1">
          A new version is installed.
          <Button onClick={() => window.location.reload()}>Reload</Button>
        </p>
      )}
    </div>
  );
}

/** Whether the gateway serves another build than the one of this tab. */
function useNewBuild(): boolean {
  const [isNew, setNew] = useState(false);
  useEffect(() => {
    let own = document.querySelector<HTMLMetaElement>("meta[name=build]")?.content;
    let timer: ReturnType<typeof setTimeout>;
    const look = async () => {
      const build = document.hidden ? undefined : await readBuild();
      own ??= build?.id;
      if (build !== undefined && build.id !== own) setNew(true);
      timer = setTimeout(() => void look(), build?.watched ? WATCHED_POLL_MS : BUILD_POLL_MS);
    };
    void look();
    return () => clearTimeout(timer);
  }, []);
  return isNew;
}

interface Build {
  readonly id: string;
  /** The console is being worked on, and built anew with each change. */
  readonly watched?: boolean;
}

/** Returns what the gateway says of its build; undefined while it does not answer. */
async function readBuild(): Promise<Build | undefined> {
  try {
    const response = await fetch("/console/build.json", { cache: "no-cache" });
    return response.ok ? ((await response.json()) as Build) : undefined;
  } catch {
    return undefined;
  }
}

function subscribeOnline(listener: () => void): () => void {
  window.addEventListener("online", listener);
  window.addEventListener("offline", listener);
  return () => {
    window.removeEventListener("online", listener);
    window.removeEventListener("offline", listener);
  };
}
