import { FolderInput } from "lucide-react";
import { useState } from "react";
import { useSession } from "../../api/queries/session.ts";
import {
  type FileBatch,
  useAddFolder,
  useCancelBatch,
  useFileBatch,
} from "../../api/queries/store-files.ts";
import { countOf, formatExact } from "../../lib/count.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Progress } from "../../ui/status/progress.tsx";
import { type FolderDraft, FolderFields } from "./folder-fields.tsx";

const DEFAULTS = { batch: "" };

/** Reads files from a folder of the server, at most 500 at once. For administrators. */
export function FolderJob({ storeId }: { readonly storeId: string }) {
  const isAdmin = useSession().data?.role === "admin";
  const [isOpen, setOpen] = useState(false);
  // In the address, so that a reload shows it again.
  const [{ batch }, change] = useUrlState(DEFAULTS);
  if (!isAdmin) return null;
  const begun = (id: string) => change({ batch: id });
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <FolderInput size={16} aria-hidden />
        Add a folder…
      </Button>
      <Dialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title="Add a folder of the server"
        description="Its first 500 files that are new or have changed, by path. Settings can make the store follow a folder."
      >
        <FolderForm
          storeId={storeId}
          onClose={() => setOpen(false)}
          onBegun={(id) => {
            setOpen(false);
            begun(id);
          }}
        />
      </Dialog>
      {batch !== "" && (
        <Batch storeId={storeId} id={batch} onBegun={begun} onClose={() => begun("")} />
      )}
    </>
  );
}

interface FolderFormProps {
  readonly storeId: string;
  readonly onClose: () => void;
  readonly onBegun: (batchId: string) => void;
}

function FolderForm({ storeId, onClose, onBegun }: FolderFormProps) {
  const [draft, setDraft] = useState<FolderDraft>({ connection: "", glob: "**" });
  const add = useAddFolder(storeId);
  return (
    <Form
      action="Add folder"
      onCancel={onClose}
      disabledReason={draft.connection === "" ? "No folder is chosen yet." : undefined}
      onSubmit={async () => {
        const { connection, glob } = draft;
        onBegun((await add.mutateAsync({ file_connection: connection, glob })).id);
      }}
    >
      <FolderFields prefix="ext" draft={draft} onChange={setDraft} isWatchedOnly={false} />
    </Form>
  );
}

interface BatchProps {
  readonly storeId: string;
  readonly id: string;
  readonly onBegun: (batchId: string) => void;
  readonly onClose: () => void;
}

function Batch({ storeId, id, onBegun, onClose }: BatchProps) {
  const { data: batch, error } = useFileBatch(storeId, id);
  if (error !== null) {
    return (
      <>
        <ErrorCard what="The folder's state is not known" error={error} />
        <Button onClick={onClose}>Close</Button>
      </>
    );
  }
  if (batch === undefined) return null;
  const { file_counts: counts, status, ext } = batch;
  const isRunning = status === "in_progress";
  return (
    <section
      aria-label="The folder"
      className="grid w-full gap-2 rounded-lg border border-line p-3"
    >
      <BatchProgress batch={batch} />
      {!isRunning && counts.total === 0 && <p>No file there is new or has changed.</p>}
      {ext.remaining > 0 && (
        <p>{countOf(ext.remaining, "more file is", "more files are")} left for a further job.</p>
      )}
      <BatchActions batch={batch} onBegun={onBegun} onClose={onClose} />
    </section>
  );
}

function BatchProgress({ batch }: { readonly batch: FileBatch }) {
  const { file_counts: counts, status, ext } = batch;
  const { folder } = ext;
  const label = folder === null ? "Files" : `${folder.file_connection}/${folder.glob}`;
  if (counts.total === 0 && status === "in_progress") {
    return <Progress label={label} share={null} text="listing the files" />;
  }
  const done = counts.total - counts.in_progress;
  const failed = counts.failed > 0 ? ` · ${formatExact(counts.failed)} failed` : "";
  return (
    <Progress
      label={label}
      share={counts.total === 0 ? 1 : done / counts.total}
      text={`${formatExact(done)} of ${formatExact(counts.total)} files${failed}`}
    />
  );
}

type BatchActionsProps = Pick<BatchProps, "onBegun" | "onClose"> & { readonly batch: FileBatch };

function BatchActions({ batch, onBegun, onClose }: BatchActionsProps) {
  const { id, vector_store_id: storeId, status, ext } = batch;
  const { folder, remaining } = ext;
  const cancel = useCancelBatch(storeId);
  const again = useAddFolder(storeId);
  const isRunning = status === "in_progress";
  return (
    <div className="flex flex-wrap gap-2">
      {isRunning && (
        <Button isBusy={cancel.isPending} onClick={() => cancel.mutate(id)}>
          Cancel the folder
        </Button>
      )}
      {!isRunning && remaining > 0 && folder !== null && (
        <Button
          isBusy={again.isPending}
          onClick={() => again.mutate(folder, { onSuccess: (next) => onBegun(next.id) })}
        >
          Add the next files
        </Button>
      )}
      {!isRunning && <Button onClick={onClose}>Close</Button>}
      {cancel.error !== null && (
        <ErrorCard what="The folder was not cancelled" error={cancel.error} />
      )}
      {again.error !== null && <ErrorCard what="No more were added" error={again.error} />}
    </div>
  );
}
