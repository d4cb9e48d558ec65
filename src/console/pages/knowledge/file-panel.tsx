import { useState } from "react";
import {
  type StoreFile,
  useFileContent,
  useReadAgain,
  useRemoveFile,
} from "../../api/queries/store-files.ts";
import type { VectorStore } from "../../api/queries/vector-stores.ts";
import { countOf } from "../../lib/count.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { Bytes } from "../../ui/text/count.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { chunksText, FileState, useReadOnlyReason } from "./states.tsx";

/** Chunks that are shown before somebody asks for more. */
const SHOWN = 20;

interface FilePanelProps {
  readonly store: VectorStore;
  readonly file: StoreFile;
  readonly onClose: () => void;
}

/** One file of a store: why it failed, how it was split, and what was read from it. */
export function FilePanel({ store, file, onClose }: FilePanelProps) {
  const { chunking_strategy: chunking, ext } = file;
  const sizes = chunking.static;
  const attributes = Object.entries(file.attributes);
  return (
    <SidePanel title={ext.filename} of={file.id} onClose={onClose}>
      <Actions store={store} file={file} onClose={onClose} />
      <PropertyList
        properties={[
          ["State", <FileState key="state" file={file} />],
          ["Size", <Bytes key="size" value={ext.bytes} />],
          ["Chunks", chunksText(file)],
          ["Split", `${sizes.max_chunk_size_tokens} tokens, ${sizes.chunk_overlap_tokens} shared`],
          ["In the database", <Bytes key="usage" value={file.usage_bytes} />],
          ["Added", <Time key="added" value={file.created_at * 1_000} />],
          [
            "Attributes",
            attributes.length === 0
              ? undefined
              : attributes.map(([name, value]) => `${name}: ${value}`).join(", "),
          ],
          [
            "Id",
            <code key="id" className="font-mono text-sm break-all">
              {file.id}
            </code>,
          ],
        ]}
      />
      {file.status === "completed" && <Content storeId={store.id} fileId={file.id} />}
    </SidePanel>
  );
}

function Actions({ store, file, onClose }: FilePanelProps) {
  const [asked, setAsked] = useState<"remove" | "delete">();
  const readAgain = useReadAgain(store.id);
  const remove = useRemoveFile(store.id);
  const reason = useReadOnlyReason(store);
  const { id, ext, status } = file;
  const isEnded = status === "failed" || status === "cancelled";
  return (
    <div className="flex flex-wrap gap-2">
      {isEnded && (
        <Button
          look="primary"
          isBusy={readAgain.isPending}
          disabledReason={reason}
          onClick={() => readAgain.mutate(file)}
        >
          Read again
        </Button>
      )}
      <Button disabledReason={reason} onClick={() => setAsked("remove")}>
        Take out
      </Button>
      <Button look="danger" disabledReason={reason} onClick={() => setAsked("delete")}>
        Delete file
      </Button>
      <CallButton
        call={{
          ...{ method: "GET", credential: "key" },
          path: `/v1/vector_stores/${store.id}/files/${id}`,
        }}
      />
      {readAgain.error !== null && (
        <ErrorCard what="The file is not read again" error={readAgain.error} />
      )}
      <ConfirmDialog
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={asked === "delete" ? `Delete ${ext.filename}?` : `Take out ${ext.filename}?`}
        action={asked === "delete" ? "Delete file" : "Take out"}
        {...(asked === "delete" && { typeName: ext.filename })}
        onConfirm={async () => {
          await remove.mutateAsync({ id, isDeleted: asked === "delete" });
          onClose();
          showToast(`${ext.filename} is ${asked === "delete" ? "deleted" : "taken out"}`);
        }}
      >
        {asked === "delete"
          ? "The upload is lost, and every store that has it loses its chunks."
          : "Its chunks are no longer found in this store. An uploaded file stays."}
      </ConfirmDialog>
    </div>
  );
}

function Content({ storeId, fileId }: { readonly storeId: string; readonly fileId: string }) {
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState(SHOWN);
  const { data, error, refetch } = useFileContent(storeId, fileId, isOpen);
  const chunks = data?.data ?? [];
  if (!isOpen) return <Button onClick={() => setOpen(true)}>Show what was read</Button>;
  if (error !== null) {
    return (
      <ErrorCard what="The text could not be loaded" error={error} onRetry={() => void refetch()} />
    );
  }
  if (data === undefined) return <Skeleton shape="lines" label="The text is loading" />;
  return (
    <section className="grid gap-2" aria-label="What was read">
      <h3>What was read, in {countOf(chunks.length, "chunk")}</h3>
      <ol className="grid gap-2">
        {chunks.slice(0, shown).map(({ text }, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: a chunk is its place
            key={index}
            className="rounded-md bg-sunken p-2 break-words whitespace-pre-wrap"
          >
            {text}
          </li>
        ))}
      </ol>
      {chunks.length > shown && (
        <Button onClick={() => setShown(shown * 4)}>Show more chunks</Button>
      )}
    </section>
  );
}
