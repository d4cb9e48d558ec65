import { useSession } from "../../api/queries/session.ts";
import type { StoreFile } from "../../api/queries/store-files.ts";
import type { VectorStore } from "../../api/queries/vector-stores.ts";
import { formatExact } from "../../lib/count.ts";
import { StatusDot } from "../../ui/status/status-dot.tsx";

/** Where a store stands: what moves first, then what failed. */
export function StoreState({ store }: { readonly store: VectorStore }) {
  const { status, file_counts: counts, ext } = store;
  const { reindex } = ext;
  if (status === "expired") return <StatusDot tone="bad">Expired</StatusDot>;
  if (status === "in_progress") {
    const done = counts.total - counts.in_progress;
    return (
      <StatusDot tone="accent">
        Reading {formatExact(done)} of {formatExact(counts.total)}
      </StatusDot>
    );
  }
  if (reindex?.status === "in_progress") return <StatusDot tone="accent">Reindexing</StatusDot>;
  if (reindex?.status === "failed") return <StatusDot tone="bad">Reindex failed</StatusDot>;
  if (counts.total === 0) return <StatusDot tone="plain">Empty</StatusDot>;
  if (counts.failed > 0) {
    return <StatusDot tone="warn">Ready, {formatExact(counts.failed)} failed</StatusDot>;
  }
  return <StatusDot tone="ok">Ready</StatusDot>;
}

/** Where a file stands, in words: being read, how many of its chunks are embedded, or why it failed. */
export function FileState({ file }: { readonly file: StoreFile }) {
  const { status, last_error: error, ext } = file;
  const { chunks_done: done, chunks_total: total } = ext.progress;
  if (status === "completed") return <StatusDot tone="ok">Ready</StatusDot>;
  if (status === "cancelled") return <StatusDot tone="plain">Cancelled</StatusDot>;
  if (status === "failed") {
    return (
      <span className="flex min-w-0 items-center gap-1.5">
        <StatusDot tone="bad">Failed:</StatusDot>
        <span className="min-w-0 sm:truncate">{error?.message ?? "no reason is known"}</span>
      </span>
    );
  }
  if (total === null) return <StatusDot tone="accent">Reading</StatusDot>;
  return (
    <span className="inline-flex items-center gap-2">
      <StatusDot tone="accent">Embedding</StatusDot>
      <span aria-hidden className="block h-1.5 w-20 overflow-hidden rounded-full bg-line">
        <span
          className="block h-full rounded-full bg-accent"
          style={{ width: `${total === 0 ? 100 : (100 * done) / total}%` }}
        />
      </span>
    </span>
  );
}

/** `812/1,140` while a file is embedded, its chunks afterwards. */
export function chunksText({ status, ext }: StoreFile): string {
  const { chunks_done: done, chunks_total: total } = ext.progress;
  if (total === null) return "–";
  return status === "in_progress"
    ? `${formatExact(done)}/${formatExact(total)}`
    : formatExact(done);
}

/** What a store is called: its name, or its id where it has none. */
export function storeName({ name, id }: Pick<VectorStore, "name" | "id">): string {
  return name === "" ? id : name;
}

/** Why somebody may only search a store; undefined for its owner and administrators. */
export function useReadOnlyReason({ ext }: VectorStore): string | undefined {
  const session = useSession().data;
  if (session?.role === "admin" || session?.id === ext.owner_id) return undefined;
  return "Only the owner of the store and administrators change it.";
}
