import { api } from "../../api/client.ts";
import { ApiError, unwrap } from "../../api/errors.ts";
import type { Chunking } from "../../api/queries/store-files.ts";
import { uploadFile } from "../../api/upload-file.ts";
import { type SendUpload, UploadQueue } from "./upload-queue.ts";

/** Adds a file that is uploaded to a store. */
export type AddToStore = (
  storeId: string,
  fileId: string,
  chunking: Chunking | undefined,
) => Promise<unknown>;

const queues = new Map<string, UploadQueue>();

/** Returns the uploads into a store. They go on while other pages of the console are shown. */
export function uploadsInto(storeId: string, add: AddToStore): UploadQueue {
  const known = queues.get(storeId);
  if (known !== undefined) return known;
  // What is uploaded and could not be added is not uploaded once more when it is tried again.
  const uploaded = new WeakMap<File, string>();
  const send: SendUpload = async (upload, sending) => {
    const { file, chunking } = upload;
    const stored = uploaded.get(file);
    const id = stored ?? (await uploadFile(file, sending)).id;
    uploaded.set(file, id);
    sending.onAdding();
    try {
      await add(storeId, id, chunking);
    } catch (error) {
      if (!isFileGone(error)) throw error;
      uploaded.delete(file);
      if (stored === undefined) throw error;
      // It was deleted since the try before.
      await send(upload, sending);
    }
  };
  const queue = new UploadQueue(send, ({ file }) => {
    const id = uploaded.get(file);
    // Where that fails the file stays, and can still be deleted by its id.
    if (id !== undefined) void deleteUnlessAdded(storeId, id).catch(() => undefined);
  });
  queues.set(storeId, queue);
  window.addEventListener("beforeunload", (event) => {
    // The browser asks before a tab is closed that still sends files.
    if (queue.isBusy()) event.preventDefault();
  });
  return queue;
}

/** Whether a store refused a file because there is no such upload any more. */
function isFileGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.param === "file_id";
}

/** Deletes an upload that no list shows. It is in the store where only the answer that said so was lost: then it stays. */
async function deleteUnlessAdded(storeId: string, fileId: string): Promise<void> {
  const path = { id: storeId, file_id: fileId };
  const added = unwrap(
    api.GET("/api/v1/vector_stores/{id}/files/{file_id}", { params: { path } }),
  ).then(
    () => true,
    (error: unknown) => !(error instanceof ApiError && error.status === 404),
  );
  if (await added) return;
  await unwrap(api.DELETE("/api/v1/files/{id}", { params: { path: { id: fileId } } }));
}
