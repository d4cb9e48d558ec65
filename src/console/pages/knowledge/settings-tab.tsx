import { useState } from "react";
import { useSession } from "../../api/queries/session.ts";
import {
  useChangeVectorStore,
  type VectorStore,
  type VectorStoreChange,
} from "../../api/queries/vector-stores.ts";
import { withLaterEdits } from "../../lib/later-edits.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { UnsavedGuard } from "../../ui/forms/unsaved-guard.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { type FolderDraft, FolderFields } from "./folder-fields.tsx";
import { ReindexButton } from "./reindex.tsx";
import { storeName, useReadOnlyReason } from "./states.tsx";
import { type StoreDraft, StoreFields } from "./store-fields.tsx";

/** What can be set of a store, and what cannot. */
export function SettingsTab({ store }: { readonly store: VectorStore }) {
  const readOnly = useReadOnlyReason(store);
  const { ext, expires_at: expires } = store;
  return (
    <div className="grid max-w-2xl gap-8">
      {readOnly === undefined ? <SettingsForm store={store} /> : <p>{readOnly}</p>}
      <section className="grid gap-3" aria-labelledby="embedding">
        <h2 id="embedding" className="text-lg">
          Embedding
        </h2>
        <PropertyList
          properties={[
            ["Model", ext.embedding_model],
            ["Chunks", "Split as each file was added: its panel shows the sizes."],
          ]}
        />
        <div>
          <ReindexButton store={store} />
        </div>
      </section>
      <PropertyList
        properties={[
          ["Owner", ext.owner_id === null ? "nobody" : <UserName key="owner" id={ext.owner_id} />],
          ["Made", <Time key="made" value={store.created_at * 1_000} />],
          ["Last used", <Time key="used" value={store.last_active_at * 1_000} isRelative />],
          ["Expires", <Time key="expires" value={expires === null ? null : expires * 1_000} />],
          [
            "Id",
            <code key="id" className="font-mono text-sm break-all">
              {store.id}
            </code>,
          ],
        ]}
      />
    </div>
  );
}

function SettingsForm({ store }: { readonly store: VectorStore }) {
  // As it was when the form was opened: only what differs is sent.
  const [before, setBefore] = useState(() => toDraft(store));
  const [draft, setDraft] = useState(before);
  const isAdmin = useSession().data?.role === "admin";
  const change = useChangeVectorStore(store.id);
  const changes = changesOf(draft, before);
  return (
    <Form
      action="Save settings"
      disabledReason={Object.keys(changes).length === 0 ? "Nothing is changed yet." : undefined}
      onSubmit={async () => {
        const saved = toDraft(await change.mutateAsync(changes));
        setBefore(saved);
        setDraft((now) => ({
          fields: withLaterEdits(now.fields, { sent: draft.fields, saved: saved.fields }),
          folder: withLaterEdits(now.folder, { sent: draft.folder, saved: saved.folder }),
        }));
        showToast(`Store ${storeName(store)} is changed`);
      }}
    >
      <UnsavedGuard
        isUnsaved={Object.keys(changes).length > 0}
        what={`The changes of ${storeName(store)}`}
      />
      <StoreFields
        draft={draft.fields}
        onChange={(fields) => setDraft((now) => ({ ...now, fields }))}
        isAdmin={isAdmin}
      />
      {isAdmin && (
        <fieldset className="grid gap-4">
          <legend className="pb-2 font-medium">Follow a folder</legend>
          <p className="text-muted">
            Files that come into it or change there are read by themselves, and those that go are
            taken out.
          </p>
          <FolderFields
            prefix="ext.folder"
            draft={draft.folder}
            onChange={(folder) => setDraft((now) => ({ ...now, folder }))}
            isWatchedOnly
          />
        </fieldset>
      )}
    </Form>
  );
}

interface Draft {
  readonly fields: StoreDraft;
  readonly folder: FolderDraft;
}

function toDraft({ name, description, expires_after: expiry, ext }: VectorStore): Draft {
  const { folder, visibility } = ext;
  return {
    fields: { name, description: description ?? "", days: expiry?.days ?? null, visibility },
    folder: { connection: folder?.file_connection ?? "", glob: folder?.glob ?? "**" },
  };
}

function changesOf(draft: Draft, before: Draft): VectorStoreChange {
  const now = draft.fields;
  const was = before.fields;
  const ext = {
    ...(now.visibility !== was.visibility && { visibility: now.visibility }),
    ...(!isSameFolder(draft.folder, before.folder) && { folder: toFolder(draft.folder) }),
  };
  return {
    ...(now.name !== was.name && { name: now.name }),
    ...(now.description !== was.description && { description: now.description || null }),
    ...(now.days !== was.days && {
      expires_after:
        now.days === null ? null : ({ anchor: "last_active_at", days: now.days } as const),
    }),
    ...(Object.keys(ext).length > 0 && { ext }),
  };
}

function isSameFolder(left: FolderDraft, right: FolderDraft): boolean {
  if (left.connection === "" && right.connection === "") return true;
  return left.connection === right.connection && left.glob === right.glob;
}

function toFolder({ connection, glob }: FolderDraft) {
  return connection === "" ? null : { file_connection: connection, glob };
}
