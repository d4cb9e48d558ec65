import { useState } from "react";
import { useReindex, type VectorStore } from "../../api/queries/vector-stores.ts";
import { formatExact } from "../../lib/count.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { Progress } from "../../ui/status/progress.tsx";
import { useReadOnlyReason } from "./states.tsx";

/** How far the passages are embedded again, or why that failed. The store is searched as before meanwhile. */
export function ReindexState({ store }: { readonly store: VectorStore }) {
  const { reindex, embedding_model: model } = store.ext;
  if (reindex === null) return null;
  if (reindex.status === "failed") {
    return (
      <div role="alert" className="grid gap-2 rounded-lg border border-bad bg-bad-soft p-3">
        <p className="font-medium text-bad">The reindex failed; the store is as it was</p>
        <p className="break-words">{reindex.error ?? "No reason is known."}</p>
        <div>
          <ReindexButton store={store} />
        </div>
      </div>
    );
  }
  const { chunks_done: done, chunks_total: total } = reindex;
  return (
    <section aria-label="Reindex" className="grid gap-1 rounded-lg border border-line p-3">
      <Progress
        label={`Embedding again with ${reindex.embedding_model ?? model}`}
        share={total === 0 ? null : done / total}
        text={`${formatExact(done)} of ${formatExact(total)} chunks`}
      />
      <p className="text-sm text-muted">The store is searched as before until that has ended.</p>
    </section>
  );
}

export function ReindexButton({ store }: { readonly store: VectorStore }) {
  const [isOpen, setOpen] = useState(false);
  const isRunning = store.ext.reindex?.status === "in_progress";
  const readOnly = useReadOnlyReason(store);
  return (
    <>
      <Button
        disabledReason={isRunning ? "A reindex is under way." : readOnly}
        onClick={() => setOpen(true)}
      >
        Reindex store…
      </Button>
      <Dialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title="Reindex the store?"
        description="All its files are split and embedded again. The store is searched as before until that has ended."
      >
        <ReindexForm store={store} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function ReindexForm({
  store,
  onClose,
}: {
  readonly store: VectorStore;
  readonly onClose: () => void;
}) {
  const [model, setModel] = useState("");
  const reindex = useReindex(store.id);
  return (
    <Form
      action="Reindex store"
      onCancel={onClose}
      onSubmit={async () => {
        await reindex.mutateAsync(model.trim());
        onClose();
      }}
    >
      <TextField
        name="ext.embedding_model"
        label="Embedding model"
        hint={`Empty is the model of new stores. Now it is ${store.ext.embedding_model}.`}
        value={model}
        onChange={setModel}
        spellCheck={false}
        autoCapitalize="none"
      />
    </Form>
  );
}
