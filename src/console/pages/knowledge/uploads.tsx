import { useQueryClient } from "@tanstack/react-query";
import { RotateCcw, X } from "lucide-react";
import { useEffect, useSyncExternalStore } from "react";
import { STORES_KEY } from "../../api/queries/vector-stores.ts";
import { formatBytes, formatExact } from "../../lib/count.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { Progress } from "../../ui/status/progress.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import type { Upload, UploadQueue } from "./upload-queue.ts";

/** Rows that are shown; of 500 files most are waiting or have been added. */
const SHOWN = 30;

/** The uploads into a store: how many there are, and each that is not simply added. */
export function Uploads({
  queue,
  names,
}: {
  readonly queue: UploadQueue;
  /** Of the files that the store has, as far as they are known here. */
  readonly names: ReadonlySet<string>;
}) {
  const uploads = useSyncExternalStore(queue.subscribe, queue.list);
  const added = uploads.filter(({ state }) => state === "added").length;
  const client = useQueryClient();
  useEffect(() => {
    if (added > 0) void client.invalidateQueries({ queryKey: STORES_KEY });
  }, [added, client]);
  if (uploads.length === 0) return null;
  const failed = uploads.filter(({ state }) => state === "failed");
  const underWay = uploads.filter(({ state }) => state === "sending" || state === "adding");
  const waiting = uploads.filter(({ state }) => state === "waiting");
  const rows = [...underWay, ...failed, ...waiting].slice(0, SHOWN);
  const hidden = failed.length + underWay.length + waiting.length - rows.length;
  return (
    <section aria-label="Uploads" className="grid gap-2 rounded-lg border border-line p-3">
      <div className="flex flex-wrap items-center gap-2">
        <p role="status" className="min-w-0 flex-1">
          {formatExact(added)} of {formatExact(uploads.length)} added
          {failed.length > 0 && ` · ${formatExact(failed.length)} failed`}
        </p>
        <Ending queue={queue} failed={failed} isEnded={underWay.length + waiting.length === 0} />
      </div>
      <ul className="grid gap-1">
        {rows.map((upload) => (
          <Row
            key={upload.id}
            upload={upload}
            queue={queue}
            isKnown={names.has(upload.file.name)}
          />
        ))}
      </ul>
      {hidden > 0 && <p className="text-sm text-muted">and {formatExact(hidden)} more</p>}
    </section>
  );
}

interface EndingProps {
  readonly queue: UploadQueue;
  readonly failed: readonly Upload[];
  readonly isEnded: boolean;
}

function Ending({ queue, failed, isEnded }: EndingProps) {
  return (
    <>
      {failed.length > 1 && (
        <Button
          onClick={() => {
            for (const { id } of failed) queue.retry(id);
          }}
        >
          Retry all that failed
        </Button>
      )}
      {isEnded ? (
        <Button onClick={() => queue.clear()}>Close the list</Button>
      ) : (
        <Button onClick={() => queue.stop()}>Stop the uploads</Button>
      )}
    </>
  );
}

interface RowProps {
  readonly upload: Upload;
  readonly queue: UploadQueue;
  readonly isKnown: boolean;
}

function Row({ upload, queue, isKnown }: RowProps) {
  const { id, file, state } = upload;
  return (
    <li className="flex items-center gap-2">
      <div className="grid min-w-0 flex-1 gap-x-2 sm:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]">
        <span className="truncate">
          {file.name} <span className="text-sm text-muted">{formatBytes(file.size)}</span>
        </span>
        <span className="min-w-0">
          <State upload={upload} />
          {isKnown && state !== "failed" && (
            <span className="block text-sm text-muted">
              The store has a file of this name; both stay.
            </span>
          )}
        </span>
      </div>
      {state === "failed" && (
        <IconButton icon={RotateCcw} label={`Retry ${file.name}`} onClick={() => queue.retry(id)} />
      )}
      <IconButton
        icon={X}
        label={state === "failed" ? `Remove ${file.name}` : `Stop ${file.name}`}
        onClick={() => queue.remove(id)}
      />
    </li>
  );
}

function State({ upload: { file, state, sent, error } }: { readonly upload: Upload }) {
  if (state === "waiting") return <StatusDot tone="plain">Waiting</StatusDot>;
  if (state === "adding") return <StatusDot tone="accent">Adding</StatusDot>;
  if (state === "failed") {
    const reason = error instanceof Error ? error.message : "The upload failed.";
    return (
      <span className="inline-flex items-baseline gap-1.5 break-words">
        <StatusDot tone="bad">Failed:</StatusDot>
        <span className="min-w-0">{reason}</span>
      </span>
    );
  }
  return <Progress label="Uploading" share={file.size === 0 ? 1 : sent / file.size} />;
}
