import type { Chunking } from "../../api/queries/store-files.ts";
import { uploadFile } from "../../api/upload-file.ts";
import { UploadQueue } from "./upload-queue.ts";

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
  const queue = new UploadQueue(async ({ file, chunking }, { onAdding, ...sending }) => {
    const id = uploaded.get(file) ?? (await uploadFile(file, sending)).id;
    uploaded.set(file, id);
    onAdding();
    await add(storeId, id, chunking);
  });
  queues.set(storeId, queue);
  window.addEventListener("beforeunload", (event) => {
    // The browser asks before a tab is closed that still sends files.
    if (queue.isBusy()) event.preventDefault();
  });
  return queue;
}
